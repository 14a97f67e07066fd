import { describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import {
  A2AServer,
  fromAgent,
  fromRequestHandler,
  InMemoryTaskStore,
  type Message,
  newMessage,
  type RequestHandler,
  type ServerCallContext,
  type Task,
  TaskNotFoundError,
  TaskState,
  WorkshopRequestHandler,
} from '../../src/compat/index.ts'
import { toRequestHandler } from '../../src/compat/request-handler.ts'
import { textOf } from '../../src/protocol/task.ts'
import { createServer } from '../../src/server/server.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { rpc, serve } from '../acceptance/serve.ts'
import { act, eventsOf, told, v03, v10 } from '../acceptance/wires.ts'
import { teamOf } from '../team/scene.ts'

const context: ServerCallContext = { auth: { userId: 'ann' } }
const request = (text: string) => ({ message: newMessage('ROLE_USER', text) })

function isTask(answer: Task | Message): asserts answer is Task {
  if (!('status' in answer)) throw new Error('Expected a task')
}

/** A handler with tasks of its own, which end when the test says so. */
class OwnHandler implements RequestHandler {
  readonly tasks = new Map<string, Task>()
  readonly seen: { method: string; auth: string }[] = []

  async onMessageSend(
    { message }: { message: Message },
    { auth }: ServerCallContext,
  ): Promise<Task> {
    this.seen.push({ method: 'send', auth: auth.userId })
    const known = message.taskId === undefined ? undefined : this.#find(message.taskId)
    const task = known ?? {
      id: `own-${this.tasks.size}`,
      contextId: 'own',
      status: { state: TaskState.working },
    }
    const text = textOf(message.parts)
    if (text === 'ask')
      return this.put({
        ...task,
        status: { state: TaskState.inputRequired, message: newMessage('ROLE_AGENT', 'What?') },
      })
    if (known) return this.complete(known.id, `You said ${text}`)
    return this.put(task)
  }

  async onGetTask({ id }: { id: string }, { auth }: ServerCallContext): Promise<Task> {
    this.seen.push({ method: 'get', auth: auth.userId })
    return this.#find(id)
  }

  async onCancelTask({ id }: { id: string }, { auth }: ServerCallContext): Promise<Task> {
    this.seen.push({ method: 'cancel', auth: auth.userId })
    return this.put({ ...this.#find(id), status: { state: TaskState.cancelled } })
  }

  complete(id: string, text: string): Task {
    const artifacts = [{ artifactId: 'a', name: 'result', parts: [{ text }] }]
    return this.put({ ...this.#find(id), status: { state: TaskState.completed }, artifacts })
  }

  put(task: Task): Task {
    this.tasks.set(task.id, task)
    return task
  }

  #find(id: string): Task {
    const task = this.tasks.get(id)
    if (!task) throw new TaskNotFoundError()
    return task
  }
}

describe('a request handler that is served', () => {
  test('asks its question, and gets the answer in its own task', async () => {
    const handler = new OwnHandler()
    const { url } = await serve(fromRequestHandler(handler, { name: 'Own' }))
    const asked = told(await (await act(url, v03.request('send', { text: 'ask' }))).json())
    expect(asked).toMatchObject({ id: 'own-0', state: 'input-required' })
    const { id = '' } = asked
    const answered = told(await (await act(url, v10.request('send', { id, text: 'bees' }))).json())
    expect(answered).toMatchObject({ id, state: 'completed', text: 'You said bees' })
    expect([...handler.tasks.keys()]).toEqual(['own-0'])
  })

  test('hears of a cancel while it works and while it waits', async () => {
    for (const text of ['go', 'ask']) {
      const handler = new OwnHandler()
      const { url } = await serve(fromRequestHandler(handler, { name: 'Own' }))
      const sent = await act(url, v10.request('send', { text }))
      const { id = '' } = told(await sent.json())
      const cancelled = await act(url, v10.request('cancel', { id }))
      expect(told(await cancelled.json())).toMatchObject({ id: 'own-0', state: 'canceled' })
      expect(handler.tasks.get('own-0')?.status.state).toBe(TaskState.cancelled)
    }
  })

  test('streams where it has streams', async () => {
    const handler: RequestHandler = {
      ...fromAgent(defineAgent({ name: 'Inner' }, () => 'unused')),
      async *onMessageSendStream() {
        const ids = { taskId: 'own', contextId: 'c' }
        yield { id: 'own', contextId: 'c', status: { state: TaskState.working } }
        yield {
          artifactUpdate: { ...ids, artifact: { artifactId: 'a', parts: [{ text: 'one ' }] } },
        }
        yield {
          artifactUpdate: {
            ...ids,
            artifact: { artifactId: 'a', parts: [{ text: 'two' }] },
            append: true,
          },
        }
        yield { statusUpdate: { ...ids, status: { state: TaskState.completed } } }
      },
    }
    const { url } = await serve(fromRequestHandler(handler, { name: 'Streaming' }))
    const events = await eventsOf(await act(url, v10.request('stream', { text: 'go' })))
    expect(events.map(({ text }) => text).join('')).toBe('one two')
    expect(events.at(-1)?.state).toBe('completed')
  })

  test('may answer with a message', async () => {
    const handler: RequestHandler = {
      onMessageSend: async () => newMessage('ROLE_AGENT', 'hello'),
      onGetTask: () => Promise.reject(new TaskNotFoundError()),
      onCancelTask: () => Promise.reject(new TaskNotFoundError()),
    }
    const { url } = await serve(fromRequestHandler(handler))
    const { result } = await rpc(`${url}/v1/rpc`, {
      method: 'message/send',
      params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } },
    })
    expect(result.message.parts).toEqual([{ text: 'hello' }])
  })

  test('learns who calls', async () => {
    const handler = new OwnHandler()
    const running = await new A2AServer(handler)
      .bind('127.0.0.1:0')
      .authExtractor(({ 'x-user': userId }) => (userId ? { userId } : undefined))
      .run({ signals: false })
    onTestFinished(() => running.shutdown())
    const asked = await act(running.url, v10.request('send', { text: 'ask' }), { 'x-user': 'ann' })
    expect(told(await asked.json()).state).toBe('input-required')
    expect(handler.seen).toEqual([{ method: 'send', auth: 'ann' }])
  })
})

describe('a request handler in a team', () => {
  test('is polled until its task ends', async () => {
    const handler = new OwnHandler()
    const clock = createFakeClock()
    const own = fromRequestHandler(handler, { name: 'Own', clock })
    const { url } = await serve(teamOf({ own }))
    const sent = told(
      await (await act(url, v10.request('send', { text: 'go', atOnce: true }))).json(),
    )
    await expect.poll(() => clock.pending().length).toBe(1)
    handler.complete('own-0', 'Findings')
    clock.advance(1_000)
    const read = async () =>
      told(await (await act(url, v10.request('get', { id: sent.id ?? '' }))).json())
    await expect.poll(async () => (await read()).state).toBe('completed')
    expect((await read()).text).toContain('Findings')
  })

  test('asks its question, and gets the answer in its own task', async () => {
    const handler = new OwnHandler()
    const { url } = await serve(teamOf({ own: fromRequestHandler(handler, { name: 'Own' }) }))
    const { id = '' } = told(await (await act(url, v10.request('send', { text: 'ask' }))).json())
    const answered = told(await (await act(url, v10.request('send', { id, text: 'bees' }))).json())
    expect(answered).toMatchObject({ id, state: 'completed', text: 'You said bees' })
    expect([...handler.tasks.keys()]).toEqual(['own-0'])
  })

  test('hears of a cancel while it works and while it waits', async () => {
    for (const text of ['go', 'ask']) {
      const handler = new OwnHandler()
      const clock = createFakeClock()
      const own = fromRequestHandler(handler, { name: 'Own', clock })
      const { url, server } = await serve(teamOf({ own }))
      const sent = await act(url, v10.request('send', { text, atOnce: text === 'go' }))
      const { id = '' } = told(await sent.json())
      await expect.poll(() => handler.tasks.size).toBe(1)
      if (text === 'go') await expect.poll(() => clock.pending().length).toBe(1)
      await act(url, v10.request('cancel', { id }))
      await expect.poll(() => handler.tasks.get('own-0')?.status.state).toBe(TaskState.cancelled)
      await server.close() // which waits for what it began
      expect(handler.seen.filter(({ method }) => method === 'cancel')).toHaveLength(1)
    }
  })
})

describe('an agent behind the four methods', () => {
  test('S003-33 … S003-36: sends, streams, reads and cancels', async () => {
    const handler = fromAgent(
      defineAgent({ name: 'Inner' }, async function* (message, turn) {
        if (textOf(message.parts) === 'wait')
          await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
        yield 'done'
      }),
    )
    const task = await handler.onMessageSend(request('go'), context)
    isTask(task)
    expect(task.artifacts?.[0]?.parts).toEqual([{ text: 'done' }])
    expect(await handler.onGetTask({ id: task.id }, context)).toEqual(task)
    const events = []
    for await (const event of handler.onMessageSendStream(request('go'), context))
      events.push(event)
    expect(JSON.stringify(events.at(-1))).toContain('TASK_STATE_COMPLETED')
    const configuration = { returnImmediately: true }
    const waiting = await handler.onMessageSend({ ...request('wait'), configuration }, context)
    isTask(waiting)
    const cancelled = await handler.onCancelTask({ id: waiting.id }, context)
    expect(cancelled.status.state).toBe(TaskState.cancelled)
  })

  test('S003-37: the context says whose tasks they are', async () => {
    const handler = fromAgent(defineAgent({ name: 'Inner' }, () => 'done'))
    const task = await handler.onMessageSend(request('go'), context)
    isTask(task)
    const bob = { auth: { userId: 'bob' } }
    await expect(handler.onGetTask({ id: task.id }, bob)).rejects.toBeInstanceOf(TaskNotFoundError)
  })

  test('S003-32: WorkshopRequestHandler(agent, taskStore) keeps tasks in the store', async () => {
    const tasks = new InMemoryTaskStore()
    const handler = new WorkshopRequestHandler({ run: async (text) => `About ${text}` }, tasks)
    const anonymous = { auth: { userId: '' } }
    const task = await handler.onMessageSend(request('bees'), anonymous)
    isTask(task)
    expect(task.artifacts?.[0]?.parts).toEqual([{ text: 'About bees' }])
    expect(await tasks.get(task.id)).toEqual(task)
    expect(await handler.onGetTask({ id: task.id }, anonymous)).toEqual(task)
  })

  test('any dispatch is a request handler', async () => {
    const server = await createServer({ agents: [defineAgent({ name: 'Inner' }, () => 'done')] })
    onTestFinished(() => server.close())
    const answer = await toRequestHandler(server.dispatch()).onMessageSend(request('go'), context)
    isTask(answer)
    expect(answer.status.state).toBe(TaskState.completed)
  })
})
