import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Turn } from '../../src/agents/agent.ts'
import { A2AServer, type RunningServer } from '../../src/compat/a2a-server.ts'
import { fromMessageHandler, type MessageHandler } from '../../src/compat/message-handler.ts'
import type { Message, Task } from '../../src/protocol/types.ts'
import { createServer } from '../../src/server/server.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { InMemoryTaskStore, type TaskStore } from '../../src/store/task-store.ts'
import { rpc } from '../acceptance/serve.ts'
import { act, eventsOf, told, v03, v10 } from '../acceptance/wires.ts'
import { teamOf } from '../team/scene.ts'

/** A handler that begins its work and returns; somebody else finishes it. */
class LaterHandler implements MessageHandler {
  readonly begun: { task: Task; store: TaskStore | undefined }[] = []
  readonly cancelled: string[] = []

  async handleMessage(message: Message, _auth: unknown, turn: Turn): Promise<{ task: Task }> {
    const task: Task = {
      id: turn.taskId,
      contextId: turn.contextId,
      status: { state: 'TASK_STATE_WORKING' },
      metadata: { asked: message.messageId },
    }
    this.begun.push({ task, store: turn.taskStore })
    return { task }
  }

  agentCard(): { name: string } {
    return { name: 'Later' }
  }

  supportsStreaming(): boolean {
    return true
  }

  cancelTask(id: string): void {
    this.cancelled.push(id)
  }

  /** What the backend does when it is done. */
  async finish(text = 'Findings'): Promise<Task | undefined> {
    const { task, store } = this.begun.at(-1) ?? {}
    const artifacts = [{ artifactId: 'a', parts: [{ text }] }]
    return task && store?.update({ ...task, status: { state: 'TASK_STATE_COMPLETED' }, artifacts })
  }
}

async function run(
  handler: MessageHandler,
  store: Store | TaskStore,
  options: { pushNotifications?: boolean } = {},
): Promise<RunningServer> {
  const running = await new A2AServer(handler)
    .bind('127.0.0.1:0')
    .taskStore(store)
    .configure({ logger: false, ...options })
    .run({ signals: false })
  onTestFinished(() => running.shutdown())
  return running
}

const read = async (url: string, id: string) =>
  told(await (await act(url, v10.request('get', { id }))).json())

async function sqliteFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return join(folder, 'tasks.db')
}

const stores: Readonly<Record<string, () => Store | TaskStore | Promise<Store>>> = {
  memory: () => createMemoryStore(),
  custom: () => new InMemoryTaskStore(),
  async sqlite() {
    const store = await openSqliteStore(await sqliteFile())
    onTestFinished(() => store.close())
    return store
  },
}

describe.each(Object.entries(stores))('S002-19: a task that is finished later (%s)', (_, open) => {
  test('is working when the handler returns, and done when its store says so', async () => {
    const handler = new LaterHandler()
    const { url, server } = await run(handler, await open())
    const sent = told(await (await act(url, v03.request('send', { text: 'go' }))).json())
    expect(sent.state).toBe('working')
    const id = sent.id ?? ''
    expect((await server.store.get(id))?.head.busy).toBe(false)
    expect((await read(url, id)).state).toBe('working')
    const updated = await handler.finish()
    expect(updated?.status.state).toBe('TASK_STATE_COMPLETED')
    expect(await read(url, id)).toMatchObject({ state: 'completed', text: 'Findings' })
    const { result } = await (await act(url, v10.request('get', { id }))).json()
    expect(result.history).toHaveLength(1)
    expect(result.metadata).toEqual({ asked: result.history[0].messageId })
  })

  test('is told to those who watch, event by event', async () => {
    const handler = new LaterHandler()
    const { url } = await run(handler, await open())
    const sending = await act(url, v10.request('stream', { text: 'go' }))
    await expect.poll(() => handler.begun.length).toBe(1)
    const id = handler.begun[0]?.task.id ?? ''
    await expect.poll(async () => (await read(url, id)).state).toBe('working')
    const watching = await act(url, v10.request('subscribe', { id }))
    const { store } = handler.begun[0] ?? {}
    const known = await store?.get(id)
    const note = { messageId: 'n', role: 'ROLE_AGENT', parts: [{ text: 'Half way' }] } as const
    const status = { state: 'TASK_STATE_WORKING', message: note } as const
    if (known) await store?.update({ ...known, status })
    await handler.finish()
    for (const stream of [sending, watching]) {
      const events = await eventsOf(stream)
      const said = events.map(({ state, text }) => state ?? text)
      expect(said).toEqual(['working', 'working', 'Findings', 'completed'])
    }
  })

  test('can be cancelled, and takes no update then', async () => {
    const handler = new LaterHandler()
    const { url } = await run(handler, await open())
    const { id = '' } = told(await (await act(url, v10.request('send', { text: 'go' }))).json())
    await act(url, v10.request('cancel', { id }))
    await expect.poll(() => handler.cancelled).toEqual([id])
    await expect(handler.finish()).rejects.toThrow(/is TASK_STATE_CANCELED; it changes no more/)
    expect((await read(url, id)).state).toBe('canceled')
  })

  test('takes a further message meanwhile', async () => {
    const handler = new LaterHandler()
    const { url } = await run(handler, await open())
    const { id = '' } = told(await (await act(url, v10.request('send', { text: 'go' }))).json())
    const more = told(await (await act(url, v10.request('send', { id, text: 'more' }))).json())
    expect(more).toMatchObject({ id, state: 'working' })
    await handler.finish()
    expect(await read(url, id)).toMatchObject({ state: 'completed', text: 'Findings' })
  })
})

