import type { Refuse } from './faults.ts'
import {
  anything,
  isTable,
  list,
  number,
  type ShapeRule,
  type ShapeRules,
  table,
  text,
} from './shape-rules.ts'
import { stepsShape } from './step-shape.ts'
import type { TeamMode } from './team-config.ts'

/**
 * The shape of a team as programs write it. The compiler checks the same, but not what comes from JavaScript, from JSON,
 * or past it; and it lets a step be two things at once.
 */
export function checkTeamShape(config: object, refuse: Refuse): void {
  team(config, [], refuse)
}

/** The built-in schedulers. One of the user's own checks its config itself. */
const schedulers: Readonly<Record<TeamMode, ShapeRule>> = {
  supervisor: table({ type: text, supervisorAgentId: text }, { maxRounds: number }),
  workflow: table({ type: text, steps: stepsShape }),
  router: table({ type: text, defaultAgentId: text }, { maxRoutingHops: number }),
}

const scheduler: ShapeRule = (value, path, refuse) => {
  isTable(value, path, refuse)
  const type: unknown = Reflect.get(Object(value), 'type')
  if (type === undefined) refuse('invalidShape', 'is missing', [...path, 'type'])
  text(type, [...path, 'type'], refuse)
  const known: ShapeRules = schedulers
  if (Object.hasOwn(known, String(type))) known[String(type)]?.(value, path, refuse)
}

const limits: ShapeRules = {
  maxHops: number,
  maxDepth: number,
  maxSeconds: number,
  maxTokens: number,
  maxCostUsd: number,
}

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
