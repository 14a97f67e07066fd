import { expect, onTestFinished, test } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { createServer } from '../../src/server/server.ts'
import { createDeferred } from '../../src/shared/async.ts'

const get = {
  method: 'GET',
  path: '/.well-known/agent-card.json',
  query: '',
  headers: {},
  body: '',
}

test('an agent that is replaced while it says who it is does not come back in the card', async () => {
  const gate = createDeferred<void>()
  const asked = createDeferred<void>()
  let calls = 0
  const old = defineAgent({ id: 'a', name: 'Old' }, () => 'x')
  const slow: Agent = {
    ...old,
    async info() {
      if (calls++ > 0) {
        asked.resolve()
        await gate.promise
      }
      return old.info()
    },
  }
  const server = await createServer({ agents: [slow] })
  onTestFinished(() => server.close())
  const first = server.handle(get)
  await asked.promise
  await server.setAgents([defineAgent({ id: 'a', name: 'New' }, () => 'x')])
  gate.resolve()
  await first
  const { body } = await server.handle(get)
  expect(JSON.parse(String(body)).name).toBe('New')
})
