import type { Task } from 'a2a-js-sdk-03'
import {
  type Client,
  ClientFactory,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from 'a2a-js-sdk-03/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createDeferred } from '../../src/shared/async.ts'
import { type Served, serveAgent } from '../server/sockets.ts'
import { createReceiver, type Receiver } from '../webhooks/receiver.ts'
import { readNotification03, readRest, readStream03 } from './python.ts'

const wires = ['JSONRPC', 'HTTP+JSON'] as const

const serve = (): Promise<Served> =>
  serveAgent({
    pushNotifications: { guard: { allow: ['127.0.0.0/8', 'localhost'], allowHttp: true } },
  })

/** The SDK's client of 0.3, held to one transport of our card. */
async function clientOf({ url }: Served, wire: (typeof wires)[number]): Promise<Client> {
  const transports = [new JsonRpcTransportFactory(), new RestTransportFactory()]
  const factory = new ClientFactory({
    transports: transports.filter(({ protocolName }) => protocolName === wire),
  })
  return factory.createFromUrl(url)
}

async function receive(): Promise<Receiver> {
  const receiver = await createReceiver()
  onTestFinished(() => receiver.close())
  return receiver
}

const message = (text: string, more: object = {}) => ({
  message: {
    kind: 'message' as const,
    messageId: crypto.randomUUID(),
    role: 'user' as const,
    parts: [{ kind: 'text' as const, text }],
    ...more,
  },
})

/** Begins a task without waiting for its end. */
async function begin(client: Client, text: string): Promise<Task> {
  const sent = await client.sendMessage({ ...message(text), configuration: { blocking: false } })
  if (sent.kind !== 'task') throw new Error('A task was expected')
  return sent
}

const tasksOf = (receiver: Receiver): Task[] =>
  receiver.requests.map(({ body }) => readNotification03(body))

describe.each(wires)('@a2a-js/sdk 0.3 over %s', (wire) => {
  test('0.3: converses, streams and comes back', async () => {
    const served = await serve()
    const client = await clientOf(served, wire)
    expect(await client.sendMessage(message('say hello'))).toMatchObject({ kind: 'message' })
    const kinds: string[] = []
    for await (const event of client.sendMessageStream(message('chunks one two')))
      kinds.push(event.kind)
    expect(kinds[0]).toBe('task')
    expect(kinds.filter((kind) => kind === 'artifact-update')).toHaveLength(2)
    const { id } = await begin(client, 'hold')
    const stream = client.resubscribeTask({ id })
    expect((await stream.next()).value).toMatchObject({ kind: 'task', id })
    served.agent.release()
    let last: unknown
    for await (const event of stream) last = event
    expect(last).toMatchObject({ kind: 'status-update', status: { state: 'completed' } })
  })

  test('0.3: a webhook gets the whole task at every change of state', async () => {
    const served = await serve()
    const client = await clientOf(served, wire)
    const receiver = await receive()
    const { id: taskId } = await begin(client, 'hold')
    const pushNotificationConfig = { id: 'hook', url: receiver.url, token: 'tok' }
    await client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig })
    served.agent.release()
    await expect.poll(() => tasksOf(receiver).at(-1)?.status.state).toBe('completed')
    for (const task of tasksOf(receiver)) expect(task).toMatchObject({ kind: 'task', id: taskId })
    const last = tasksOf(receiver).at(-1)
    expect(last?.artifacts?.[0]?.parts).toEqual([{ kind: 'text', text: 'Held' }])
    expect(last?.history?.[0]).toMatchObject({ kind: 'message', role: 'user' })
    const { headers } = receiver.requests[0] ?? {}
    expect(headers).toMatchObject({ 'x-a2a-notification-token': 'tok' })
    expect(headers?.['content-type']).toBe('application/json')
  })

  test('0.3: a failing stream tells its error', async () => {
    const client = await clientOf(await serve(), wire)
    const failure = await client
      .resubscribeTask({ id: 'made-up' })
      .next()
      .catch((error) => error)
    expect(failure).toBeInstanceOf(Error)
    expect(failure.message).toMatch(/Task not found: made-up/)
  })

  test('0.3: a canceled task cannot be canceled again', async () => {
    const client = await clientOf(await serve(), wire)
    const { id } = await begin(client, 'hold')
    expect((await client.cancelTask({ id })).status.state).toBe('canceled')
    const again = await client.cancelTask({ id }).catch((error) => error)
    expect(again.constructor.name).toMatch(/^TaskNotCancelable/)
  })

  test('0.3: webhooks are listed and deleted', async () => {
    const client = await clientOf(await serve(), wire)
    const { id } = await begin(client, 'hold')
    const pushNotificationConfig = { id: 'hook', url: 'http://127.0.0.1:9999/hook' }
    await client.setTaskPushNotificationConfig({ taskId: id, pushNotificationConfig })
    expect(await client.listTaskPushNotificationConfig({ id })).toHaveLength(1)
    await client.deleteTaskPushNotificationConfig({ id, pushNotificationConfigId: 'hook' })
    expect(await client.listTaskPushNotificationConfig({ id })).toEqual([])
  })
})

