import type { Agent } from '../agents/agent.ts'
import { readGuards } from '../agents/guards/built-in.ts'
import type { Guards } from '../agents/guards/guard.ts'
import { GuardFault } from '../agents/guards/ready.ts'
import { isSemanticVersion, validateAgentId } from '../protocol/card.ts'
import { isFields } from '../shared/json.ts'
import { choicesOf, eitherOf, type KeyRow, type Rows, type RowTable } from '../shared/rows.ts'
import { nearest } from '../shared/text.ts'
import {
  budgetRows,
  routerRows,
  supervisorRows,
  type TeamConfig,
  type TeamMode,
  teamRows,
} from './config.ts'
import {
  checkLimits,
  InvalidTeamError,
  type Refuse,
  type TeamFault,
  type TeamPath,
} from './errors.ts'
import type { AgentManager } from './manager.ts'
import { builtInTypes, isKind, kindOf } from './schedulers/kinds.ts'
import { askRows, callRows, joinRow, kindRows, type StepKey, stepRows } from './workflow/keys.ts'

export { InvalidTeamError } from './errors.ts'

/** How the guards of a team are checked. */
interface GuardCheckOptions {
  /** Whether files of modules are loaded later, as those of a configuration are. */
  readonly modulesLater?: boolean
}

/** Checks a team before it exists. @throws InvalidTeamError that names the team, the fault and the ids. */
export function validateTeam(
  config: TeamConfig,
  manager: AgentManager,
  options: GuardCheckOptions = {},
): void {
  const refuse: Refuse = (fault, reason, at) => {
    const { path, offset } = 'path' in at ? at : { path: at, offset: undefined }
    const meant = nearestId(fault, path, { config, manager })
    throw new InvalidTeamError(config.id, fault, { reason, path, offset, meant })
  }
  teamShape(config, [], refuse)
  if (config.id.trim() === '') refuse('missingName', 'a team needs an id', ['id'])
  if (config.name.trim() === '') refuse('missingName', 'a team needs a name', ['name'])
  if (!validateAgentId(config.id))
    refuse('invalidId', 'the id must be a UUID or a qualified name', ['id'])
  checkVersions(config, refuse)
  if (config.agents.length === 0) refuse('empty', 'a team needs at least one member', [])
  const members = new Set<string>()
  for (const [index, { agentId }] of config.agents.entries()) {
    if (members.has(agentId))
      refuse('duplicateMember', `"${agentId}" is a member twice`, ['agents', index, 'agentId'])
    members.add(agentId)
  }
  checkScheduler(config, members, refuse)
  checkLimits(budgetRows, { at: ['budget'], values: config.budget ?? {} }, refuse)
  checkTeamGuards(config, refuse, options)
  checkMembers(config, manager, refuse)
}

/** An agent that has members: a team. Known by its shape, so that teams of another copy of this package count too. */
interface HasMembers extends Agent {
  readonly config: TeamConfig
  readonly manager: AgentManager
}

function nearestId(
  fault: TeamFault,
  path: TeamPath,
  team: Pick<HasMembers, 'config' | 'manager'>,
): string | undefined {
  const known = idsFor(fault, team)
  return known && nearest(String(valueAt(team.config, path)), known)
}

/** The ids that are allowed where an id is wrong; undefined for another error. */
export function idsFor(
  fault: TeamFault,
  { config, manager }: Pick<HasMembers, 'config' | 'manager'>,
): readonly string[] | undefined {
  switch (fault) {
    case 'unregisteredMember':
      return manager.listIds()
    case 'notAMember':
    case 'missingSupervisor':
    case 'missingDefaultAgent':
      return config.agents.map(({ agentId }) => agentId)
    default:
      return undefined
  }
}

function valueAt(value: unknown, path: TeamPath): unknown {
  return path.reduce<unknown>((inner, key) => Reflect.get(Object(inner), key), value)
}

/** What cards show of a team: semantic versions, and capabilities with a name. */
function checkVersions({ version, capabilityDetails = [] }: TeamConfig, refuse: Refuse): void {
  const mustBeVersion = (given: string | undefined, path: TeamPath): void => {
    if (given !== undefined && !isSemanticVersion(given))
      refuse('invalidVersion', `"${given}" is not a semantic version such as 1.0.0`, path)
  }
  mustBeVersion(version, ['version'])
  for (const [index, detail] of capabilityDetails.entries()) {
    const path = ['capabilityDetails', index]
    if (detail.name.trim() === '')
      refuse('unnamedCapability', 'a capability needs a name', [...path, 'name'])
    mustBeVersion(detail.version, [...path, 'version'])
  }
}

