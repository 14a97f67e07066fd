import assert from 'node:assert/strict'
import { test } from 'node:test'
import { A2AError } from 'corral'
import { defineTeam } from 'corral/team'
import { createInstantClock, runTeam, scripted } from 'corral/testing'

test('a writer that is away is asked again, and the test does not wait', async () => {
  const away = new A2AError('unavailable', 'Back in a minute')
  const writer = scripted([{ fails: away }, 'Once upon a time'])
  const team = defineTeam({
    id: 'writers',
    name: 'Writers',
    agents: { writer },
    scheduler: { type: 'workflow', steps: [{ agentId: 'writer', maxRetries: 1 }] },
    clock: createInstantClock(),
  })
  const run = await runTeam(team, 'A book about bees', { logger: false })
  assert.equal(run.text, 'Once upon a time')
  assert.equal(run.delegations[0]?.reason, 'unavailable')
})
