import { expect, test } from 'vitest'
import { createGoldenAgent } from '../../../src/eval/agent/reference-agents.ts'
import { headline } from '../../../src/eval/report.ts'
import { runEvaluation } from '../../../src/eval/run/evaluate.ts'
import { goldenUser, type UserSimulator } from '../../../src/eval/users.ts'
import { serveAgent } from '../serving.ts'
import { addTask, smallDomain } from '../small-domain.ts'

/** A user who breaks down in one task. */
const frail: UserSimulator = {
  ...goldenUser,
  start: (briefing) =>
    briefing.task.id === 'broken'
      ? { next: () => Promise.reject(new Error('I have no voice')) }
      : goldenUser.start(briefing),
}

test('a fault of the simulated user is a failure as in tau2, and the score without it stands beside', async () => {
  const domain = smallDomain([addTask(), addTask({ id: 'broken' })])
  const endpoint = await serveAgent(createGoldenAgent(domain))
  const results = await runEvaluation({ agent: { endpoint }, domain, user: frail })
  expect(results.simulations[1]).toMatchObject({
    termination_reason: 'user_error',
    reward_info: { reward: 0 },
  })
  expect(results.summary).toMatchObject({
    avg_reward: 0.5,
    pass_hat_k: { '1': { value: 0.5 } },
    without_user_faults: { scored: 1, rate: 1 },
  })
  expect(headline(results)).toContainEqual(['Without faults of the user', '100.0 % of 1'])
})
