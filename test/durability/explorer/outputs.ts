import type { Agent } from '../../../src/agents/agent.ts'
import { withOutputSchema } from '../../../src/agents/output/with-schema.ts'
import { toDataSchema } from '../../../src/agents/schema.ts'
import type { Process, Scenario } from './explorer.ts'
import {
  events,
  remote,
  remoteWorld,
  scripted,
  type Told,
  team,
  telling,
  worker,
} from './members.ts'
import { model, modelWorld } from './models.ts'

const outputSchema = {
  type: 'object',
  properties: { score: { type: 'number' }, why: { type: 'string' } },
  required: ['score', 'why'],
}

/** Words at first, then data without a score, then what fits. */
function answerTo(text: string): Told {
  if (!text.includes('You have answered')) return { says: 'Well then', gives: 'Well then' }
  if (!text.includes('no score yet'))
    return { says: '{"why": "no score yet"}', gives: 'no score yet' }
  return { says: '{"score": 1, "why": "now it fits"}', gives: 'now it fits' }
}

const flow = (p: Process, judge: Agent, step: object = { outputSchema }) => [
  team(
    'flow',
    { judge, end: worker(p, 'end') },
    {
      type: 'workflow',
      steps: [
        { name: 'review', agentId: 'judge', ...step },
        { agentId: 'end', input: '{{ steps.review.data.why }} {{ steps.review.data.score }}' },
      ],
    },
  ),
]

/** Asks the user when it is to mend its answer. */
const mendingAsker = (p: Process) =>
  scripted(p, 'judge', (text, turn) => {
    if (turn.task) return `{"score": 2, "why": "${text}"}`
    return text.includes('You have answered') ? events(turn.ask('Which score?')) : 'Well then'
  })

/** Answers that must fit a schema, and at first do not. */
export const checkedOutputs: readonly Scenario[] = [
  {
    name: 'an answer that fits the schema of its step at the third try',
    agents: (p) => flow(p, telling(p, 'judge', answerTo)),
    talk: (user) => user.say('go'),
  },
  {
    name: 'an answer that never fits',
    agents: (p) => flow(p, telling(p, 'judge', answerTo), { outputSchema, maxOutputRetries: 1 }),
    talk: (user) => user.say('go'),
  },
  {
    name: 'a member that asks the user while it mends its answer',
    agents: (p) => flow(p, mendingAsker(p)),
    talk: async (user) => {
      await user.say('go')
      await user.say('two')
    },
  },
  {
    name: 'an agent of its own whose answers fit a schema',
    agents: (p) => {
      const schema = toDataSchema(outputSchema, { at: 'test', value: 'an answer' })
      return [withOutputSchema(telling(p, 'judge', answerTo), schema)]
    },
    talk: (user) => user.say('go'),
  },
  {
    name: 'a model whose answer fits its schema at the third try',
    world: modelWorld(({ text }) => answerTo(text)),
    agents: (p, w) => flow(p, model(p, w, { id: 'judge', outputSchema }), {}),
    talk: (user) => user.say('go'),
  },
  {
    name: 'a remote member whose answer fits at the third try',
    world: remoteWorld((ledger) => telling(ledger, 'far', answerTo)),
    agents: (p, w) => flow(p, remote(w)),
    talk: (user) => user.say('go'),
  },
]
