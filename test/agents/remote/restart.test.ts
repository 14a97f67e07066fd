import { afterEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/function.ts'
import { A2AAgent } from '../../../src/agents/remote/agent.ts'
import { userMessage } from '../../../src/protocol/build.ts'
import { answerParts, isTerminal, textOf } from '../../../src/protocol/task.ts'
import { createServer, listen, type Server } from '../../../src/server/index.ts'
import { createDeferred } from '../../../src/shared/async.ts'
import { createMemoryStore } from '../../../src/store/memory.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A server of ours that passes everything on, as one process of several that share a store. */
async function front(
  endpoint: string,
  store: ReturnType<typeof createMemoryStore>,
): Promise<Server> {
  const agent = new A2AAgent({
    id: 'near',
    name: 'Near',
    endpoint,
    timeoutSeconds: 10,
    maxRetries: 0,
    taskHandling: 'PollUntilComplete',
  })
  const server = await createServer({ agents: [agent], store, timeouts: { shutdownMs: 0 } })
  closing.push(async () => {
    await server.close()
    await agent.close()
  })
  return server
}

test('a server that is stopped leaves the remote at work, and the next one takes its task up', async () => {
  const begun = createDeferred<void>()
  const release = createDeferred<void>()
  const turns: string[] = []
  const far = defineAgent({ name: 'Far' }, async function* (message) {
    turns.push(textOf(message.parts))
    yield 'half '
    begun.resolve()
    await release.promise
    yield 'whole'
  })
  const farServer = await createServer({ agents: [far], timeouts: { shutdownMs: 0 } })
  const listening = await listen(farServer, { port: 0, host: '127.0.0.1' })
  closing.push(listening.close)
  const store = createMemoryStore()

  const first = await front(listening.url, store)
  const stream = await first.dispatch()('SendStreamingMessage', { message: userMessage('go') }, {})
  let id = ''
  reading: for await (const batch of stream)
    for (const { event } of batch) {
      if ('task' in event) id = event.task.id
      if ('artifactUpdate' in event) break reading
    }
  await begun.promise
  await first.close()

  const second = await front(listening.url, store)
  expect(await second.recover()).toMatchObject({ resumed: 1 })
  release.resolve()
  const rest = await second.dispatch()('SubscribeToTask', { id }, {})
  for await (const batch of rest)
    if (
      batch.some(
        ({ event }) => 'statusUpdate' in event && isTerminal(event.statusUpdate.status.state),
      )
    )
      break
  const task = await second.dispatch()('GetTask', { id }, {})
  expect(task.status.state).toBe('TASK_STATE_COMPLETED')
  expect(textOf(answerParts(task))).toBe('half whole')
  expect(turns).toEqual(['go'])
})
