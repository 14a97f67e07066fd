import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import { z } from 'zod'
import type { Agent } from '../../agents/agent.ts'
import { type AgentConfig, ConfigConversionError } from '../../agents/config.ts'
import { type AgentPlan, planAgent } from '../../agents/create.ts'
import { GuardFault } from '../../agents/guards/ready.ts'
import { UncheckableSchema } from '../../agents/schema.ts'
import type { JsonObject } from '../../protocol/types.ts'
import { type Fields, isFields } from '../../shared/json.ts'
import { checkArgument, checkOptions, type OptionTable } from '../../shared/options.ts'
import { nearest, toSnakeCase } from '../../shared/text.ts'
import type { TeamConfig } from '../../team/config.ts'
import type { TeamPath } from '../../team/errors.ts'
import { AgentManager } from '../../team/manager.ts'
import { InvalidTeamError, idsFor, judgesIn, validateTeam } from '../../team/validate.ts'
import { kindRows } from '../../team/workflow/keys.ts'
import { fillSchemas } from './agents.ts'
import { type Config, fileSchema, type ToConfigError } from './file.ts'
import {
  ConfigError,
  createLocate,
  type Problem,
  toProblems,
  toSyntaxError,
  type Unplaced,
} from './locate.ts'
import { callKeys, stepKinds } from './steps.ts'
import { type ConfigVariables, fillEnvironment, unfilledOffset, valueAt } from './values.ts'

/**
 * Reads and checks a configuration file.
 * @throws ConfigError with every problem, each with line and column.
 */
export async function loadConfig(path: string, env: ConfigVariables): Promise<Config> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    const problem = { path: [], line: 1, column: 1, message: unreadable(cause) }
    throw new ConfigError(path, [problem], { cause })
  }
  return parseConfig(text, { env, path, directory: dirname(path) })
}

function unreadable(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'ENOENT') return 'the file cannot be read: there is none'
  if (code === 'EISDIR') return 'the file cannot be read: it is a directory'
  return `the file cannot be read${code ? ` (${code})` : ''}`
}

/** What surrounds a configuration's text. */
export interface ParseOptions {
  /** Fills `${NAME}`; nothing is read from the process. */
  readonly env?: ConfigVariables
  /** How errors name the file. */
  readonly path?: string
  /** Where the schema files are that it names; none is read if absent. */
  readonly directory?: string
}

const parseOptions: OptionTable<ParseOptions> = {
  env: 'object',
  path: 'string',
  directory: 'string',
}

/**
 * Checks the text of a configuration: its TOML, variables and values, and that every name names something.
 * @throws ConfigError with every problem, each with line and column.
 */
export function parseConfig(text: string, options: ParseOptions = {}): Config {
  checkArgument('parseConfig', 'the text', text, 'string')
  checkOptions('parseConfig', options, parseOptions)
  const { env = {}, path = 'corral.toml' } = options
  const place = (problems: readonly Unplaced[]): readonly Problem[] => {
    const locate = createLocate(text)
    const placed = problems.map(({ offset, ...problem }) => {
      const written = toWritten(valueAt(value, problem.path), env, offset)
      return { ...problem, ...locate(problem.path, written) }
    })
    return inOrder(placed)
  }
  const refuse: ToConfigError = (problems, because) =>
    new ConfigError(path, place(problems), because)
  const value = parseToml(text, path)
  const filled = fillEnvironment(value, env)
  const whole = fillSchemas(filled.value, options.directory)
  const parsed = fileSchema.safeParse(whole.value, { reportInput: true })
  const issues = parsed.success ? [] : toProblems(parsed.error.issues, knownKeys)
  const problems = [...filled.problems, ...whole.problems, ...issues]
  if (!parsed.success || problems.length > 0) throw refuse(problems)
  const { problems: faults, plans } = checkConfig(parsed.data, env)
  if (faults.length > 0) throw refuse(faults)
  // Hidden: a copy of the configuration that is changed is checked again, and can be cloned.
  return Object.defineProperties(parsed.data, {
    plans: { value: plans },
    refuse: { value: refuse },
    warnings: { value: toWarnings(place(ignoredKeys(value))) },
    files: { value: whole.files },
  })
}

function toWritten(
  value: unknown,
  env: ConfigVariables,
  offset: number | undefined,
): number | undefined {
  if (offset === undefined || typeof value !== 'string') return undefined
  return unfilledOffset(value, env, offset)
}

function inOrder(problems: readonly Problem[]): readonly Problem[] {
  return problems.toSorted((a, b) => a.line - b.line || a.column - b.column)
}

