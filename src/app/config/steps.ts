import { z } from 'zod'
import type { Guards } from '../../agents/guards/guard.ts'
import type { CallRules } from '../../team/schedulers/scheduler.ts'
import type { Step } from '../../team/team-config.ts'
import { guardsSchema } from './guards.ts'
import { filledText, numberLike, whenGiven } from './values.ts'

/** What a step can be; exactly one of these keys stands in it. */
export const stepKinds = ['agent_id', 'parallel', 'loop', 'map', 'approval'] as const

const callFields = {
  timeout_seconds: numberLike.optional(),
  max_retries: numberLike.optional(),
  fallback_agent_id: filledText.optional(),
  guards: guardsSchema.optional(),
}

/** `[[teams.scheduler_config.steps]]`. */
export const stepSchema: z.ZodType<Step> = z
  .strictObject({
    order: numberLike.optional(),
    condition: z.string().optional(),
    agent_id: filledText.optional(),
    ...callFields,
    get parallel() {
      return z.array(stepSchema).optional()
    },
    get loop() {
      return z
        .strictObject({ until: filledText, max_iterations: numberLike, steps: z.array(stepSchema) })
        .optional()
    },
    map: z
      .strictObject({ agent_id: filledText, max_parallel: numberLike.optional(), ...callFields })
      .optional(),
    approval: z.strictObject({ question: filledText }).optional(),
  })
  .transform((step, context): Step => {
    const kinds = stepKinds.filter((kind) => step[kind] !== undefined)
    const rules = { ...whenGiven('order', step.order), ...whenGiven('condition', step.condition) }
    if (kinds.length !== 1)
      context.addIssue({ code: 'custom', message: `needs exactly one of ${stepKinds.join(', ')}` })
    else if (step.agent_id !== undefined)
      return { ...rules, agentId: step.agent_id, ...toCallRules(step) }
    else if (step.parallel) return { ...rules, parallel: step.parallel }
    else if (step.loop) {
      const { until, steps, max_iterations: maxIterations } = step.loop
      return { ...rules, loop: { until, steps, maxIterations } }
    } else if (step.map) {
      const { agent_id: agentId, max_parallel: maxParallel } = step.map
      const map = { agentId, ...toCallRules(step.map), ...whenGiven('maxParallel', maxParallel) }
      return { ...rules, map }
    } else if (step.approval) return { ...rules, approval: step.approval }
    return z.NEVER
  })

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
