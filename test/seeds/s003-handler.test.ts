import { describe, expect, onTestFinished, test } from 'vitest'
import { createEchoAgent } from '../../src/agents/function.ts'
import { A2AClient } from '../../src/client/index.ts'
import {
  A2AFastAPIApplication,
  A2AServer,
  AgentCapabilities,
  AgentCard,
  AgentProvider,
  AgentSkill,
  EchoHandler,
  fromRequestHandler,
  InMemoryTaskStore,
  type Message,
  newMessage,
  RequestHandler,
  type SendMessageRequest,
  type ServerCallContext,
  type Task,
  type TaskFilter,
  TaskNotCancelableError,
  TaskNotFoundError,
  TaskState,
  TaskStore,
  WorkshopRequestHandler,
} from '../../src/compat/index.ts'
import { isTerminal, textOf } from '../../src/protocol/task.ts'
import type { ListTasksRequest, ListTasksResponse } from '../../src/protocol/types.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { createFakeClock, type FakeClock } from '../../src/testing/index.ts'
import { get, rpc, type Served, serve } from '../acceptance/serve.ts'
import { act, eventsOf, rest, told, v03, v10, wires } from '../acceptance/wires.ts'
import { connect, serve as serveTeam, teamOf } from '../team/scene.ts'

/** A store of one's own, as a user extends it: what is not there is null. */
class MapStore extends TaskStore {
  readonly kept = new Map<string, Task>()

  async create(task: Task): Promise<Task> {
    this.kept.set(task.id, structuredClone(task))
    return task
  }
  async get(id: string): Promise<Task | null> {
    return structuredClone(this.kept.get(id)) ?? null
  }
  async update(task: Task): Promise<Task> {
    this.kept.set(task.id, structuredClone(task))
    return task
  }
  async delete(id: string): Promise<boolean> {
    return this.kept.delete(id)
  }
  async list(filter?: { contextId?: string }): Promise<Task[]> {
    const all = [...this.kept.values()]
    return all.filter(({ contextId }) => !filter?.contextId || contextId === filter.contextId)
  }
}

/** A handler of one's own, as a user extends it: it keeps its tasks in a store and says whose they are. */
class OwnHandler extends RequestHandler {
  readonly seen: string[] = []
  readonly store: MapStore

  constructor(store = new MapStore()) {
    super()
    this.store = store
  }

  async onMessageSend({ message }: SendMessageRequest, context: ServerCallContext): Promise<Task> {
    this.seen.push(`send ${context.auth.userId}`)
    const known =
      message.taskId === undefined ? undefined : await this.#find(message.taskId, context)
    if (message.taskId !== undefined && !known) throw new TaskNotFoundError()
    const id = known?.id ?? `own-${this.store.kept.size}`
    const text = textOf(message.parts)
    const state = text === 'ask' ? TaskState.inputRequired : TaskState.working
    return this.put(id, known ? TaskState.completed : state, {
      text,
      owner: context.auth.userId,
    })
  }

  async onGetTask({ id }: { id: string }, context: ServerCallContext): Promise<Task | null> {
    this.seen.push(`get ${context.auth.userId}`)
    return this.#find(id, context)
  }

  async onCancelTask({ id }: { id: string }, context: ServerCallContext): Promise<Task> {
    const task = await this.#find(id, context)
    if (!task) throw new TaskNotFoundError()
    if (isTerminal(task.status.state)) throw new TaskNotCancelableError()
    return this.put(id, TaskState.cancelled)
  }

  put(id: string, state: TaskState, more: { text?: string; owner?: string } = {}): Promise<Task> {
    const before = this.store.kept.get(id)
    const { text, owner = before?.metadata?.owner ?? '' } = more
    const artifacts = text ? [{ artifactId: 'a', parts: [{ text }] }] : before?.artifacts
    const task = { id, contextId: 'own', status: { state }, metadata: { owner } }
    return this.store.update(artifacts ? { ...task, artifacts } : task)
  }

  async #find(id: string, { auth }: ServerCallContext): Promise<Task | null> {
    const task = await this.store.get(id)
    return task?.metadata?.owner === auth.userId ? task : null
  }
}

class ListingHandler extends OwnHandler {
  override async onListTasks(request: ListTasksRequest): Promise<ListTasksResponse> {
    const tasks = await this.store.list(request)
    return { tasks, nextPageToken: '', pageSize: tasks.length, totalSize: tasks.length }
  }
}