describe('webhooks of 0.3', () => {
  test('0.3: chunks that pile up come together, changes of state each for itself', async () => {
    const served = await serve()
    const client = await clientOf(served, 'JSONRPC')
    const receiver = await receive()
    const held = createDeferred<void>()
    receiver.answer = (_request, response) => void held.promise.then(() => response.end())
    const pushNotificationConfig = { url: receiver.url }
    const words = Array.from({ length: 40 }, (_, index) => `w${index}`).join(' ')
    const sent = await client.sendMessage({
      ...message(`chunks ${words}`),
      configuration: { blocking: true, pushNotificationConfig },
    })
    if (sent.kind !== 'task') throw new Error('A task was expected')
    held.resolve()
    await expect.poll(() => tasksOf(receiver).at(-1)?.status.state).toBe('completed')
    expect(receiver.requests.length).toBeLessThan(6)
    const states = tasksOf(receiver).map(({ status }) => status.state)
    expect(states.filter((state) => state === 'completed')).toHaveLength(1)
    const parts = tasksOf(receiver).at(-1)?.artifacts?.[0]?.parts ?? []
    const text = parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')
    expect(text).toBe(`${words} `)
  })

  test('0.3: a task that waits for its receiver is told as it was at each state', async () => {
    const served = await serve()
    const client = await clientOf(served, 'JSONRPC')
    const receiver = await receive()
    const held = createDeferred<void>()
    receiver.answer = (_request, response) => void held.promise.then(() => response.end())
    const pushNotificationConfig = { url: receiver.url }
    const sent = await client.sendMessage({
      ...message('ponder'),
      configuration: { blocking: false, pushNotificationConfig },
    })
    if (sent.kind !== 'task') throw new Error('A task was expected')
    const now = async (): Promise<string> => (await client.getTask({ id: sent.id })).status.state
    await expect.poll(now).toBe('working')
    served.agent.release()
    await expect.poll(now).toBe('input-required')
    await client.sendMessage(message('red', { taskId: sent.id, contextId: sent.contextId }))
    held.resolve()
    await expect.poll(() => tasksOf(receiver).at(-1)?.status.state).toBe('completed')
    const states = tasksOf(receiver).map(({ status }) => status.state)
    expect(states).toContain('working')
    expect(states).toContain('input-required')
  })
})

