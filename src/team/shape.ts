import { nearest } from '../shared/nearest.ts'
import type { Refuse, TeamPath } from './faults.ts'
import type { Step, TeamMode } from './team-config.ts'

/**
 * The shape of a team as programs write it. The compiler checks the same, but not what comes from JavaScript, from JSON,
 * or past it; and it lets a step be two things at once.
 */
export function checkTeamShape(config: object, refuse: Refuse): void {
  team(config, [], refuse)
}

/** Refuses a value that is not what it must be, at its path. */
type Rule = (value: unknown, path: TeamPath, refuse: Refuse) => void

type Rules = Readonly<Record<string, Rule>>

function mustBe(what: string, holds: (value: unknown) => boolean): Rule {
  return (value, path, refuse) => {
    if (!holds(value)) refuse('invalidShape', `must be ${what}, not ${shown(value)}`, path)
  }
}

const anything: Rule = () => {}
const text = mustBe('a text', (value) => typeof value === 'string')
const filled = mustBe(
  'a text that says something',
  (value) => typeof value === 'string' && value !== '',
)
const number = mustBe('a number', (value) => typeof value === 'number' && !Number.isNaN(value))
const isTable = mustBe(
  'an object',
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
)
const isList = mustBe('a list', Array.isArray)

function list(item: Rule): Rule {
  return (value, path, refuse) => {
    isList(value, path, refuse)
    if (Array.isArray(value))
      for (const [index, one] of value.entries()) item(one, [...path, index], refuse)
  }
}

/** An object that has these keys and may have those, and no others. */
function table(required: Rules, optional: Rules = {}): Rule {
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

function unknown(key: string, all: Rules): string {
  const known = Object.keys(all)
  const meant = nearest(key, known)
  return `is no known key; ${meant ? `did you mean ${meant}?` : `known: ${known.join(', ')}`}`
}

const call: Rules = {
  timeoutSeconds: number,
  maxRetries: number,
  fallbackAgentId: text,
  guards: isTable,
}

const steps: Rule = (value, path, refuse) => list(step)(value, path, refuse)

/** What a step can be, each by its key. One without its row does not compile. */
const stepKinds: Readonly<Record<StepKey<Step>, Rule>> = {
  agentId: text,
  parallel: steps,
  loop: table({ steps, until: filled, maxIterations: number }),
  map: table({ agentId: text }, { maxParallel: number, ...call }),
  approval: table({ question: filled }),
}

type StepKey<T> = T extends unknown
  ? Extract<keyof T, 'agentId' | 'parallel' | 'loop' | 'map' | 'approval'>
  : never

const stepTable = table({}, { order: number, condition: text, ...call, ...stepKinds })

const step: Rule = (value, path, refuse) => {
  stepTable(value, path, refuse)
  const said = Object.keys(stepKinds).filter((kind) => kind in Object(value))
  if (said.length === 1) return
  const kinds = Object.keys(stepKinds).join(', ')
  const found = said.length > 1 ? `, not ${said.join(' and ')}` : ''
  refuse('invalidShape', `needs exactly one of ${kinds}${found}`, path)
}

/** The built-in schedulers. One of the user's own checks its config itself. */
const schedulers: Readonly<Record<TeamMode, Rule>> = {
  supervisor: table({ type: text, supervisorAgentId: text }, { maxRounds: number }),
  workflow: table({ type: text, steps }),
  router: table({ type: text, defaultAgentId: text }, { maxRoutingHops: number }),
}

const scheduler: Rule = (value, path, refuse) => {
  isTable(value, path, refuse)
  const type: unknown = Reflect.get(Object(value), 'type')
  if (type === undefined) refuse('invalidShape', 'is missing', [...path, 'type'])
  text(type, [...path, 'type'], refuse)
  const known: Rules = schedulers
  if (Object.hasOwn(known, String(type))) known[String(type)]?.(value, path, refuse)
}

const limits: Rules = { maxHops: number, maxDepth: number, maxSeconds: number, maxTokens: number }

const team = table(
  {
    id: text,
    name: text,
    agents: list(table({ agentId: text }, { role: text, capabilities: list(text) })),
    scheduler,
  },
  {
    description: text,
    version: text,
    provider: isTable,
    capabilityDetails: list(isTable),
    proficiencies: list(isTable),
    skills: list(anything),
    budget: table({}, limits),
    guards: isTable,
  },
)

/** A value in a few characters; secrets do not stand in teams. */
function shown(value: unknown): string {
  if (value === null || typeof value === 'number' || typeof value === 'boolean')
    return String(value)
  if (typeof value === 'string') return `"${value.slice(0, 40)}"`
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`
}
