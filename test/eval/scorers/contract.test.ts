import {
  type ConversationMessage,
  type EvaluationCriteria,
  type RewardType,
  spoken,
} from '../../../src/eval/domain/domain.ts'
import { builtInScorers } from '../../../src/eval/scorers/built-in.ts'
import type { Judge, Scorer } from '../../../src/eval/scorers/scorer.ts'
import { describeScorer } from '../../contracts/scorer.ts'
import { addTask, smallDomain } from '../small-domain.ts'

const call = { name: 'add_book', arguments: { title: 'Ulysses' } }
const solved: readonly ConversationMessage[] = [
  spoken('assistant', null, [{ id: 'c1', requestor: 'assistant', ...call }]),
  spoken('assistant', 'Now there are 2.'),
]
const idle: readonly ConversationMessage[] = [spoken('assistant', 'Sorry.')]

/** Finds true what the agent says of two. */
const judge: Judge = async (statements, messages) =>
  statements.map((nl_assertion) => ({
    nl_assertion,
    met: messages.some(({ content }) => content?.includes('2')),
    justification: 'By what was said',
  }))

const criteria: Readonly<Record<RewardType, EvaluationCriteria>> = {
  DB: { actions: [call] },
  ENV_ASSERTION: {
    env_assertions: [
      { env_type: 'assistant', func_name: 'has_book', arguments: { title: 'Ulysses' } },
    ],
  },
  ACTION: { actions: [call] },
  COMMUNICATE: { communicate_info: ['2'] },
  NL_ASSERTION: { nl_assertions: ['The agent tells how many there are.'] },
}

for (const scorer of Object.values(builtInScorers)) {
  const task = addTask({
    evaluation_criteria: { ...criteria[scorer.name], reward_basis: [scorer.name] },
  })
  describeScorer(`built-in ${scorer.name}`, {
    scorer,
    domain: smallDomain([task]),
    task,
    good: solved,
    bad: idle,
    judge,
  })
}

const polite: Scorer = {
  name: 'POLITE',
  score({ messages }) {
    const met = messages.every(({ content }) => !content?.includes('Sorry'))
    return { reward: met ? 1 : 0.25, checks: [{ what: 'does not say sorry', met }] }
  },
}

describeScorer('own', {
  scorer: polite,
  domain: smallDomain(),
  task: addTask(),
  good: solved,
  bad: idle,
})
