import { z } from 'zod'
import type { Guards } from '../../agents/guards/guard.ts'
import type { JsonObject } from '../../protocol/types.ts'
import type { CallRules } from '../../team/schedulers/scheduler.ts'
import type { AskRules, Join, MapStep, Step } from '../../team/team-config.ts'
import { guardsSchema } from './guards.ts'
import { outputSchemaField } from './schema-files.ts'
import { filledText, numberLike, whenGiven } from './values.ts'

/** What a step can be; exactly one of these keys stands in it. */
export const stepKinds = ['agent_id', 'parallel', 'branch', 'loop', 'map', 'approval'] as const

const expression = filledText.describe(
  'A CEL expression over question, previous, steps.<name>, context and feedback, each answer with text and data.',
)
const template = filledText.describe('A text in which {{ expression }} stands for its value.')

const callFields = {
  timeout_seconds: numberLike.optional(),
  max_retries: numberLike.optional(),
  fallback_agent_id: filledText.optional(),
  guards: guardsSchema.optional(),
}

const askFields = {
  input: template.optional(),
  output_schema: outputSchemaField.optional(),
  max_output_retries: numberLike.optional(),
}

const joinSchema: z.ZodType<Join> = z
  .union(
    [template, z.strictObject({ agent_id: filledText, ...askFields, ...callFields })],
    'must be a template, or a table with the agent_id of a member',
  )
  .transform(
    (join): Join =>
      typeof join === 'string'
        ? join
        : { agentId: join.agent_id, ...toAskRules(join), ...toCallRules(join) },
  )

const caseSchema = z
  .strictObject({
    when: expression.optional(),
    get steps() {
      return z.array(stepSchema)
    },
  })
  .transform(({ when, steps }) => ({ ...whenGiven('when', when), steps }))

const mapSchema: z.ZodType<MapStep['map']> = z
  .strictObject({
    agent_id: filledText.optional(),
    get steps() {
      return z.array(stepSchema).optional()
    },
    over: expression.optional(),
    max_parallel: numberLike.optional(),
    ...askFields,
    ...callFields,
  })
  .transform((map, context): MapStep['map'] => {
    const { agent_id: agentId, steps } = map
    const rules = {
      ...whenGiven('over', map.over),
      ...whenGiven('maxParallel', map.max_parallel),
      ...toAskRules(map),
      ...toCallRules(map),
    }
    if (agentId !== undefined && steps === undefined) return { agentId, ...rules }
    if (steps !== undefined && agentId === undefined) return { steps, ...rules }
    context.addIssue({ code: 'custom', message: 'needs exactly one of agent_id, steps' })
    return z.NEVER
  })

const approvalSchema = z
  .strictObject({
    question: filledText,
    on_feedback: filledText.optional(),
    max_feedback_rounds: numberLike.optional(),
  })
  .transform(({ question, on_feedback: onFeedback, max_feedback_rounds: rounds }) => ({
    question,
    ...whenGiven('onFeedback', onFeedback),
    ...whenGiven('maxFeedbackRounds', rounds),
  }))

const stepTable = z.strictObject({
  name: filledText.optional(),
  order: numberLike.optional(),
  when: expression.optional(),
  condition: z.string().optional(),
  agent_id: filledText.optional(),
  ...askFields,
  ...callFields,
  get parallel() {
    return z.array(stepSchema).optional()
  },
  join: joinSchema.optional(),
  branch: z.array(caseSchema).optional(),
  get loop() {
    return z
      .strictObject({ until: filledText, max_iterations: numberLike, steps: z.array(stepSchema) })
      .optional()
  },
  map: mapSchema.optional(),
  approval: approvalSchema.optional(),
})

/** `[[teams.scheduler_config.steps]]`. */
export const stepSchema: z.ZodType<Step> = stepTable.transform((step, context): Step => {
  const kinds = stepKinds.filter((kind) => step[kind] !== undefined)
  const refuse = (message: string, path: string[] = []): void =>
    context.addIssue({ code: 'custom', message, path })
  if (kinds.length !== 1) refuse(`needs exactly one of ${stepKinds.join(', ')}`)
  for (const [key, kind] of belongs)
    if (step[key] !== undefined && step[kind] === undefined)
      refuse(
        `must stand beside ${kind}${step.map && kind === 'agent_id' ? ' or inside map' : ''}`,
        [key],
      )
  return toStep(step) ?? z.NEVER
})

/** Keys that mean something in one kind of step alone. */
const belongs = [
  ['input', 'agent_id'],
  ['output_schema', 'agent_id'],
  ['max_output_retries', 'agent_id'],
  ['guards', 'agent_id'],
  ['join', 'parallel'],
] as const

function toStep(step: z.output<typeof stepTable>): Step | undefined {
  const rules = {
    ...whenGiven('name', step.name),
    ...whenGiven('order', step.order),
    ...whenGiven('when', step.when),
    ...whenGiven('condition', step.condition),
  }
  if (step.agent_id !== undefined)
    return { ...rules, agentId: step.agent_id, ...toAskRules(step), ...toCallRules(step) }
  if (step.parallel) return { ...rules, parallel: step.parallel, ...whenGiven('join', step.join) }
  if (step.branch) return { ...rules, branch: step.branch }
  if (step.loop) {
    const { until, steps, max_iterations: maxIterations } = step.loop
    return { ...rules, loop: { until, steps, maxIterations } }
  }
  if (step.map) return { ...rules, map: step.map }
  return step.approval && { ...rules, approval: step.approval }
}

interface AskFields {
  readonly input?: string | undefined
  readonly output_schema?: JsonObject | undefined
  readonly max_output_retries?: number | undefined
}

function toAskRules(fields: AskFields): AskRules {
  return {
    ...whenGiven('input', fields.input),
    ...whenGiven('outputSchema', fields.output_schema),
    ...whenGiven('maxOutputRetries', fields.max_output_retries),
  }
}

interface CallFields {
  readonly timeout_seconds?: number | undefined
  readonly max_retries?: number | undefined
  readonly fallback_agent_id?: string | undefined
  readonly guards?: Guards | undefined
}

function toCallRules(fields: CallFields): CallRules {
  return {
    ...whenGiven('timeoutSeconds', fields.timeout_seconds),
    ...whenGiven('maxRetries', fields.max_retries),
    ...whenGiven('fallbackAgentId', fields.fallback_agent_id),
    ...whenGiven('guards', fields.guards),
  }
}