describe('S002-19: over a restart', () => {
  test.each(['sqlite', 'custom'])('it is neither run again nor failed (%s)', async (kind) => {
    const file = await sqliteFile()
    const shared = new InMemoryTaskStore()
    const open = async () => (kind === 'custom' ? shared : openSqliteStore(file))
    const first = new LaterHandler()
    const store = await open()
    const before = await run(first, store)
    const sent = told(await (await act(before.url, v10.request('send', { text: 'go' }))).json())
    await before.shutdown()
    if ('close' in store) await store.close()

    const second = new LaterHandler()
    const again = await open()
    const { url, server } = await run(second, again)
    if ('close' in again) onTestFinished(() => again.close())
    const id = sent.id ?? ''
    expect(await read(url, id)).toMatchObject({ id, state: 'working' })
    expect(second.begun).toEqual([])
    expect((await server.store.get(id))?.head.busy).toBe(false)
    // The next message's turn has the store that finishes the first one's task, too.
    await act(url, v10.request('send', { text: 'other' }))
    const { store: face } = second.begun[0] ?? {}
    await face?.update({ id, contextId: 'x', status: { state: 'TASK_STATE_COMPLETED' } })
    expect((await read(url, id)).state).toBe('completed')
  })
})

test('S002-19: a webhook hears of the update', async () => {
  const handler = new LaterHandler()
  const delivered: string[] = []
  const running = await new A2AServer(handler)
    .bind('127.0.0.1:0')
    .configure({
      logger: false,
      pushNotifications: { guard: { allow: ['127.0.0.1', 'localhost'], allowHttp: true } },
    })
    .additionalRoutes((request) => {
      if (request.path !== '/hook') return undefined
      delivered.push(request.body)
      return { status: 200, headers: {} }
    })
    .run({ signals: false })
  onTestFinished(() => running.shutdown())
  const hook = `http://127.0.0.1:${running.port}/hook`
  const { result, error } = await rpc(`${running.url}/v1/rpc`, {
    method: 'message/send',
    params: {
      message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] },
      configuration: { taskPushNotificationConfig: { url: hook } },
    },
  })
  expect(error).toBeUndefined()
  expect(result.task.status.state).toBe('TASK_STATE_WORKING')
  await handler.finish()
  await expect.poll(() => delivered.join()).toContain('TASK_STATE_COMPLETED')
})

test('S002-19: routes have the same face, and a store of one’s own is read again', async () => {
  const handler = new LaterHandler()
  const own = new InMemoryTaskStore()
  const running = await new A2AServer(handler)
    .bind('127.0.0.1:0')
    .taskStore(own)
    .additionalRoutes(async (request, state) => {
      if (request.path !== '/done') return undefined
      const tasks = state.taskStore()
      const [task] = await tasks.list({ status: 'TASK_STATE_WORKING' })
      if (task) await tasks.update({ ...task, status: { state: 'TASK_STATE_COMPLETED' } })
      return { status: 200, headers: {} }
    })
    .run({ signals: false })
  onTestFinished(() => running.shutdown())
  const { url } = running
  const stream = await act(url, v10.request('stream', { text: 'go' }))
  await expect.poll(() => own.list()).toHaveLength(1)
  await fetch(`${url}/done`)
  expect((await eventsOf(stream)).at(-1)?.state).toBe('completed')

  const { id = '' } = told(await (await act(url, v10.request('send', { text: 'go' }))).json())
  const task = await own.get(id)
  if (task) await own.update({ ...task, status: { state: 'TASK_STATE_COMPLETED' } })
  expect((await read(url, id)).state).toBe('completed')
})

test('S002-19: a member of a team cannot leave the team’s task', async () => {
  const handler = new LaterHandler()
  const team = teamOf({ later: fromMessageHandler(handler) })
  const server = await createServer({ agents: [team], logger: false })
  onTestFinished(() => server.close())
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] } as const
  const answer = await server.dispatch()('SendMessage', { message }, {})
  expect('task' in answer && answer.task.status.state).toBe('TASK_STATE_FAILED')
  expect(handler.begun[0]?.store).toBeUndefined()
})
