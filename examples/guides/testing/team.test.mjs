import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineTeam } from 'corral/team'
import { runTeam, scripted } from 'corral/testing'

test('the writer gets the plan, once the user has said for whom', async () => {
  const planner = scripted([{ asks: 'For whom?' }, 'A plan for children'])
  const writer = scripted([{ chunks: ['Once upon ', 'a time'] }])
  const team = defineTeam({
    id: 'writers',
    name: 'Writers',
    agents: { planner, writer },
    scheduler: { type: 'workflow', steps: [{ agentId: 'planner' }, { agentId: 'writer' }] },
  })
  const run = await runTeam(team, 'A book about bees', { answers: ['Children'] })
  assert.equal(run.text, 'Once upon a time')
  assert.deepEqual(run.questions, ['For whom?'])
  assert.deepEqual(writer.asked, ['A plan for children'])
})
