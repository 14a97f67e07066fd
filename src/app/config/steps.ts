import { z } from 'zod'
import type { Guards } from '../../agents/guards/guard.ts'
import type { JsonObject } from '../../protocol/types.ts'
import {
  type ApprovalStep,
  type BranchCase,
  type Join,
  type MapStep,
  type Step,
  teamDefaults,
} from '../../team/config.ts'
import type { CutReason } from '../../team/schedulers/scheduler.ts'
import { outputFields } from './agents.ts'
import { guardsSchema } from './guards.ts'
import { described, filledText, numberLike, toCamelCase } from './values.ts'

/** What a step can be; exactly one of these keys stands in it. */
export const stepKinds = ['agent_id', 'parallel', 'branch', 'loop', 'map', 'approval'] as const

type Optional<Output, Input = unknown> = z.ZodOptional<z.ZodType<Output, Input>>

/** What a step, a join or a map asks of its member and of the answer. */
const askFields: {
  readonly input: Optional<string, string>
  readonly output_schema: Optional<JsonObject>
  readonly max_output_retries: Optional<number, number | string>
} = {
  input: described(filledText.optional(), {
    description:
      'What the member is asked instead of the previous answer: a text in which `{{ expression }}` stands for its value.',
    examples: ['Make this shorter: {{ previous.text }}'],
  }),
  ...outputFields,
}

/** How a step, a join or a map calls its member. */
const callFields: {
  readonly timeout_seconds: Optional<number, number | string>
  readonly max_task_seconds: Optional<number, number | string>
  readonly max_retries: Optional<number, number | string>
  readonly fallback_agent_id: Optional<string, string>
  readonly guards: Optional<Guards>
  readonly fail_on: Optional<CutReason[]>
} = {
  timeout_seconds: described(numberLike.optional(), {
    description:
      'How long the member may take at each try, in seconds; then it has failed. No limit if absent.',
    examples: [120],
  }),
  max_task_seconds: described(numberLike.optional(), {
    description:
      'How long the step may take in all, in seconds: tries, fallback and restarts of the server included. No limit if absent.',
    examples: [86400],
  }),
  max_retries: described(numberLike.optional(), {
    description: 'How often the member is asked again after it has failed, 0 to 10.',
    default: teamDefaults.maxRetries,
    examples: [1],
  }),
  fallback_agent_id: described(filledText.optional(), {
    description: 'The member that is asked instead when all tries have failed.',
    examples: ['reviewer'],
  }),
  guards: described(guardsSchema.optional(), {
    description:
      'What looks at the question to the member and at its answer, beside its own guards.',
    examples: [{ output: ['secrets'] }],
  }),
  fail_on: described(z.array(z.enum(['length', 'content_filter'])).optional(), {
    description:
      'Answers that count as a failure: `length` where the model had no more tokens, `content_filter` where its service cut the answer. Such an answer is passed on if absent.',
    examples: [['length', 'content_filter']],
  }),
}

const joinTable = z.strictObject({
  agent_id: described(filledText, {
    description: 'The member that gets the answers and makes one of them.',
    examples: ['reviewer'],
  }),
  ...askFields,
  ...callFields,
})

const joinSchema: z.ZodType<Join> = z
  .union([filledText, joinTable], 'must be a template, or a table with the agent_id of a member')
  .transform((join): Join => (typeof join === 'string' ? join : toCamelCase<Join>(join)))

const caseSchema = z
  .strictObject({
    when: described(filledText.optional(), {
      description:
        'A CEL expression: the first case in which it holds is the one. The last case may have none, and runs otherwise.',
      examples: ["previous.text.contains('refund')"],
    }),
    get steps() {
      return described(z.array(stepSchema), {
        description: 'The steps of this case.',
        examples: [[{ agent_id: 'reviewer' }]],
      })
    },
  })
  .transform((one) => toCamelCase<BranchCase>(one))

const mapSchema: z.ZodType<MapStep['map']> = z
  .strictObject({
    agent_id: described(filledText.optional(), {
      description: 'The member that answers for each item. Either this or `steps`.',
      examples: ['writer'],
    }),
    get steps() {
      return described(z.array(stepSchema).optional(), {
        description: 'Steps that are done for each item. Either these or `agent_id`.',
        examples: [[{ agent_id: 'writer' }, { agent_id: 'reviewer' }]],
      })
    },
    over: described(filledText.optional(), {
      description:
        'A CEL expression that gives the list; the list that the previous answer is if absent.',
      examples: ['previous.data.chapters'],
    }),
    max_items: described(numberLike.optional(), {
      description:
        'How many items the list may have; a longer one fails the run. Each costs a delegation of the budget, or more.',
      default: teamDefaults.maxItems,
      examples: [5_000],
    }),
    max_parallel: described(numberLike.optional(), {
      description: 'How many items are worked on at once, 1 to 100.',
      default: teamDefaults.maxParallel,
      examples: [4],
    }),
    ...askFields,
    ...callFields,
  })
  .transform((map, context): MapStep['map'] => {
    if ((map.agent_id === undefined) !== (map.steps === undefined))
      return toCamelCase<MapStep['map']>(map)
    context.addIssue({ code: 'custom', message: 'needs exactly one of agent_id, steps' })
    return z.NEVER
  })