function checkScheduler(
  { scheduler }: TeamConfig,
  members: ReadonlySet<string>,
  refuse: Refuse,
): void {
  const path = ['scheduler', 'type']
  if (!isKind(scheduler.type)) {
    const known = `${builtInTypes} are known`
    refuse('unknownScheduler', `there is no scheduler "${scheduler.type}"; ${known}`, path)
  }
  const kind = kindOf(scheduler)
  kind.check(scheduler, members, refuse)
  const mode = kind.mode(scheduler)
  if (mode !== scheduler.type && isKind(mode))
    refuse('invalidScheduler', `a scheduler of one's own cannot be called "${mode}"`, path)
}

/** Refuses guards that cannot be, and a member that is to judge itself. */
function checkTeamGuards(
  config: TeamConfig,
  refuse: Refuse,
  { modulesLater = false }: GuardCheckOptions,
): void {
  const members = config.agents.map(({ agentId }) => agentId)
  for (const { guards, path, agentId } of guardsIn(config)) {
    if (path.length > 1 && typeof agentId !== 'string')
      refuse('invalidGuard', 'guards must stand beside agentId: they look at one member', path)
    try {
      readGuards(guards, { members, modulesLater })
    } catch (error) {
      if (!(error instanceof GuardFault)) throw error
      const { reason, hint, offset } = error
      const at = { path: [...path, ...error.path], offset }
      refuse('invalidGuard', hint ? `${reason} (${hint})` : reason, at)
    }
    for (const { member, at } of judgesIn(guards))
      if (member === agentId)
        refuse('invalidGuard', `"${member}" cannot judge itself`, [...path, ...at])
  }
}

/** Guards in a team's configuration. */
interface PlacedGuards {
  readonly guards: Guards
  readonly path: TeamPath
  /** The member that they stand around, where it is one. */
  readonly agentId: unknown
}

const stepsPath: TeamPath = ['scheduler', 'steps']

/** All guards of a team: its own, then those of its steps in their order. */
export function guardsIn({ guards, scheduler }: TeamConfig): readonly PlacedGuards[] {
  const own = guards ? [{ guards, path: ['guards'], agentId: undefined }] : []
  // A scheduler of one's own has guards only where it asks a member.
  return scheduler.type === 'workflow' ? [...own, ...below(scheduler.steps, stepsPath)] : own
}

function below(value: unknown, path: TeamPath): readonly PlacedGuards[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => below(item, [...path, index]))
  if (!isFields(value)) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === 'outputSchema' || key === 'jsonSchema') return []
    if (key !== 'guards' || inner === undefined) return below(inner, [...path, key])
    const guards = inner as Guards // looked at where they are read
    return [{ guards, path: [...path, key], agentId: value.agentId }]
  })
}

/** Who is asked by guards, and where among them that is said. */
export function judgesIn(
  guards: Guards,
): readonly { readonly member: string; readonly at: TeamPath }[] {
  return (['input', 'output'] as const).flatMap((side) =>
    (guards[side] ?? []).flatMap((rule, index) =>
      typeof rule === 'object' && 'member' in rule
        ? [{ member: rule.member, at: [side, index, 'member'] }]
        : [],
    ),
  )
}

function checkMembers(config: TeamConfig, manager: AgentManager, refuse: Refuse): void {
  const way = findCycle(config, manager)
  if (way) {
    const index = config.agents.findIndex(({ agentId }) => agentId === way[1])
    const reason = `a team cannot contain itself (${way.join(' > ')})`
    refuse('cycle', reason, ['agents', index, 'agentId'])
  }
  for (const [index, { agentId }] of config.agents.entries())
    if (!manager.get(agentId)) {
      const reason = `agent "${agentId}" is not registered`
      refuse('unregisteredMember', reason, ['agents', index, 'agentId'])
    }
}

/** The way from a team back to itself through the teams it contains. */
function findCycle(config: TeamConfig, manager: AgentManager): readonly string[] | undefined {
  const visit = (
    team: Pick<HasMembers, 'config' | 'manager'>,
    path: string[],
  ): string[] | undefined => {
    for (const { agentId } of team.config.agents) {
      const here = [...path, agentId]
      if (agentId === config.id && team.manager === manager) return here
      const member = team.manager.get(agentId)
      if (!isTeam(member) || path.includes(agentId)) continue
      const found = visit(member, here)
      if (found) return found
    }
    return undefined
  }
  return visit({ config, manager }, [config.id])
}

