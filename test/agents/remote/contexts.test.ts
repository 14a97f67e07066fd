import { expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../../src/agents/index.ts'
import { A2AAgent } from '../../../src/agents/remote/agent.ts'
import { createServer, listen } from '../../../src/server/index.ts'
import { createMemoryStore } from '../../../src/store/memory/store.ts'
import { defineTeam } from '../../../src/team/index.ts'

test('a conversation keeps its context at the remote agent across a restart', async () => {
  const contexts: string[] = []
  const far = defineAgent({ name: 'far' }, (_message, turn) => {
    contexts.push(turn.contextId)
    return 'there'
  })
  const farServer = await createServer({ agents: [far] })
  const { url, close } = await listen(farServer, { port: 0, host: '127.0.0.1' })
  onTestFinished(close)
  const store = createMemoryStore()

  /** Another process each time: nothing of it but the store is kept. */
  async function ask(contextId: string): Promise<void> {
    const options = {
      timeoutSeconds: 20,
      maxRetries: 0,
      taskHandling: 'PollUntilComplete',
    } as const
    const remote = new A2AAgent({ endpoint: url, id: 'remote', ...options })
    const scheduler = { type: 'workflow', steps: [{ agentId: 'remote' }] } as const
    const team = defineTeam({ id: 'team', name: 'Team', agents: { remote }, scheduler })
    const server = await createServer({ agents: [team], store })
    const message = {
      messageId: 'm',
      contextId,
      role: 'ROLE_USER',
      parts: [{ text: 'hi' }],
    } as const
    await server.dispatch()('SendMessage', { message }, {})
    await server.close()
    await remote.close()
  }

  for (const contextId of ['ours', 'ours', 'another', 'ours']) await ask(contextId)
  const [first, second, another, third] = contexts
  expect([second, third]).toEqual([first, first])
  expect(another).not.toBe(first)
})
