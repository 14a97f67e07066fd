import { afterEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/function.ts'
import { A2AAgent } from '../../../src/agents/remote/agent.ts'
import { idempotencyExtension } from '../../../src/protocol/extensions.ts'
import { answerParts, isTerminal, textOf, userMessage } from '../../../src/protocol/task.ts'
import { createServer, listen, type Server } from '../../../src/server/index.ts'
import { createDeferred } from '../../../src/shared/async.ts'
import { createMemoryStore } from '../../../src/store/memory/store.ts'
import type { Store, Write } from '../../../src/store/store.ts'
import { defineTeam } from '../../../src/team/team.ts'
import { doneTask, Raw, serveAgent } from '../../client/agent.ts'
import { type FaultyOptions, faulty } from '../../fixtures/faulty-store.ts'
import { createTurn, runTurn } from '../../fixtures/turn.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A server of ours that passes everything on, as one process of several that share a store. */
async function front(endpoint: string, store: Store, team = false): Promise<Server> {
  const agent = new A2AAgent({
    id: 'near',
    name: 'Near',
    endpoint,
    timeoutSeconds: 10,
    maxRetries: 0,
    taskHandling: 'PollUntilComplete',
  })
  const steps = [{ agentId: 'near' }] as const
  const near = team
    ? defineTeam({
        id: 't',
        name: 't',
        agents: { near: agent },
        scheduler: { type: 'workflow', steps },
      })
    : agent
  const server = await createServer({ agents: [near], store, timeouts: { shutdownMs: 0 } })
  closing.push(async () => {
    // One whose process has died waits for its store for ever.
    if (store.health().writable) await server.close()
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

/** Whether a commit ends a task as cancelled. */
function cancels(writes: readonly Write[]): boolean {
  return JSON.stringify(writes).includes('TASK_STATE_CANCELED')
}

test.each([
  ['a remote agent', false],
  ['a team', true],
])(
  '%s that is cancelled before the remote has named its task, and dies, cancels it all the same',
  async (_name, team) => {
    const asked = createDeferred<void>()
    const release = createDeferred<void>()
    const far = defineAgent({ name: 'Far' }, (_message, turn) => {
      const { promise, reject } = createDeferred<string>()
      turn.signal.addEventListener('abort', () => reject(turn.signal.reason))
      return promise
    })
    // The remote takes the message, and is slow to say so.
    const slow = faulty(createMemoryStore(), {
      async delay() {
        asked.resolve()
        await release.promise
      },
    })
    const farServer = await createServer({
      agents: [far],
      store: slow,
      timeouts: { shutdownMs: 0 },
    })
    const listening = await listen(farServer, { port: 0, host: '127.0.0.1' })
    closing.push(listening.close)

    const store = createMemoryStore()
    const dies: FaultyOptions = {
      fault: (_k, writes) => (cancels(writes) ? 'dieAfter' : undefined),
    }
    const first = await front(listening.url, faulty(store, dies), team)
    const message = userMessage('go')
    const configuration = { returnImmediately: true }
    const sent = await first.dispatch()('SendMessage', { message, configuration }, {})
    if (!('task' in sent)) throw new Error('There is no task')
    const { id } = sent.task
    await asked.promise
    void first.dispatch()('CancelTask', { id }, {})
    await expect.poll(async () => (await store.get(id))?.head.state).toBe('TASK_STATE_CANCELED')

    const second = await front(listening.url, store, team)
    await second.recover()
    release.resolve()
    await expect.poll(async () => (await store.get(id))?.head.busy).toBe(false)
    const { tasks } = await farServer.dispatch()('ListTasks', {}, {})
    expect(tasks.map(({ status }) => status.state)).toEqual(['TASK_STATE_CANCELED'])
  },
)

test('a message that is sent again after a crash is the same, whatever was learned of the remote meanwhile', async () => {
  const sent = createDeferred<void>()
  const capabilities = { extensions: [{ uri: idempotencyExtension }] }
  const far = await serveAgent(
    {
      SendMessage() {
        sent.resolve()
        // The first process never hears of its task.
        return far.calls.length === 1 ? new Raw(() => {}) : { task: doneTask }
      },
    },
    { capabilities },
  )
  const options = { id: 'near', name: 'Near', endpoint: far.url, maxRetries: 0 }
  const [dead, next] = [new A2AAgent(options), new A2AAgent(options)]
  closing.push(
    () => dead.close(),
    () => next.close(),
  )
  const before = createTurn('go')
  void runTurn(dead, before).catch(() => {})
  await sent.promise
  // Another call of the same conversation was answered, in the remote's context.
  const values = new Map([[`corral:a2a:near ${far.url}`, 'c-far']])
  await runTurn(next, createTurn(before.message, { saved: before.saved, values }))
  const [first, second] = far.calls
  expect(second?.params).toEqual(first?.params)
  expect(second?.headers['idempotency-key']).toBe(first?.headers['idempotency-key'])
})