class StreamingHandler extends OwnHandler {
  override async *onMessageSendStream(request: SendMessageRequest, context: ServerCallContext) {
    const task = await this.onMessageSend(request, context)
    yield task
    yield* this.onResubscribe(task)
  }
  override async *onResubscribe({ id }: { id: string }) {
    const ids = { taskId: id, contextId: 'own' }
    yield { artifactUpdate: { ...ids, artifact: { artifactId: 'b', parts: [{ text: 'live' }] } } }
    yield { statusUpdate: { ...ids, status: { state: TaskState.completed } } }
    yield { statusUpdate: { ...ids, status: { state: TaskState.working } } }
  }
}

const served = (handler: RequestHandler, clock?: FakeClock): Promise<Served> =>
  serve(fromRequestHandler(handler, { name: 'Own', ...(clock && { clock }) }))

async function run(handler: RequestHandler) {
  const running = await new A2AServer(handler)
    .bind('127.0.0.1:0')
    .authExtractor(({ 'x-user': userId }) => (userId ? { userId } : undefined), { required: false })
    .configure({ logger: false, pushNotifications: true })
    .run({ signals: false })
  onTestFinished(() => running.shutdown())
  return running
}

async function storedIn({ store }: Served['server']): Promise<number> {
  const scopes = ['own', 'a2a-agent'].map((agent) => ({ agent, tenant: '', owner: '' }))
  const pages = await Promise.all(scopes.map((scope) => store.list({ scope, limit: 10 })))
  return pages.reduce((sum, { total }) => sum + total, 0)
}

const card = AgentCard({
  name: 'Research Agent',
  description: 'Researches topics and provides summaries',
  url: 'http://research.example',
  version: '1.2.0',
  capabilities: AgentCapabilities({
    streaming: false,
    pushNotifications: false,
    stateManagement: true,
  }),
  skills: [AgentSkill({ id: 'research_topic', name: 'Research Topic', description: 'Researches' })],
  provider: AgentProvider({ name: 'Workshop Demo' }),
})
const shownCard = {
  name: 'Research Agent',
  description: 'Researches topics and provides summaries',
  version: '1.2.0',
  capabilities: { streaming: false, pushNotifications: false, stateManagement: true },
  skills: [{ id: 'research_topic' }],
  provider: { organization: 'Workshop Demo' },
}

describe('S003-24, S003-32: a request handler is served with its card', () => {
  test('by A2AServer', async () => {
    const handler = new WorkshopRequestHandler({ run: () => 'Findings' }, new MapStore())
    const running = await new A2AServer(handler, card).bind('127.0.0.1:0').run({ signals: false })
    onTestFinished(() => running.shutdown())
    const { json } = await get(`${running.url}/.well-known/agent-card.json`)
    expect(json).toMatchObject({ ...shownCard, url: `${running.url}/` })
    const sent = told(await (await act(running.url, v03.request('send', { text: 'go' }))).json())
    expect(sent.text).toContain('Findings')
  })

  test('by A2AFastAPIApplication', async () => {
    const handler = new OwnHandler()
    const app = A2AFastAPIApplication({ agentCard: card, httpHandler: handler }).build()
    onTestFinished(() => app.close())
    const page = await app.fetch(new Request('http://any/.well-known/agent-card.json'))
    expect(await page.json()).toMatchObject({ ...shownCard, url: 'http://research.example/' })
    const { port } = await app.listen(0, '127.0.0.1')
    const url = `http://127.0.0.1:${port}`
    const sent = told(await (await act(url, v03.request('send', { text: 'go' }))).json())
    expect(sent).toMatchObject({ id: 'own-0', state: 'working' })
  })

  test('an agent and a function with theirs, whatever class they are of', async () => {
    for (const backend of [createEchoAgent(), () => 'Findings', new EchoHandler()]) {
      const running = await new A2AServer(backend, card).bind('127.0.0.1:0').run({ signals: false })
      onTestFinished(() => running.shutdown())
      const { json } = await get(`${running.url}/.well-known/agent-card.json`)
      expect(json).toMatchObject(shownCard)
      const sent = told(await (await act(running.url, v03.request('send', { text: 'go' }))).json())
      expect(sent.state).toBe('completed')
    }
  })
})

test('S003-42: a filter with an unknown name is an error, not all tasks', async () => {
  const { server } = await serve(createEchoAgent())
  for (const tasks of [new InMemoryTaskStore(), server.taskStore()]) {
    const list = async (filter: object) => tasks.list(filter as TaskFilter)
    await expect(list({ context_id: 'c' })).rejects.toThrow('did you mean contextId?')
    await expect(list({ state: 'completed' })).rejects.toThrow('did you mean status?')
    await expect(list({ limit: '5' })).rejects.toThrow('limit must be a number')
    expect(await tasks.list(null)).toEqual([])
  }
})

