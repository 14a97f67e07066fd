import { z } from 'zod'
import { parseWith } from '../base/json.ts'
import type { EvalTask } from './task.ts'
import { whenFault } from './when.ts'

const json = z.record(z.string(), z.json())
const requestor = z.enum(['assistant', 'user'])
const envCall = z.looseObject({ env_type: requestor, func_name: z.string(), arguments: json })

const criteria = z.looseObject({
  actions: z
    .array(
      z.looseObject({
        name: z.string(),
        arguments: json,
        requestor: requestor.optional(),
        compare_args: z.array(z.string()).nullish(),
      }),
    )
    .nullish(),
  env_assertions: z.array(envCall.extend({ assert_value: z.boolean().optional() })).nullish(),
  communicate_info: z.array(z.string()).nullish(),
  nl_assertions: z.array(z.string()).nullish(),
  reward_basis: z
    .array(z.enum(['DB', 'ENV_ASSERTION', 'ACTION', 'COMMUNICATE', 'NL_ASSERTION']))
    .nullish(),
})

const historyMessage = z.looseObject({ role: z.enum(['user', 'assistant', 'tool']) })

const pattern = z.string().superRefine((when, context) => {
  const message = whenFault(when)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

const script = z.strictObject({
  opening: z.string().min(1),
  replies: z.array(
    z.strictObject({
      when: pattern,
      say: z.string().optional(),
      call: z.strictObject({ name: z.string(), arguments: json }).optional(),
      stop: z.boolean().optional(),
      times: z.int().positive().optional(),
    }),
  ),
  fallback: z.string().optional(),
  patience: z.int().nonnegative().optional(),
})

const task = z.looseObject({
  id: z.union([z.string(), z.number()]).transform(String),
  user_scenario: z.looseObject({ instructions: z.union([z.string(), json]) }).nullish(),
  initial_state: z
    .looseObject({
      initialization_data: z.looseObject({}).nullish(),
      initialization_actions: z.array(envCall).nullish(),
      message_history: z.array(historyMessage).nullish(),
    })
    .nullish(),
  evaluation_criteria: criteria.nullish(),
  user_script: script.nullish(),
})

/**
 * Checks a list of tasks.
 *
 * @throws ValidationError with the path of every fault, or for an id that occurs twice.
 */
export function parseTasks(value: unknown): readonly EvalTask[] {
  const unique = z
    .array(task)
    .refine((list) => new Set(list.map(({ id }) => id)).size === list.length, 'ids must be unique')
  // The schema checks what EvalTask promises; loose objects keep what it does not know.
  return parseWith<unknown>(unique, value, 'tasks') as readonly EvalTask[]
}