function parseToml(text: string, file: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    throw error instanceof TomlError ? toSyntaxError(error, text, file) : error
  }
}

/** The keys that may stand at a place of the file. */
function knownKeys(path: readonly PropertyKey[]): readonly string[] {
  const root = toConfigJsonSchema()
  let here: JsonObject[] = [root]
  for (const key of path) here = here.flatMap((schema) => below(root, schema, key))
  return [...new Set(here.flatMap((schema) => Object.keys(propertiesOf(root, schema))))]
}

/** The JSON Schema of a file, for editors. */
export function toConfigJsonSchema(): JsonObject {
  const schema = z.toJSONSchema(fileSchema, {
    io: 'input',
    target: 'draft-7',
    override({ jsonSchema }) {
      // What the schema's own code checks, in the words of JSON Schema.
      if (jsonSchema.properties && 'parallel' in jsonSchema.properties)
        jsonSchema.oneOf = stepKinds.map(only)
    },
  })
  const title = 'Corral configuration'
  return { title, ...asObject(withFacts(JSON.parse(JSON.stringify(schema)))) }
}

/** An object in which this key stands; spelt out, since some readers of JSON Schema skip a lone `required`. */
function only(kind: string): z.core.JSONSchema.JSONSchema {
  return { type: 'object', properties: { [kind]: {} }, required: [kind] }
}

function asObject(value: unknown): JsonObject {
  return isFields(value) ? (value as JsonObject) : {} // part of a JSON Schema, which is JSON
}

/** Puts the descriptions of keys where editors look for it, in front of what a key may hold. */
function withFacts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withFacts)
  if (!isFields(value)) return value
  const { facts, ...rest } = value
  const inner = Object.entries(rest).map(([key, one]) => [key, withFacts(one)])
  return { ...asObject(facts), ...Object.fromEntries(inner) }
}

function below(root: JsonObject, schema: JsonObject, key: PropertyKey): JsonObject[] {
  return variants(root, schema).flatMap((variant) => {
    const named = asObject(variant.properties)[String(key)] ?? variant.additionalProperties
    const next = typeof key === 'number' ? variant.items : named
    return next === undefined ? [] : [asObject(next)]
  })
}

/** A schema with its references followed and its alternatives side by side. */
function variants(root: JsonObject, schema: JsonObject): JsonObject[] {
  if (typeof schema.$ref === 'string') return variants(root, resolve(root, schema.$ref))
  const either = schema.anyOf ?? (schema.properties ? undefined : schema.oneOf)
  if (!Array.isArray(either)) return [schema]
  return either.flatMap((one) => variants(root, asObject(one)))
}

function resolve(root: JsonObject, reference: string): JsonObject {
  return reference
    .split('/')
    .slice(1)
    .reduce((schema, key) => asObject(schema[key]), root)
}

function propertiesOf(root: JsonObject, schema: JsonObject): JsonObject {
  return Object.assign({}, ...variants(root, schema).map((one) => asObject(one.properties)))
}

/** What is wrong with a file, and how its agents are made if nothing is. */
interface CheckedConfig {
  readonly problems: readonly Unplaced[]
  readonly plans: NonNullable<Config['plans']>
}

const nothing: Unplaced = {
  path: [],
  message: 'the file has neither agents nor teams',
  hint: '"corral init" writes one to begin with',
}

const nothingServed: Unplaced = {
  path: ['agents', 0, 'expose'],
  message: 'nothing is served: there is no team, and expose is false for every agent',
  hint: 'leave expose out where an agent is to be called, or add a team',
}

/** What only the whole file shows: ids used twice, values out of range, members that are nowhere, teams in circles. */
function checkConfig(config: Config, environment: ConfigVariables): CheckedConfig {
  const plans = new Map<AgentConfig, AgentPlan>()
  if (config.agents.length === 0 && config.teams.length === 0) return { plans, problems: [nothing] }
  if (config.teams.length === 0 && config.agents.every(({ expose }) => expose === false))
    return { plans, problems: [nothingServed] }
  const problems = [...checkIds(config)]
  for (const [index, agent] of config.agents.entries())
    try {
      plans.set(agent, planAgent(agent, environment))
    } catch (error) {
      if (!(error instanceof ConfigConversionError)) throw error
      problems.push(describeAgent(error, index))
    }
  if (problems.length === 0)
    problems.push(...checkWaits(config), ...checkTeams(config), ...checkJudges(config))
  return { plans, problems }
}

