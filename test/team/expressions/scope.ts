import { ExpressionFault, type ExpressionScope } from '../../../src/team/expressions/values.ts'

/** What a run knows in these tests. */
export const scope: ExpressionScope = {
  question: {
    text: 'How much?',
    data: { list: [1, 2, 3], count: 3, ratio: 0.5, tags: ['a', 'b'] },
  },
  previous: { text: 'A draft' },
  steps: {
    review: { text: 'fair', data: { score: 0.5, reason: 'too short', risk: 'high' } },
    'my-step': { text: 'mine', data: [1, 2] },
  },
  feedback: 'shorter',
  context: { customer: { name: 'Ada' } },
  item: { id: 7 },
  round: 2,
}

/** What may be named in these tests. */
export const options = { steps: ['review', 'my-step', 'later'], item: true, round: true }

/** The fault that something ends with. */
export function faultOf(run: () => unknown): ExpressionFault {
  try {
    run()
  } catch (thrown) {
    if (thrown instanceof ExpressionFault) return thrown
    throw thrown
  }
  throw new Error('there was no fault')
}
