import { outputRows } from '../../agents/config.ts'
import { type KeyRow, type Rows, row } from '../../shared/rows.ts'
import {
  type ApprovalStep,
  type AskRules,
  type BranchCase,
  hardCap,
  type Join,
  type LoopStep,
  type MapRules,
  type Rule,
  type Step,
  type StepRules,
} from '../config.ts'
import type { CallRules } from '../schedulers/scheduler.ts'

/*
 * The keys of a workflow's steps, a row each: files, programs, the JSON Schema and docs/configuration.md follow from them.
 */

type KeysOf<T> = T extends unknown ? keyof T : never

/** The key that determines the kind of a step. */
export type StepKey = Exclude<
  KeysOf<Step>,
  keyof StepRules | keyof AskRules | keyof CallRules | 'join'
>

/** What every step may say. */
export const stepRows: Rows<StepRules> = {
  name: row.text(
    { examples: ['draft'] },
    'What later steps know this one by, as `steps.NAME`: letters, digits, `_` and `-`, unique in the workflow.',
  ),
  order: row.number(
    { examples: [1] },
    'Steps run in ascending order. A step without it has its place in the list, counted from 1.',
  ),
  when: row.rule(
    { examples: ["previous.text.contains('code')"] },
    'A CEL expression over `question`, `previous`, `steps.NAME`, `context` and `feedback`: the step runs only if it holds.',
  ),
  condition: row.anyText(
    { examples: ['code'] },
    'The step runs only if the previous answer contains this text; an empty one always holds. Not beside `when`.',
  ),
}

/** What a step, a join or a map asks of its member and of the answer. */
export const askRows: Rows<AskRules> = {
  input: row.rule(
    { examples: ['Make this shorter: {{ previous.text }}'] },
    'What the member is asked instead of the previous answer: a text in which `{{ expression }}` stands for its value.',
  ),
  outputSchema: outputRows.outputSchema,
  jsonSchema: row.table(
    { inCode: true, examples: [{ type: 'object' }] },
    'The JSON Schema of `output_schema`, where its library gives none.',
  ),
  maxOutputRetries: outputRows.maxOutputRetries,
}

/** How a step, a join or a map calls its member. */
export const callRows: Rows<CallRules, 'maxRetries'> = {
  timeoutSeconds: row.seconds(
    { examples: [120] },
    'How long the member may take at each try, in seconds; then it has failed. No limit if absent.',
  ),
  maxTaskSeconds: row.seconds(
    { examples: [86400] },
    'How long the step may take in all, in seconds: tries, fallback and restarts of the server included. No limit if absent.',
  ),
  maxRetries: row.whole(
    { min: 0, max: 10, default: 0, examples: [1] },
    'How often the member is asked again after it has failed, 0 to 10.',
  ),
  fallbackAgentId: row.text(
    { examples: ['reviewer'] },
    'The member that is asked instead when all tries have failed.',
  ),
  guards: row.table(
    { examples: [{ output: ['secrets'] }] },
    'What looks at the question to the member and at its answer, beside its own guards.',
  ),
  failOn: row.choices(
    { of: ['length', 'content_filter'], examples: [['length', 'content_filter']] },
    'Answers that count as a failure: `length` where the model had no more tokens, `content_filter` where its service cut the answer. Such an answer is passed on if absent.',
  ),
}

/** `join`, where it is a table. */
export const joinRows: Rows<Exclude<Join, Rule<unknown>>> = {
  agentId: row.text(
    { required: true, examples: ['reviewer'] },
    'The member that gets the answers and makes one of them.',
  ),
  ...askRows,
  ...callRows,
}

/** `join`. */
export const joinRow: KeyRow = row.rule(
  {
    of: joinRows,
    examples: ['For: {{ steps.pro.text }} Against: {{ steps.con.text }}', { agent_id: 'reviewer' }],
  },
  'What makes one answer of those of `parallel`: a template, or a table with a member. They stand under headings, in order, if this is absent.',
)

/** One case of a `branch`. */
const caseRows: Rows<BranchCase> = {
  when: row.rule(
    { examples: ["previous.text.contains('refund')"] },
    'A CEL expression: the first case in which it holds is the one. The last case may have none, and runs otherwise.',
  ),
  steps: row.steps(
    { required: true, examples: [[{ agent_id: 'reviewer' }]] },
    'The steps of this case.',
  ),
}