const loopSchema = z
  .strictObject({
    until: described(filledText, {
      description:
        'When the loop ends: a CEL expression that holds, or a text that the answer contains.',
      examples: ['APPROVED', 'previous.data.score >= 0.8'],
    }),
    max_iterations: described(numberLike, {
      description: 'How many rounds at most, 1 to 100; then the run goes on with the last answer.',
      examples: [3],
    }),
    get steps() {
      return described(z.array(stepSchema), {
        description: 'The steps of one round.',
        examples: [[{ agent_id: 'writer' }, { agent_id: 'reviewer' }]],
      })
    },
  })
  .transform(({ until, steps, max_iterations: maxIterations }) => ({ until, steps, maxIterations }))

const approvalSchema = z
  .strictObject({
    question: described(filledText, {
      description: 'What the user is asked, below the answer so far.',
      examples: ['Shall I publish this?'],
    }),
    on_feedback: described(filledText.optional(), {
      description:
        'The earlier step that works again with what the user said, where that is neither a yes nor a no. The question is asked again if this is absent.',
      examples: ['draft'],
    }),
    max_feedback_rounds: described(numberLike.optional(), {
      description: 'How often there may be feedback, 1 to 100; then the task is REJECTED.',
      default: teamDefaults.maxFeedbackRounds,
      examples: [2],
    }),
  })
  .transform((approval) => toCamelCase<ApprovalStep['approval']>(approval))

const stepTable = z.strictObject({
  name: described(filledText.optional(), {
    description:
      'What later steps know this one by, as `steps.NAME`: letters, digits, `_` and `-`, unique in the workflow.',
    examples: ['draft'],
  }),
  agent_id: described(filledText.optional(), {
    description: 'The member that answers.',
    examples: ['writer'],
  }),
  ...askFields,
  ...callFields,
  get parallel() {
    return described(z.array(stepSchema).optional(), {
      description: 'Steps that get the same question at once.',
      examples: [[{ agent_id: 'writer' }, { agent_id: 'reviewer' }]],
    })
  },
  join: described(joinSchema.optional(), {
    description:
      'What makes one answer of those of `parallel`: a template, or a table with a member. They stand under headings, in order, if this is absent.',
    examples: ['For: {{ steps.pro.text }} Against: {{ steps.con.text }}', { agent_id: 'reviewer' }],
  }),
  branch: described(z.array(caseSchema).optional(), {
    description: 'Cases, of which the first that holds runs its steps.',
    examples: [
      [
        { when: "previous.text.contains('refund')", steps: [{ agent_id: 'reviewer' }] },
        { steps: [{ agent_id: 'writer' }] },
      ],
    ],
  }),
  loop: described(loopSchema.optional(), {
    description: 'Steps that are repeated until something holds.',
    examples: [{ until: 'APPROVED', max_iterations: 3, steps: [{ agent_id: 'writer' }] }],
  }),
  map: described(mapSchema.optional(), {
    description: 'A member, or steps, answer once per item of a list.',
    examples: [{ agent_id: 'writer', max_parallel: 4 }],
  }),
  approval: described(approvalSchema.optional(), {
    description:
      'The user is shown the answer so far and asked. A clear yes goes on, a clear no ends the task as REJECTED.',
    examples: [{ question: 'Shall I publish this?' }],
  }),
  when: described(filledText.optional(), {
    description:
      'A CEL expression over `question`, `previous`, `steps.NAME`, `context` and `feedback`: the step runs only if it holds.',
    examples: ["previous.text.contains('code')"],
  }),
  condition: described(z.string().optional(), {
    description:
      'The step runs only if the previous answer contains this text; an empty one always holds. Not beside `when`.',
    examples: ['code'],
  }),
  order: described(numberLike.optional(), {
    description:
      'Steps run in ascending order. A step without it has its place in the list, counted from 1.',
    examples: [1],
  }),
})

/** `[[teams.scheduler_config.steps]]`. */
export const stepSchema: z.ZodType<Step> = stepTable.transform(readStep).meta({ id: 'step' })

type StepTable = z.output<typeof stepTable>

/** Keys that mean something in one kind of step alone. */
const belongs = [
  ['input', 'agent_id'],
  ['output_schema', 'agent_id'],
  ['max_output_retries', 'agent_id'],
  ['guards', 'agent_id'],
  ['join', 'parallel'],
] as const

function readStep(step: StepTable, context: z.RefinementCtx): Step {
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
  const { name, order, when, condition, ...own } = step
  // What is said to a member means nothing to a step of another kind.
  const kept = Object.entries(own).filter(
    ([key]) => step.agent_id || !Object.hasOwn(callFields, key),
  )
  // The order counts: the digest of a team's definition is made of it.
  return toCamelCase<Step>({ name, order, when, condition, ...Object.fromEntries(kept) })
}