/** Whether an agent is a team. */
export function isTeam(agent: Agent | undefined): agent is HasMembers {
  return agent !== undefined && 'config' in agent && 'manager' in agent
}

/** Refuses a value that is not what it must be, at its path. */
type ShapeRule = (value: unknown, path: TeamPath, refuse: Refuse) => void

/** An object. */
const isTable: ShapeRule = mustBe(
  'an object',
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
)

/** A text, also an empty one. */
const text: ShapeRule = mustBe('a text', (value) => typeof value === 'string')

/** A number. */
const number: ShapeRule = mustBe(
  'a number',
  (value) => typeof value === 'number' && !Number.isNaN(value),
)

/** A text that says something. */
const filled: ShapeRule = mustBe(
  'a text that says something',
  (value) => typeof value === 'string' && value !== '',
)

const isList = mustBe('a list', Array.isArray)

const schema = mustBe(
  'a schema',
  (value) => (typeof value === 'object' && value !== null) || typeof value === 'function',
)

/** An expression, a template or a function. */
const rule: ShapeRule = (value, path, refuse) => {
  if (typeof value !== 'function') filled(value, path, refuse)
}

/** The rules of an object's keys. */
type ShapeRules = Readonly<Record<string, ShapeRule>>

/** The built-in schedulers. One of the user's own checks its config itself. */
const schedulers: Readonly<Record<TeamMode, ShapeRule>> = {
  supervisor: tableOf(supervisorRows, { others: { type: text } }),
  workflow: table({ type: text, steps: isSteps }),
  router: tableOf(routerRows, { others: { type: text } }),
}

/** A list of a workflow's steps as programs write them. */
function isSteps(value: unknown, path: TeamPath, refuse: Refuse): void {
  list(isStep)(value, path, refuse)
}

function isStep(value: unknown, path: TeamPath, refuse: Refuse): void {
  stepTable(value, path, refuse)
  mustSayOne(value, Object.keys(kindRows), { path, refuse })
  for (const [key, kind] of Object.entries(belongs))
    if (isSaid(value, key) && !isSaid(value, kind)) {
      const inside = isSaid(value, 'map') && kind === 'agentId' ? ' or inside map' : ''
      refuse('invalidShape', `must stand beside ${kind}${inside}`, [...path, key])
    }
}

const stepTable = tableOf({ ...stepRows, join: joinRow, ...askRows, ...callRows, ...kindRows })

/** Keys that mean something in one kind of step alone. */
const belongs: Readonly<Record<string, StepKey>> = {
  ...Object.fromEntries(Object.keys(askRows).map((key) => [key, 'agentId' as const])),
  join: 'parallel',
}

const scheduler: ShapeRule = (value, path, refuse) => {
  isTable(value, path, refuse)
  const type: unknown = Reflect.get(Object(value), 'type')
  if (type === undefined) refuse('invalidShape', 'is missing', [...path, 'type'])
  text(type, [...path, 'type'], refuse)
  const known: ShapeRules = schedulers
  if (Object.hasOwn(known, String(type))) known[String(type)]?.(value, path, refuse)
}

/** Takes whatever it is. */
const anything: ShapeRule = () => {}

/**
 * The shape of a team as programs write it. The compiler checks the same, but not what comes from JavaScript, from JSON,
 * or past it; and it lets a step be two things at once.
 */
const teamShape: ShapeRule = toTeamShape()

function toTeamShape(): ShapeRule {
  const { id, name, agents, guards, budget, ...others } = rulesOf(teamRows)
  const optional = { ...others, skills: list(anything), budget, guards }
  return table({ id, name, agents, scheduler }, optional)
}

/** What the keys of a table must be, by their rows. */
function rulesOf<T>(rows: Rows<T>): { readonly [K in keyof T]-?: ShapeRule } {
  const rules = Object.entries<KeyRow>(rows).map(([key, row]) => [key, ruleOf(row)])
  return Object.fromEntries(rules) as ReturnType<typeof rulesOf<T>> // it has the keys of the rows
}

