import { expect, test } from 'vitest'
import { runHere } from './guide.ts'

test('guards of an agent, a step and a team take out, block and refuse', async () => {
  expect(await runHere('../guards/guards.mjs')).toEqual([
    'TASK_STATE_COMPLETED: The weather: sunny. Yours, [email removed]',
    expect.stringMatching(/^TASK_STATE_FAILED: .*nobody wants to hear of storms/),
    expect.stringMatching(/^TASK_STATE_REJECTED: .*it is off topic/),
  ])
})