describe('S003-33, S003-35: a request handler that is served is the handler', () => {
  test.each(wires)('the id is its own, and it answers for its tasks ($name)', async (wire) => {
    const handler = new OwnHandler()
    const { url, server } = await served(handler)
    const sent = told(await (await act(url, wire.request('send', { text: 'go' }))).json())
    expect(sent).toMatchObject({ id: 'own-0', state: 'working' })
    await handler.put('own-0', TaskState.completed, { text: 'Findings' })
    const read = told(await (await act(url, wire.request('get', { id: 'own-0' }))).json())
    expect(read).toMatchObject({ id: 'own-0', state: 'completed' })
    expect(read.text).toContain('Findings')
    await handler.put('own-1', TaskState.working)
    await act(url, wire.request('cancel', { id: 'own-1' }))
    expect(handler.store.kept.get('own-1')?.status.state).toBe(TaskState.cancelled)
    expect(await storedIn(server)).toBe(0)
  })

  test('a RANCH client finds a task whose own id begins as RANCH writes ids', async () => {
    const handler = new OwnHandler()
    await handler.put('task-abc123', TaskState.completed, { text: 'Findings' })
    const { url } = await served(handler)
    const { result } = await rpc(`${url}/rpc`, {
      method: 'task/get',
      params: { task_id: 'task-abc123' },
    })
    expect(JSON.stringify(result)).toContain('Findings')
  })

  test('its tasks are there after a restart, and those that its store held before', async () => {
    const store = new MapStore()
    await new OwnHandler(store).put('old', TaskState.completed, { text: 'from before' })
    const first = await run(new OwnHandler(store))
    const sent = told(await (await act(first.url, v03.request('send', { text: 'go' }))).json())
    await first.shutdown()
    const second = await run(new OwnHandler(store))
    for (const id of ['old', sent.id ?? '']) {
      const read = told(await (await act(second.url, v10.request('get', { id }))).json())
      expect(read.id).toBe(id)
    }
    const gone = await act(second.url, v10.request('cancel', { id: sent.id ?? '' }))
    expect(told(await gone.json()).state).toBe('canceled')
    expect(store.kept.size).toBe(2)
  })

  test('what it does not know is not there, and what has ended cannot be cancelled', async () => {
    const handler = new OwnHandler()
    await handler.put('done', TaskState.completed)
    const { url } = await served(handler)
    const nobody = await act(url, v10.request('get', { id: 'nobody' }))
    expect((await nobody.json()).error.code).toBe(-32001)
    const done = await act(url, v10.request('cancel', { id: 'done' }))
    expect((await done.json()).error.code).toBe(-32002)
    const more = await act(url, rest.request('stream', { id: 'nobody', text: 'go' }))
    expect(more.status).toBe(404)
  })

  test('it learns who calls, and answers for whose tasks they are', async () => {
    const handler = new OwnHandler()
    const { url } = await run(handler)
    const ann = { 'x-user': 'ann' }
    const sent = told(await (await act(url, v10.request('send', { text: 'go' }), ann)).json())
    const id = sent.id ?? ''
    expect(told(await (await act(url, v10.request('get', { id }), ann)).json()).id).toBe(id)
    const stranger = await act(url, v10.request('get', { id }), { 'x-user': 'bob' })
    expect((await stranger.json()).error.code).toBe(-32001)
    expect(handler.seen).toEqual(['send ann', 'get ann', 'get bob'])
  })

  test('it lists where it has lists', async () => {
    const plain = await served(new OwnHandler())
    const refused = await act(plain.url, v10.request('list', {}))
    expect((await refused.json()).error.code).toBe(-32004)
    const handler = new ListingHandler()
    await handler.put('old', TaskState.completed)
    const { url } = await served(handler)
    const { result } = await (await act(url, v10.request('list', {}))).json()
    expect(result).toMatchObject({ tasks: [{ id: 'old' }], totalSize: 1 })
  })

  test('its tasks have no webhooks', async () => {
    const handler = new OwnHandler()
    await handler.put('old', TaskState.working)
    const { url } = await run(handler)
    const { json: card } = await get(`${url}/.well-known/agent-card.json`)
    expect(card.capabilities.pushNotifications).toBe(false)
    expect(card.capabilities.extensions ?? []).toEqual([])
    const set = await act(url, v10.request('setPush', { id: 'old' }))
    expect((await set.json()).error.code).toBe(-32003)
    const params = {
      message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] },
      configuration: { taskPushNotificationConfig: { url: 'https://hooks.example.com' } },
    }
    const sent = await rpc(`${url}/v1/rpc`, { method: 'message/send', params })
    expect(sent.error.code).toBe(-32003)
    expect(handler.seen).toEqual([])
  })
})

