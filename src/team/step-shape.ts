import type { Refuse, TeamPath } from './faults.ts'
import {
  filled,
  isTable,
  list,
  mustBe,
  number,
  type ShapeRule,
  type ShapeRules,
  table,
  text,
} from './shape-rules.ts'
import type { Step } from './step-config.ts'

/** The shape of a workflow's steps as programs write them. */
export const stepsShape: ShapeRule = (value, path, refuse) => list(step)(value, path, refuse)

/** An expression, a template or a function. */
const rule: ShapeRule = (value, path, refuse) => {
  if (typeof value !== 'function') filled(value, path, refuse)
}

const schema = mustBe(
  'a schema',
  (value) => (typeof value === 'object' && value !== null) || typeof value === 'function',
)

const call: ShapeRules = {
  timeoutSeconds: number,
  maxRetries: number,
  fallbackAgentId: text,
  guards: isTable,
}

/** What is asked of a member. */
const ask: ShapeRules = {
  input: rule,
  outputSchema: schema,
  jsonSchema: isTable,
  maxOutputRetries: number,
}

const joinTable = table({ agentId: text }, { ...ask, ...call })

const join: ShapeRule = (value, path, refuse) => {
  const isMember = typeof value === 'object' && value !== null
  const shape = isMember ? joinTable : rule
  shape(value, path, refuse)
}

const mapTable = table(
  {},
  { agentId: text, steps: stepsShape, over: rule, maxParallel: number, ...ask, ...call },
)

const map: ShapeRule = (value, path, refuse) => {
  mapTable(value, path, refuse)
  mustSayOne(value, ['agentId', 'steps'], { path, refuse })
}

/** What a step can be, each by its key. One without its row does not compile. */
const stepKinds: Readonly<Record<StepKey<Step>, ShapeRule>> = {
  agentId: text,
  parallel: stepsShape,
  branch: list(table({ steps: stepsShape }, { when: rule })),
  loop: table({ steps: stepsShape, until: rule, maxIterations: number }),
  map,
  approval: table({ question: filled }, { onFeedback: filled, maxFeedbackRounds: number }),
}

type StepKey<T> = T extends unknown
  ? Extract<keyof T, 'agentId' | 'parallel' | 'branch' | 'loop' | 'map' | 'approval'>
  : never

const stepTable = table(
  {},
  { name: text, order: number, when: rule, condition: text, join, ...ask, ...call, ...stepKinds },
)

/** Keys that mean something in one kind of step alone. */
const belongs: Readonly<Record<string, StepKey<Step>>> = {
  ...Object.fromEntries(Object.keys(ask).map((key) => [key, 'agentId' as const])),
  join: 'parallel',
}

const step: ShapeRule = (value, path, refuse) => {
  stepTable(value, path, refuse)
  mustSayOne(value, Object.keys(stepKinds), { path, refuse })
  for (const [key, kind] of Object.entries(belongs))
    if (isSaid(value, key) && !isSaid(value, kind)) {
      const inside = isSaid(value, 'map') && kind === 'agentId' ? ' or inside map' : ''
      refuse('invalidShape', `must stand beside ${kind}${inside}`, [...path, key])
    }
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
