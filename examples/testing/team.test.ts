/** Tests of teams, offline. Run: npx tsx --test examples/testing/team.test.ts */

// #region team
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

// #endregion team

// #region model
import { OpenAIAgent } from 'corral/agents'
import { openModelServer } from 'corral/testing'

test('the desk hands questions about bills over', async (t) => {
  const model = await openModelServer(({ model }) =>
    model === 'desk'
      ? { tools: [{ name: 'transfer_to_billing', arguments: {} }] }
      : 'It was sent on Monday.',
  )
  t.after(() => model.close())
  const service = { endpoint: model.url, apiKey: 'none', timeoutSeconds: 5, maxRetries: 0 }
  const desk = new OpenAIAgent({ ...service, id: 'desk', name: 'Desk', model: 'desk' })
  const billing = new OpenAIAgent({ ...service, id: 'billing', name: 'Billing', model: 'billing' })
  const team = defineTeam({
    id: 'shop',
    name: 'Shop',
    agents: { desk, billing },
    scheduler: { type: 'router', defaultAgentId: 'desk' },
  })
  const run = await runTeam(team, 'Where is my bill?')
  assert.equal(run.text, 'It was sent on Monday.')
  const asked = run.delegations.map(({ member }) => member)
  assert.deepEqual(asked, ['desk', 'billing'])
})

// #endregion model

// #region clock
import { A2AError } from 'corral'
import { createInstantClock } from 'corral/testing'

test('a writer that is away is asked again, and the test does not wait', async () => {
  const clock = createInstantClock()
  const away = new A2AError('unavailable', 'Back in a minute')
  const writer = scripted([{ fails: away }, 'Once upon a time'])
  const team = defineTeam({
    id: 'writers',
    name: 'Writers',
    agents: { writer },
    scheduler: { type: 'workflow', steps: [{ agentId: 'writer', maxRetries: 1 }] },
    clock,
  })
  const run = await runTeam(team, 'A book about bees', { logger: false })
  assert.equal(run.text, 'Once upon a time')
  assert.equal(run.delegations[0]?.reason, 'unavailable')
})
// #endregion clock