/** An id is a path segment of the server's, so a slash cannot stand in it. */
const idPattern = /^[A-Za-z0-9][A-Za-z0-9._:-]*$/

function checkIds({ agents, teams }: Config): readonly Unplaced[] {
  const seen = new Set<string>()
  const entries = [
    ...agents.map(({ id }, index) => ({ id, path: ['agents', index, 'id'] })),
    ...teams.map(({ id }, index) => ({ id, path: ['teams', index, 'id'] })),
  ]
  return entries.flatMap(({ id, path }) => {
    const twice = seen.has(id)
    seen.add(id)
    const hint = 'agents and teams share their ids; rename one'
    if (twice) return [{ path, message: `the id ${id} is used twice`, hint }]
    if (idPattern.test(id)) return []
    return [{ path, message: `the id ${id} must be letters, digits, ".", "_", ":" or "-"` }]
  })
}

/** A remote agent reports to this server only where it knows the server's address. */
function checkWaits({ agents, server }: Config): readonly Unplaced[] {
  if (server?.publicUrl !== undefined) return []
  return agents.flatMap(({ wait }, index) => {
    if (wait !== 'push') return []
    const hint = 'set public_url in [server] to the URL at which the remote agent reaches it'
    return [{ path: ['agents', index, 'wait'], message: 'wait = "push" needs public_url', hint }]
  })
}

/** What else would do, where a field is missing or wrong. */
const hints: Readonly<Record<string, string>> = {
  'metadata.api_key': 'or set the variable OPENAI_API_KEY',
}

function describeAgent(error: ConfigConversionError, index: number): Unplaced {
  const { fault, message, cause } = error
  const field = 'field' in fault ? fault.field.split('.') : []
  if (fault.variant === 'UnknownField') {
    const [table, key] = fault.meant.split('.')
    const meant = table === field[0] ? key : `${key} in [agents.${table}]`
    const path = ['agents', index, ...field]
    return { path, message: `unknown key ${field.at(-1)}`, hint: `did you mean ${meant}?` }
  }
  const hint = ('hint' in fault ? fault.hint : undefined) ?? hints[field.join('.')]
  const { path, offset } = placeOf(cause, field)
  return { path: ['agents', index, ...path], offset, message, ...(hint && { hint }) }
}

/** Where in an agent's table it stands: of what has parts, the very part. */
function placeOf(cause: unknown, field: readonly string[]): Pick<Unplaced, 'path' | 'offset'> {
  if (cause instanceof GuardFault) return { path: ['guards', ...cause.path], offset: cause.offset }
  if (cause instanceof UncheckableSchema)
    return { path: [...field, ...cause.path], offset: cause.offset }
  return { path: field }
}

const standIn: Agent = {
  info: () => ({ id: '', name: '', description: '', capabilities: [], metadata: {} }),
  process: () => undefined,
}

/** A team is checked by the same rules as in code, with stand-ins for agents that are not made yet. */
function checkTeams({ agents, teams }: Config): readonly Unplaced[] {
  const manager = new AgentManager()
  for (const { id } of agents) manager.registerWithId(id, standIn)
  for (const team of teams) manager.registerWithId(team.id, withMembers(team, manager))
  return teams.flatMap((team, index) => {
    try {
      validateTeam(team, manager, { modulesLater: true })
      return []
    } catch (error) {
      if (!(error instanceof InvalidTeamError)) throw error
      return [describeTeam(error, { team, index, manager })]
    }
  })
}

function withMembers(config: TeamConfig, manager: AgentManager): Agent {
  return Object.assign({ ...standIn }, { config, manager })
}

interface Where {
  readonly team: TeamConfig
  readonly index: number
  readonly manager: AgentManager
}

function describeTeam(error: InvalidTeamError, { team, index, manager }: Where): Unplaced {
  const { fault, path, offset, reason } = error
  const words = reason.replace(/^[a-z]+[A-Z][A-Za-z]*(?=[ :])/, (key) =>
    path.includes(key) ? toSnakeCase(key) : key,
  )
  const known = idsFor(fault, { config: team, manager })
  const hint = known && meantId(valueAt(team, path), known)
  return {
    path: ['teams', index, ...toTomlPath(path, team)],
    message: `Team "${team.id}": ${words}`,
    offset,
    ...(hint && { hint }),
  }
}

function meantId(id: unknown, known: readonly string[]): string {
  const meant = nearest(String(id), known)
  return meant ? `did you mean ${meant}?` : `known: ${known.join(', ')}`
}

/**
 * A file's names are those of the code in snake case, but for the table of the scheduler, which goes by its kind, and
 * for what stands in a schema, which has names of its own.
 */
