import type { Json } from '../../../src/protocol/types.ts'
import type { Step, StepScope } from '../../../src/team/config.ts'
import type { Process, Scenario } from './explorer.ts'
import { asker, chain, scripted, team, worker } from './members.ts'

const reviewSchema = {
  type: 'object',
  properties: { score: { type: 'number' } },
  required: ['score'],
}

/** A member that answers with JSON, and at first with something else. */
const judge = (p: Process) =>
  scripted(p, 'judge', (text) =>
    text.includes('score') ? `{"score": ${text.includes('blue') ? 0.9 : 0.4}}` : 'Well.',
  )

const flow = (p: Process, steps: readonly Step[], more: Parameters<typeof team>[1] = {}) => [
  team(
    'flow',
    { writer: worker(p, 'writer'), judge: judge(p), publisher: worker(p, 'publisher'), ...more },
    { type: 'workflow', steps },
  ),
]

const feedback = { approval: { question: 'Publish?', onFeedback: 'draft' } }
const draft = { name: 'draft', agentId: 'writer' }

/** A function that is a decision: it is noted how often it is asked. */
const decision =
  <T extends Json>(p: Process, name: string, make: (scope: StepScope) => T) =>
  (scope: StepScope): T => {
    p.note(name, scope.previous.text)
    return make(scope)
  }

/** Workflows over data: rules, schemas, branches, joins, maps and feedback. */
export const typedWorkflows: readonly Scenario[] = [
  {
    name: 'typed steps with a checked answer, a branch and feedback',
    agents: (p) =>
      flow(p, [
        draft,
        { name: 'review', agentId: 'judge', outputSchema: reviewSchema },
        {
          name: 'fix',
          agentId: 'writer',
          when: 'steps.review.data.score < 0.8',
          input: 'Improve {{ steps.draft.text }} {{ feedback }}',
        },
        {
          branch: [
            { when: 'steps.review.data.score > 0.8', steps: [{ agentId: 'publisher' }] },
            { steps: [feedback, { agentId: 'publisher' }] },
          ],
        },
      ]),
    talk: (user) => sayEach(user, ['go', 'make it blue']),
  },
  {
    name: 'functions that decide, over a question and feedback',
    agents: (p) =>
      flow(
        p,
        [
          { ...draft, input: decision(p, 'input', ({ question }) => `${question.text}!`) },
          { agentId: 'asker', when: decision(p, 'when', ({ steps }) => steps.draft?.text !== '') },
          {
            map: {
              over: decision(p, 'over', ({ previous }) => [previous.text, 'two']),
              agentId: 'publisher',
              input: '{{ item }} of {{ steps.draft.text }}',
            },
          },
          feedback,
        ],
        { asker: asker(p, 'asker') },
      ),
    talk: (user) => sayEach(user, ['go', 'red', 'shorter', 'green', 'yes']),
  },
  {
    name: 'feedback beside a member that asks, joined by a member',
    agents: (p) =>
      flow(
        p,
        [
          draft,
          {
            parallel: [{ branch: [{ steps: [feedback] }] }, { name: 'asked', agentId: 'asker' }],
            join: { agentId: 'publisher', input: '{{ steps.draft.text }} {{ steps.asked.text }}' },
          },
        ],
        { asker: asker(p, 'asker') },
      ),
    talk: (user) => sayEach(user, ['go', 'shorter', 'red', 'yes', 'green']),
  },
  {
    name: 'a map whose items are approved, and a loop until data says so',
    agents: (p) =>
      flow(p, [
        {
          loop: {
            steps: [
              { ...draft, input: '{{ previous.text }} blue {{ round }}' },
              {
                name: 'review',
                agentId: 'judge',
                outputSchema: reviewSchema,
                input: 'score {{ round == 1 ? "" : previous.text }}',
              },
            ],
            until: 'steps.review.data.score > 0.8',
            maxIterations: 3,
          },
        },
        {
          map: {
            over: '[steps.draft.text, "b"]',
            steps: [
              { name: 'each', agentId: 'publisher' },
              { approval: { question: 'Good?', onFeedback: 'each' } },
            ],
          },
        },
      ]),
    talk: (user) => sayEach(user, ['go', 'more', 'yes', 'yes']),
  },
  {
    name: 'feedback until the task is rejected',
    agents: (p) => flow(p, [draft, { approval: { ...feedback.approval, maxFeedbackRounds: 1 } }]),
    talk: (user) => sayEach(user, ['go', 'a', 'b']),
  },
]

/** Approvals that send a draft back more than once. */
export const feedbackRounds: readonly Scenario[] = [
  {
    name: 'two rounds of feedback, then yes',
    agents: (p) =>
      flow(p, [draft, { agentId: 'judge', input: 'score' }, feedback, { agentId: 'publisher' }]),
    talk: (user) => sayEach(user, ['go', 'shorter', 'hm', 'yes']),
  },
  {
    name: 'feedback until there were two rounds too many, in a nested team',
    agents: (p) => {
      const rounds = { approval: { ...feedback.approval, maxFeedbackRounds: 2 } }
      const [inner] = flow(p, [draft, rounds])
      const agents = { a: worker(p, 'a'), ...(inner && { inner }), end: worker(p, 'end') }
      return [chain('outer', agents)]
    },
    talk: (user) => sayEach(user, ['go', 'shorter', 'longer', 'bluer']),
  },
]

async function sayEach(user: Parameters<Scenario['talk']>[0], texts: readonly string[]) {
  for (const text of texts) await user.say(text)
}