describe('what a2a-python reads', () => {
  const rpc = (method: string, params: unknown, headers: Record<string, string> = {}) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'r', method, params }),
  })

  test('0.3: a stream over JSON-RPC has the content type of one, also where it fails at once', async () => {
    const { url } = await serve()
    const streamed = await fetch(`${url}/`, rpc('message/stream', message('chunks a')))
    expect((await readStream03(streamed)).at(-1)).toMatchObject({ final: true })
    const failing: [string, unknown, string][] = [
      ['tasks/resubscribe', { id: 'made-up' }, 'TaskNotFoundError'],
      ['tasks/resubscribe', {}, 'InvalidParamsError'],
      ['message/stream', message('x', { taskId: 'made-up' }), 'TaskNotFoundError'],
      ['message/stream', {}, 'InvalidParamsError'],
      ['message/stream', message('x', { parts: [{ kind: 'hologram' }] }), 'InvalidParamsError'],
    ]
    for (const [method, params, name] of failing) {
      const response = await fetch(`${url}/`, rpc(method, params))
      await expect(readStream03(response)).rejects.toMatchObject({ name })
    }
  })

  test('0.3: with a version or without that Accept, and in 1.0, such an error is an ordinary answer', async () => {
    const { url } = await serve()
    for (const headers of [{ accept: 'application/json' }, { 'a2a-version': '0.3' }]) {
      const response = await fetch(
        `${url}/`,
        rpc('tasks/resubscribe', { id: 'made-up' }, { ...headers }),
      )
      expect(await response.json()).toMatchObject({ error: { code: -32001 } })
    }
    const v10 = rpc('SubscribeToTask', { id: 'made-up' }, { 'a2a-version': '1.0' })
    const answer = await fetch(`${url}/`, v10)
    expect(answer.headers.get('content-type')).toBe('application/json')
  })

  test('0.3: what HTTP itself refuses keeps its status', async () => {
    const { url } = await serveAgent({
      auth: {
        authenticators: [{ name: 'none', challenge: 'Bearer', authenticate: () => undefined }],
      },
    })
    const response = await fetch(`${url}/`, rpc('message/stream', message('x')))
    expect(response.status).toBe(401)
    expect(response.headers.get('content-type')).toBe('application/json')
  })

  test('0.3: errors over HTTP+JSON name their type', async () => {
    const { url } = await serve()
    const post = (path: string, body: unknown): Promise<Response> =>
      fetch(`${url}/v1${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const sent = await readRest(
      await post('/message:send', {
        message: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'hi' }] },
        configuration: { blocking: true },
      }),
    )
    const { id } = sent.task
    const cases: [() => Promise<Response>, string][] = [
      [() => fetch(`${url}/v1/tasks/made-up`), 'TaskNotFoundError'],
      [() => post(`/tasks/${id}:cancel`, {}), 'TaskNotCancelableError'],
      [() => post(`/tasks/${id}:subscribe`, {}), 'UnsupportedOperationError'],
      [() => post('/message:send', {}), 'InvalidParamsError'],
      [() => fetch(`${url}/v1/nothing`), 'MethodNotFoundError'],
      [() => fetch(`${url}/v1/card`), 'UnsupportedOperationError'],
      [() => post(`/tasks/${id}/pushNotificationConfigs`, {}), 'InvalidParamsError'],
    ]
    for (const [ask, name] of cases)
      await expect(readRest(await ask())).rejects.toMatchObject({ name })
  })

  test('0.3: a stream over HTTP+JSON that fails at once is one event, or an answer with a version', async () => {
    const { url } = await serve()
    const ask = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${url}/v1/tasks/made-up:subscribe`, {
        method: 'POST',
        headers: { accept: 'text/event-stream', ...headers },
      })
    const streamed = await ask({})
    expect([streamed.status, streamed.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream',
    ])
    const [, data] = /^event: error\ndata: (.*)\n\n$/.exec(await streamed.text()) ?? []
    expect(JSON.parse(data ?? '')).toMatchObject({ code: -32001, type: 'TaskNotFoundError' })
    for (const headers of [{ accept: 'application/json' }, { 'a2a-version': '0.3' }]) {
      const answer = await ask({ ...headers })
      expect(answer.status).toBe(404)
      await expect(readRest(answer)).rejects.toMatchObject({ name: 'TaskNotFoundError' })
    }
  })

  test('1.0: a deleted webhook over HTTP+JSON is answered with an empty object', async () => {
    const { url } = await serve()
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
    const post = (path: string, body: unknown): Promise<Response> =>
      fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const { task } = await readRest(
      await post('/message:send', {
        message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hold' }] },
        configuration: { returnImmediately: true },
      }),
    )
    const configs = `/tasks/${task.id}/pushNotificationConfigs`
    await readRest(await post(configs, { id: 'hook', url: 'http://127.0.0.1:9999/' }))
    const gone = await fetch(`${url}${configs}/hook`, { method: 'DELETE', headers })
    expect(gone.status).toBe(200)
    expect(await readRest(gone)).toEqual({})
  })
})