function ruleOf(row: KeyRow): ShapeRule {
  const { kind, of, oneOf } = row
  switch (kind) {
    case 'text':
    case 'anyText':
    case 'word':
      return row.filled ? filled : text
    case 'number':
    case 'whole':
    case 'seconds':
    case 'positive':
      return number
    case 'count':
      return mustBe('a whole number', Number.isInteger)
    case 'boolean':
      return mustBe('true or false', (value) => typeof value === 'boolean')
    case 'choice':
      return choice(choicesOf(row))
    case 'choices':
      return list(choice(choicesOf(row)))
    case 'texts':
      return list(text)
    case 'rule':
      return of ? ruleOr(of as RowTable) : rule // the kind says so
    case 'schema':
      return schema
    case 'steps':
      return isSteps
    case 'textTable':
      return isTable
    case 'any':
      return () => {}
    case 'table':
    case 'tables': {
      const inside = of ? tableOf(of as RowTable, { oneOf }) : isTable // the kind says so
      return kind === 'table' ? inside : list(inside)
    }
  }
}

/** A rule, or a table with these keys. */
function ruleOr(rows: RowTable): ShapeRule {
  const table = tableOf(rows)
  return (value, path, refuse) => {
    const shape = typeof value === 'object' && value !== null ? table : rule
    shape(value, path, refuse)
  }
}

/** A rule that says what a value must be. */
function mustBe(what: string, holds: (value: unknown) => boolean): ShapeRule {
  return (value, path, refuse) => {
    if (!holds(value)) refuse('invalidShape', `must be ${what}, not ${shown(value)}`, path)
  }
}

function choice(names: readonly string[]): ShapeRule {
  return mustBe(eitherOf(names), (value) => names.some((name) => name === value))
}

/** A list of such values. */
function list(item: ShapeRule): ShapeRule {
  return (value, path, refuse) => {
    isList(value, path, refuse)
    if (Array.isArray(value))
      for (const [index, one] of value.entries()) item(one, [...path, index], refuse)
  }
}

interface TableRules {
  /** What it must have beside the keys of rows, named before these. */
  readonly others?: ShapeRules
  readonly oneOf?: readonly string[] | undefined
}

/** An object that has the keys of rows. */
function tableOf(rows: RowTable, { others = {}, oneOf }: TableRules = {}): ShapeRule {
  const rules = Object.entries(rows).map(([key, row]) => ({ key, row, rule: ruleOf(row) }))
  const pick = (isRequired: boolean): ShapeRules =>
    Object.fromEntries(
      rules
        .filter(({ row }) => (row.required ?? false) === isRequired)
        .map(({ key, rule }) => [key, rule]),
    )
  const keys = table({ ...others, ...pick(true) }, pick(false))
  if (!oneOf) return keys
  return (value, path, refuse) => {
    keys(value, path, refuse)
    mustSayOne(value, oneOf, { path, refuse })
  }
}

/** An object that has these keys and may have those, and no others. */
function table(required: ShapeRules, optional: ShapeRules = {}): ShapeRule {
  const all = { ...required, ...optional }
  return (value, path, refuse) => {
    isTable(value, path, refuse)
    const entries = Object.entries(Object(value)).filter(([, given]) => given !== undefined)
    for (const [key] of entries)
      if (!Object.hasOwn(all, key)) refuse('invalidShape', unknown(key, all), [...path, key])
    const given = new Map<string, unknown>(entries)
    for (const key of Object.keys(required))
      if (!given.has(key)) refuse('invalidShape', 'is missing', [...path, key])
    for (const [key, inner] of given) all[key]?.(inner, [...path, key], refuse)
  }
}

function unknown(key: string, all: ShapeRules): string {
  const known = Object.keys(all)
  const meant = nearest(key, known)
  return `is no known key; ${meant ? `did you mean ${meant}?` : `known: ${known.join(', ')}`}`
}

/** A value in a few characters; secrets do not stand in teams. */
function shown(value: unknown): string {
  if (value === null || typeof value === 'number' || typeof value === 'boolean')
    return String(value)
  if (typeof value === 'string') return `"${value.slice(0, 40)}"`
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`
}

/** Keys that exclude each other, one of which must be there. */
function mustSayOne(
  value: unknown,
  keys: readonly string[],
  { path, refuse }: { readonly path: TeamPath; readonly refuse: Refuse },
): void {
  const said = keys.filter((key) => isSaid(value, key))
  if (said.length === 1) return
  const found = said.length > 1 ? `, not ${said.join(' and ')}` : ''
  refuse('invalidShape', `needs exactly one of ${keys.join(', ')}${found}`, path)
}

function isSaid(value: unknown, key: string): boolean {
  return Reflect.get(Object(value), key) !== undefined
}