describe('S003-34: the streams of a request handler', () => {
  test('are its own where it has them, and end with the task', async () => {
    const handler = new StreamingHandler()
    const { url } = await served(handler)
    const events = await eventsOf(await act(url, v10.request('stream', { text: 'go' })))
    expect(events.map(({ state, text }) => state ?? text)).toEqual(['working', 'live', 'completed'])
    expect(events.every(({ id }) => id === 'own-0')).toBe(true)
    const again = await eventsOf(await act(url, v03.request('subscribe', { id: 'own-0' })))
    expect(again.at(-1)).toMatchObject({ id: 'own-0', state: 'completed' })
  })

  test.each(['stream', 'subscribe'] as const)('are made of its answers else (%s)', async (how) => {
    const handler = new OwnHandler()
    const clock = createFakeClock()
    const { url } = await served(handler, clock)
    if (how === 'subscribe') await handler.put('own-0', TaskState.working)
    const given = how === 'stream' ? { text: 'go' } : { id: 'own-0' }
    const response = await act(url, v10.request(how, given))
    await expect.poll(() => clock.pending().length).toBe(1)
    await handler.put('own-0', TaskState.completed, { text: 'Findings' })
    clock.advance(1_000)
    const events = await eventsOf(response)
    expect(events[0]).toMatchObject({ id: 'own-0', state: 'working' })
    expect(events.map(({ text }) => text).join('')).toContain('Findings')
    expect(events.at(-1)).toMatchObject({ id: 'own-0', state: 'completed' })
  })

  test('a subscription outlasts a question, a send does not', async () => {
    const handler = new OwnHandler()
    const clock = createFakeClock()
    const { url } = await served(handler, clock)
    const asked = await eventsOf(await act(url, v10.request('stream', { text: 'ask' })))
    expect(asked.at(-1)).toMatchObject({ id: 'own-0', state: 'input-required' })
    const watching = await act(url, v10.request('subscribe', { id: 'own-0' }))
    await expect.poll(() => clock.pending().length).toBe(1)
    await act(url, v10.request('send', { id: 'own-0', text: 'bees' }))
    clock.advance(1_000)
    expect((await eventsOf(watching)).at(-1)?.state).toBe('completed')
    const over = await act(url, v10.request('subscribe', { id: 'own-0' }))
    expect((await over.json()).error.code).toBe(-32004)
  })

  test('end when the server closes, and when the caller leaves', async () => {
    const handler = new OwnHandler()
    const clock = createFakeClock()
    const first = await served(handler, clock)
    const response = await act(first.url, v10.request('stream', { text: 'go' }))
    await expect.poll(() => clock.pending().length).toBe(1)
    await response.body?.cancel()
    await expect.poll(() => clock.pending().length).toBe(0)
    const second = await act(first.url, v10.request('stream', { text: 'go' }))
    await expect.poll(() => clock.pending().length).toBe(1)
    await first.close()
    expect((await eventsOf(second)).at(-1)?.state).toBe('working')
  })

  test('a request that is being answered when the server closes is answered', async () => {
    const begun = createDeferred<void>()
    const answer = createDeferred<Message>()
    const { url, close } = await served({
      onMessageSend() {
        begun.resolve()
        return answer.promise
      },
      onGetTask: async () => null,
      onCancelTask: async () => null,
    })
    const sent = act(url, v10.request('send', { text: 'go' }))
    await begun.promise
    const closed = close()
    answer.resolve(newMessage('ROLE_AGENT', 'hello'))
    expect(told(await (await sent).json()).text).toBe('hello')
    await closed
  })

  test('our client follows them', async () => {
    const { url } = await served(new StreamingHandler())
    const client = new A2AClient(url)
    onTestFinished(() => client.close())
    const ids: (string | undefined)[] = []
    for await (const event of client.sendMessageStream('go'))
      ids.push(
        'task' in event
          ? event.task.id
          : 'statusUpdate' in event
            ? event.statusUpdate.taskId
            : undefined,
      )
    expect(ids).toEqual(['own-0', undefined, 'own-0'])
  })
})