/** `loop`. */
export const loopRows: Rows<LoopStep['loop']> = {
  steps: row.steps(
    { required: true, examples: [[{ agent_id: 'writer' }, { agent_id: 'reviewer' }]] },
    'The steps of one round.',
  ),
  until: row.rule(
    { required: true, examples: ['APPROVED', 'previous.data.score >= 0.8'] },
    'When the loop ends: a CEL expression that holds, or a text that the answer contains.',
  ),
  maxIterations: row.number(
    { required: true, examples: [3] },
    'How many rounds at most, 1 to 100; then the run goes on with the last answer.',
  ),
}

/** The keys of `map`, without those for its member. */
export const mapRows: Rows<
  Omit<MapRules, keyof AskRules | keyof CallRules> & { agentId?: string; steps?: readonly Step[] },
  'maxItems' | 'maxParallel'
> = {
  agentId: row.text(
    { examples: ['writer'] },
    'The member that answers for each item. Either this or `steps`.',
  ),
  steps: row.steps(
    { examples: [[{ agent_id: 'writer' }, { agent_id: 'reviewer' }]] },
    'Steps that are done for each item. Either these or `agent_id`.',
  ),
  over: row.rule(
    { examples: ['previous.data.chapters'] },
    'A CEL expression that gives the list; the list that the previous answer is if absent.',
  ),
  maxItems: row.whole(
    { min: 1, max: Number.MAX_SAFE_INTEGER, default: 1_000, examples: [5_000] },
    'How many items the list may have; a longer one fails the run. Each costs a delegation of the budget, or more.',
  ),
  maxParallel: row.whole(
    { min: 1, max: hardCap, default: 8, examples: [4] },
    'How many items are worked on at once, 1 to 100.',
  ),
}

/** `approval`. */
export const approvalRows: Rows<ApprovalStep['approval'], 'maxFeedbackRounds'> = {
  question: row.text(
    { required: true, filled: true, examples: ['Shall I publish this?'] },
    'What the user is asked, below the answer so far.',
  ),
  onFeedback: row.text(
    { filled: true, examples: ['draft'] },
    'The earlier step that works again with what the user said, where that is neither a yes nor a no. The question is asked again if this is absent.',
  ),
  maxFeedbackRounds: row.whole(
    { min: 1, max: hardCap, default: 5, examples: [2] },
    'How often there may be feedback, 1 to 100; then the task is REJECTED.',
  ),
}

/** A kind of step, with what to do instead where keys for a member stand beside it. */
type KindRow = KeyRow & { readonly remedy: string }

/** What a step can be: exactly one of these keys stands in it. */
export const kindRows: { readonly [Key in StepKey]: Key extends 'agentId' ? KeyRow : KindRow } = {
  agentId: row.text({ examples: ['writer'] }, 'The member that answers.'),
  parallel: row.steps(
    {
      remedy: 'put it into each of the steps inside',
      examples: [[{ agent_id: 'writer' }, { agent_id: 'reviewer' }]],
    },
    'Steps that get the same question at once.',
  ),
  branch: row.tables(
    {
      of: caseRows,
      remedy: 'put it into the steps of its cases',
      examples: [
        [
          { when: "previous.text.contains('refund')", steps: [{ agent_id: 'reviewer' }] },
          { steps: [{ agent_id: 'writer' }] },
        ],
      ],
    },
    'Cases, of which the first that holds runs its steps.',
  ),
  loop: row.table(
    {
      of: loopRows,
      remedy: 'put it into the steps inside',
      examples: [{ until: 'APPROVED', max_iterations: 3, steps: [{ agent_id: 'writer' }] }],
    },
    'Steps that are repeated until something holds.',
  ),
  map: row.table(
    {
      of: { ...mapRows, ...askRows, ...callRows },
      oneOf: ['agentId', 'steps'],
      remedy: 'put it inside map, beside agent_id, or into its steps',
      examples: [{ agent_id: 'writer', max_parallel: 4 }],
    },
    'A member, or steps, answer once per item of a list.',
  ),
  approval: row.table(
    {
      of: approvalRows,
      remedy: 'a person is asked, who has all the time there is; remove it',
      examples: [{ question: 'Shall I publish this?' }],
    },
    'The user is shown the answer so far and asked. A clear yes goes on, a clear no ends the task as REJECTED.',
  ),
}
