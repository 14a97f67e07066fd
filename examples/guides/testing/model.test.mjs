import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OpenAIAgent } from 'corral/agents'
import { defineTeam } from 'corral/team'
import { openModelServer, runTeam } from 'corral/testing'

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
  assert.equal(model.requests.length, 2)
})