describe('what a request handler does wrong', () => {
  const refusing = (answer: () => Promise<Task | Message>): RequestHandler => ({
    onMessageSend: answer,
    onGetTask: async () => undefined,
    onCancelTask: async () => null,
  })

  test('an error of its own stays inside, and is logged', async () => {
    const logged: string[] = []
    const keep = (...said: unknown[]): void => void logged.push(String(said[1]))
    const logger = { debug: keep, info: keep, warn: keep, error: keep }
    const handler = refusing(() => Promise.reject(new Error('password in /etc/secret')))
    const { url } = await serve({ agents: [fromRequestHandler(handler)], logger })
    for (const how of ['send', 'stream'] as const) {
      const answer = await (await act(url, v10.request(how, { text: 'go' }))).json()
      expect(answer.error).toMatchObject({ code: -32603, message: 'Internal error' })
      expect(JSON.stringify(answer)).not.toContain('secret')
    }
    expect(logged).toEqual(['The agent failed', 'The agent failed'])
  })

  test('an answer that is neither task nor message is no answer', async () => {
    const handler = refusing(async () => ({ id: 'x', status: {} }) as unknown as Task)
    const { url } = await served(handler)
    const answer = await (await act(url, v10.request('send', { text: 'go' }))).json()
    expect(answer.error.code).toBe(-32006)
  })

  test('null is not there', async () => {
    const { url } = await served(refusing(async () => newMessage('ROLE_AGENT', 'hello')))
    for (const how of ['get', 'cancel'] as const) {
      const answer = await (await act(url, v10.request(how, { id: 'x' }))).json()
      expect(answer.error.code).toBe(-32001)
    }
  })
})

test('S003-33: as a member of a team it answers in the team’s task', async () => {
  const handler = new StreamingHandler()
  const url = await serveTeam(teamOf({ own: fromRequestHandler(handler, { name: 'Own' }) }))
  const answer = await connect(url).sendMessage('go')
  expect(JSON.stringify(answer)).toContain('live')
  expect('task' in answer && answer.task.id).not.toBe('own-0')
})

describe('S003-32: WorkshopRequestHandler', () => {
  const context: ServerCallContext = { auth: { userId: '' } }
  const request = (text: string) => ({ message: newMessage('ROLE_USER', text) })

  class Polite extends WorkshopRequestHandler {
    override async onMessageSend(
      { message, ...rest }: SendMessageRequest,
      within: ServerCallContext,
    ): Promise<Task | Message> {
      const polite = { ...message, parts: [{ text: `Please: ${textOf(message.parts)}` }] }
      const answer = await super.onMessageSend({ ...rest, message: polite }, within)
      // What JavaScript lets one do: the answer is the subclass's own.
      return Object.assign(answer, { metadata: { by: this.constructor.name } })
    }
  }

  test('a subclass overrides a method, with its agent and its store at hand', async () => {
    const store = new MapStore()
    const handler = new Polite({ run: async (text) => `About ${text}` }, store)
    expect(handler.taskStore).toBe(store)
    expect(await handler.agent.run('x')).toBe('About x')
    const { url } = await run(handler)
    const sent = await (await act(url, v10.request('send', { text: 'bees' }))).json()
    const { task } = sent.result
    expect(task.artifacts[0].parts).toEqual([{ text: 'About Please: bees' }])
    expect(task.metadata).toEqual({ by: 'Polite' })
    expect([...store.kept.keys()]).toEqual([task.id])
    const read = await (await act(url, v03.request('get', { id: task.id }))).json()
    expect(read.result.metadata).toBeUndefined()
    const listed = await (await act(url, v10.request('list', {}))).json()
    expect(listed.result.tasks).toMatchObject([{ id: task.id }])
  })

  test('its tasks are there after a restart', async () => {
    const store = new MapStore()
    const agent = { run: async (text: string) => `About ${text}` }
    const first = await new WorkshopRequestHandler(agent, store).onMessageSend(
      request('x'),
      context,
    )
    if (!('status' in first)) throw new Error('Expected a task')
    const { url } = await run(new WorkshopRequestHandler(agent, store))
    const read = told(await (await act(url, v03.request('get', { id: first.id }))).json())
    expect(read).toMatchObject({ id: first.id, state: 'completed', text: 'About x' })
    expect(store.kept.size).toBe(1)
  })

  test('a store of ours lists all without a filter, and with none', async () => {
    const store = new InMemoryTaskStore()
    expect(store).toBeInstanceOf(TaskStore)
    await store.create({ id: 't', contextId: 'c', status: { state: TaskState.completed } })
    expect(await store.list(null)).toHaveLength(1)
    expect(await store.list()).toHaveLength(1)
    expect(await store.get('nobody')).toBeUndefined()
  })
})
