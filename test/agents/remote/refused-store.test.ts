import { expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../../src/agents/index.ts'
import { A2AAgent } from '../../../src/agents/remote/agent.ts'
import { createServer, listen } from '../../../src/server/index.ts'
import { createDeferred } from '../../../src/shared/async.ts'
import { createMemoryStore } from '../../../src/store/memory/store.ts'
import type { Store } from '../../../src/store/store.ts'

test('a store that refuses for a moment does not begin a second remote task', async () => {
  const go = createDeferred<void>()
  const far = defineAgent({ name: 'far' }, async function* () {
    yield 'one '
    await go.promise
    yield 'two'
  })
  const farServer = await createServer({ agents: [far] })
  const { url, close } = await listen(farServer, { port: 0, host: '127.0.0.1' })
  onTestFinished(close)
  const inner = createMemoryStore()
  let isFull = false
  let refused = 0
  const store: Store = {
    ...inner,
    async commit(writes) {
      if (!isFull) return inner.commit(writes)
      refused++
      throw new Error('the disk is full')
    },
    health: () => ({ writable: !isFull }),
  }
  const options = { timeoutSeconds: 20, maxRetries: 0, taskHandling: 'PollUntilComplete' } as const
  const remote = new A2AAgent({ endpoint: url, id: 'remote', ...options })
  const server = await createServer({ agents: [remote], store, logger: false })
  onTestFinished(async () => {
    await server.close()
    await remote.close()
  })
  const dispatch = server.dispatch()
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } as const
  const configuration = { returnImmediately: true }
  const sent = await dispatch('SendMessage', { message, configuration }, {})
  if (!('task' in sent)) throw new Error('a task was expected')
  const { id } = sent.task
  await expect
    .poll(async () => JSON.stringify(await dispatch('GetTask', { id }, {})))
    .toContain('one ')
  isFull = true
  go.resolve()
  await expect.poll(() => refused).toBeGreaterThan(0)
  isFull = false
  const state = async () => (await dispatch('GetTask', { id }, {})).status.state
  await expect.poll(state).toBe('TASK_STATE_COMPLETED')
  const { tasks } = await farServer.dispatch()('ListTasks', {}, {})
  expect(tasks).toHaveLength(1)
})
