import { z } from 'zod'
import type { RowTable } from '../../shared/rows.ts'
import { toSnakeCase } from '../../shared/text.ts'
import type { LoopStep, Step } from '../../team/config.ts'
import {
  askRows,
  callRows,
  joinRow,
  joinRows,
  kindRows,
  loopRows,
  stepRows,
} from '../../team/workflow/keys.ts'
import { outputSchemaField } from './agents.ts'
import { guardsSchema } from './guards.ts'
import { filledText, schemasOf, tableOf, toCamelCase } from './values.ts'

/** What a step can be; exactly one of these keys stands in it. */
export const stepKinds: readonly string[] = Object.keys(kindRows).map(toSnakeCase)

const inside = {
  steps: z.lazy(() => z.array(stepSchema)),
  guards: guardsSchema,
  outputSchema: outputSchemaField,
}

const { steps, ...loop } = loopRows

const own = {
  ...inside,
  parallel: inside.steps,
  join: z.union(
    [filledText, tableOf(joinRows, inside)],
    'must be a template, or a table with the agent_id of a member',
  ),
  // The order counts: the digest of a team's definition is made of it.
  loop: tableOf({ ...loop, steps }, inside).transform(
    ({ until, steps, maxIterations }): LoopStep['loop'] => ({ until, steps, maxIterations }),
  ),
}

const { name, when, condition, order } = stepRows
const { agentId, parallel, ...kinds } = kindRows

/** In the order in which docs/configuration.md shows them. */
const rows: RowTable = {
  ...{ name, agentId, ...askRows, ...callRows, parallel, join: joinRow },
  ...{ ...kinds, when, condition, order },
}

/** `[[teams.scheduler_config.steps]]`. */
export const stepSchema: z.ZodType<Step> = z
  .strictObject(schemasOf(rows, own))
  .transform(readStep)
  .meta({ id: 'step' })

/** Keys that mean something in one kind of step alone. */
const belongs: readonly (readonly [key: string, kind: string])[] = [
  ...[...Object.keys(schemasOf(askRows)), 'guards'].map((key) => [key, 'agent_id'] as const),
  ['join', 'parallel'],
]

/** Keys that say how a member is called: they mean nothing to a step of another kind. */
export const callKeys: readonly string[] = Object.keys(callRows).map(toSnakeCase)

function readStep(step: Readonly<Record<string, unknown>>, context: z.RefinementCtx): Step {
  const said = stepKinds.filter((kind) => step[kind] !== undefined)
  const refuse = (message: string, path: string[] = []): void =>
    context.addIssue({ code: 'custom', message, path })
  if (said.length !== 1) refuse(`needs exactly one of ${stepKinds.join(', ')}`)
  for (const [key, kind] of belongs)
    if (step[key] !== undefined && step[kind] === undefined)
      refuse(
        `must stand beside ${kind}${step.map && kind === 'agent_id' ? ' or inside map' : ''}`,
        [key],
      )
  const { name, order, when, condition, ...own } = step
  const kept = Object.entries(own).filter(([key]) => step.agent_id || !callKeys.includes(key))
  // The order counts: the digest of a team's definition is made of it.
  return toCamelCase<Step>({ name, order, when, condition, ...Object.fromEntries(kept) })
}