function toTomlPath([first, ...rest]: TeamPath, { scheduler }: TeamConfig): readonly PropertyKey[] {
  if (first === undefined) return []
  const table = scheduler.type === 'router' ? 'router_config' : 'scheduler_config'
  const names = [first === 'scheduler' ? table : first, ...rest]
  const schema = names.findIndex((name) => name === 'outputSchema' || name === 'schema')
  return names.map((name, index) =>
    typeof name === 'string' && (schema < 0 || index <= schema) ? toSnakeCase(name) : name,
  )
}

/** Agents that guards of agents ask: they must be in the file, and no agent may be judged by what it judges. */
function checkJudges({ agents, teams }: Config): readonly Unplaced[] {
  const ids = [...agents, ...teams].map(({ id }) => id)
  const asked = new Map<string, readonly string[]>([
    ...agents.map(
      ({ id, guards = {} }) => [id, judgesIn(guards).map(({ member }) => member)] as const,
    ),
    ...teams.map(({ id, agents: members }) => [id, members.map(({ agentId }) => agentId)] as const),
  ])
  return agents.flatMap(({ id, guards = {} }, index) =>
    judgesIn(guards).flatMap(({ member, at }): readonly Unplaced[] => {
      const path = ['agents', index, 'guards', ...at]
      if (!ids.includes(member)) return [{ path, ...unknown(member, ids) }]
      const way = wayBack(id, member, asked)
      if (!way) return []
      return [{ path, message: `Agent "${id}" cannot be judged by itself (${way.join(' > ')})` }]
    }),
  )
}

function unknown(member: string, ids: readonly string[]): Pick<Unplaced, 'message' | 'hint'> {
  const meant = nearest(member, ids)
  const hint = meant ? `did you mean ${meant}?` : `known: ${ids.join(', ')}`
  return { message: `there is no agent ${member} to be asked`, hint }
}

/** How one comes from an agent, through a judge of it and those that are asked then, back to the agent. */
function wayBack(
  id: string,
  judge: string,
  asked: ReadonlyMap<string, readonly string[]>,
): readonly string[] | undefined {
  const seen = new Set<string>()
  const visit = (here: string, way: readonly string[]): readonly string[] | undefined => {
    if (here === id) return way
    if (seen.has(here)) return undefined
    seen.add(here)
    for (const next of asked.get(here) ?? []) {
      const found = visit(next, [...way, next])
      if (found) return found
    }
    return undefined
  }
  return visit(judge, [id, judge])
}

function toWarnings(problems: readonly Problem[]): readonly string[] {
  return problems.map(({ line, column, message }) => `line ${line}, column ${column}: ${message}`)
}

/**
 * Keys that say how a member is called, beside steps that call none themselves. They are taken, for files that have them
 * work; nothing comes of them, which their author hardly meant.
 */
function ignoredKeys(file: unknown): readonly Unplaced[] {
  if (!isFields(file) || !Array.isArray(file.teams)) return []
  return file.teams.flatMap((team, index) => {
    const table = isFields(team) ? team.scheduler_config : undefined
    const path = ['teams', index, 'scheduler_config', 'steps']
    return isFields(table) ? inList(table.steps, path) : []
  })
}

function inList(steps: unknown, path: readonly PropertyKey[]): readonly Unplaced[] {
  if (!Array.isArray(steps)) return []
  return steps.flatMap((step, index) => (isFields(step) ? inStep(step, [...path, index]) : []))
}

const rowsByKind = new Map(Object.entries(kindRows))

function inStep(step: Fields, path: readonly PropertyKey[]): readonly Unplaced[] {
  const kind = stepKinds.find((key) => step[key] !== undefined)
  const row = kind === undefined ? undefined : rowsByKind.get(kind)
  if (!kind || !row || !('remedy' in row)) return []
  // `guards` beside such a step is already an error.
  const own = callKeys
    .filter((key) => key !== 'guards' && step[key] !== undefined)
    .map((key) => ({
      path: [...path, key],
      message: `${key} beside ${kind} does nothing: ${row.remedy}`,
    }))
  const content = step[kind]
  if (kind === 'parallel') return [...own, ...inList(content, [...path, kind])]
  const tables = Array.isArray(content)
    ? content.map((inner, index) => ({ inner, at: [...path, kind, index, 'steps'] }))
    : [{ inner: content, at: [...path, kind, 'steps'] }]
  const below = tables.flatMap(({ inner, at }) => (isFields(inner) ? inList(inner.steps, at) : []))
  return [...own, ...below]
}
