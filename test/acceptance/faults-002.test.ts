import { describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { A2AClient, RestTransport } from '../../src/client/index.ts'
import { A2AServer } from '../../src/compat/a2a-server.ts'
import { fromMessageHandler } from '../../src/compat/message-handler.ts'
import { completedTaskWithText, newMessage, textOf } from '../../src/protocol/task.ts'
import type { Task } from '../../src/protocol/types.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { InMemoryTaskStore } from '../../src/store/task-store.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { serve as serveRaw } from '../client/serve.ts'
import { get, post, rpc, scripted, serve } from './serve.ts'
import { act, eventsOf, rc, rest, told, v03, v10 } from './wires.ts'

/** Asks once, then answers; each turn brings an artifact. */
const asking = defineAgent({ name: 'Asking' }, async function* (message, turn) {
  const text = textOf(message.parts)
  yield turn.artifact({ artifactId: `a-${text}`, parts: [{ text: `about ${text}` }] })
  if (!turn.task) yield turn.ask('And then?')
})

const waiting = defineAgent({ name: 'Waiting' }, async function* (_message, turn) {
  yield turn.status('TASK_STATE_WORKING')
  await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
})

const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
const send = (url: string, params: object, headers = {}) =>
  rpc(`${url}/v1/rpc`, { method: 'message/send', params, headers })

describe('A-W1: a long blocking call', () => {
  const timeouts = { shutdownMs: 0 }

  test('A-W1: is not cut off after 30 seconds, and keeps its id', async () => {
    const clock = createFakeClock()
    const slow = defineAgent(
      { name: 'Slow' },
      () => new Promise<string>((resolve) => clock.after(200_000, () => resolve('done'))),
    )
    const { url } = await serve({ agents: [slow], clock, timeouts })
    const answer = send(url, { message })
    await clock.elapse(200_000)
    expect(await answer).toMatchObject({
      id: 1,
      result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } },
    })
  })

  test('A-W1: answers with the task as it is after 300 seconds, and the work goes on', async () => {
    const clock = createFakeClock()
    const { url } = await serve({ agents: [waiting], clock, timeouts })
    const answer = send(url, { message })
    await clock.elapse(300_000)
    const { id, result } = await answer
    expect(id).toBe(1)
    expect(result.task.status.state).toBe('TASK_STATE_WORKING')
    const read = await rpc(`${url}/v1/rpc`, { method: 'tasks/get', params: { id: result.task.id } })
    expect(read.result.status.state).toBe('TASK_STATE_WORKING')
  })
})

test('A-W2: a send without returnImmediately waits for the answer', async () => {
  const { url } = await serve(scripted('done'))
  for (const configuration of [undefined, {}, { returnImmediately: false }]) {
    const { result } = await send(url, { message, ...(configuration && { configuration }) })
    expect(result.task.status.state).toBe('TASK_STATE_COMPLETED')
  }
})

test('A-W3: a caller whom the extractor does not know is refused, and tasks have owners and tenants', async () => {
  const running = await A2AServer.echo()
    .bind('127.0.0.1:0')
    .authExtractor(({ 'x-user': userId }) => (userId ? { userId } : undefined))
    .run({ signals: false })
  onTestFinished(() => running.shutdown())
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'message/send',
    params: { message },
  })
  expect((await post(`${running.url}/v1/rpc`, body)).status).toBe(401)
  const { result } = await send(running.url, { message, tenant: 'one' }, { 'x-user': 'ann' })
  const read = async (user: string, tenant: string) =>
    rpc(`${running.url}/v1/rpc`, {
      method: 'tasks/get',
      params: { id: result.task.id, tenant },
      headers: { 'x-user': user },
    })
  expect((await read('ann', 'one')).result.id).toBe(result.task.id)
  expect((await read('bob', 'one')).error.code).toBe(-32001)
  expect((await read('ann', 'two')).error.code).toBe(-32001)
})

describe('A-W4: webhooks', () => {
  test('A-W4: only https to public hosts', async () => {
    const { url } = await serve({
      agents: [waiting],
      pushNotifications: true,
      timeouts: { shutdownMs: 0 },
    })
    const configuration = { returnImmediately: true }
    const { result } = await send(url, { message, configuration })
    const taskId: string = result.task.id
    for (const bad of [
      'http://hooks.example.com/',
      'https://127.0.0.1/',
      'https://[::1]/',
      'https://10.0.0.1/',
      'https://localhost/',
    ]) {
      const answer = await rpc(url, {
        method: 'CreateTaskPushNotificationConfig',
        params: { taskId, url: bad },
      })
      expect(answer.error.code).toBe(-32602)
      const inSend = await send(url, {
        message,
        configuration: { taskPushNotificationConfig: { url: bad } },
      })
      expect(inSend.error.code).toBe(-32602)
    }
  })

  test('A-W4: the one inside a send counts, is shown flat, and a 4xx is not retried', async () => {
    const receiver = await serveRaw(() => ({ status: 410 }))
    const { host } = new URL(receiver.url)
    const { url, server } = await serve({
      agents: [scripted('done')],
      pushNotifications: { guard: { allow: [host], allowHttp: true } },
    })
    const taskPushNotificationConfig = { id: 'c', url: `${receiver.url}/hook` }
    const { result } = await send(url, { message, configuration: { taskPushNotificationConfig } })
    const taskId: string = result.task.id
    const shown = { id: 'c', taskId, url: `${receiver.url}/hook` }
    const one = await rpc(url, {
      method: 'GetTaskPushNotificationConfig',
      params: { taskId, id: 'c' },
    })
    expect(one.result).toEqual(shown)
    const list = await rpc(url, { method: 'ListTaskPushNotificationConfigs', params: { taskId } })
    expect(list.result.configs).toEqual([shown])
    await expect.poll(async () => (await server.store.deadLetters()).length).toBeGreaterThan(0)
    expect((await server.store.deadLetters())[0]?.attempts).toBe(1)
  })
})

test('A-W5: a continued task keeps its earlier history and artifacts', async () => {
  const { url } = await serve(asking)
  const first = await send(url, { message: { ...message, parts: [{ text: 'one' }] } })
  const taskId: string = first.result.task.id
  const second = await send(url, {
    message: { ...message, messageId: 'm2', parts: [{ text: 'two' }], taskId },
  })
  const { artifacts, history } = second.result.task
  expect(artifacts.map((a: { artifactId: string }) => a.artifactId)).toEqual(['a-one', 'a-two'])
  expect(history.map((m: { parts: { text: string }[] }) => m.parts[0]?.text)).toEqual([
    'one',
    'And then?',
    'two',
  ])
})

describe('A-W6: streams', () => {
  test('A-W6: check what a send checks', async () => {
    const { url } = await serve(scripted('done'))
    const sent = await send(url, { message })
    const stream = async (changes: object) => {
      const params = { message: { ...message, ...changes } }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/stream', params })
      const { text } = await post(`${url}/v1/rpc`, body)
      return Number(/"code":(-\d+)/.exec(text)?.[1])
    }
    expect(await stream({ parts: [] })).toBe(-32602)
    expect(await stream({ taskId: 'nobody' })).toBe(-32001)
    expect(await stream({ taskId: sent.result.task.id })).toBe(-32004)
  })

  test('A-W6: lose nothing: Last-Event-ID gives what follows, on a finished task too', async () => {
    const chatty = defineAgent({ name: 'Chatty' }, async function* () {
      for (let i = 0; i < 500; i++) yield `${i} `
    })
    const { url } = await serve(chatty)
    const response = await act(url, rc.request('stream', { text: 'go' }))
    const text = await response.text()
    const ids = [...text.matchAll(/^id: ?(\d+)$/gm)].map(([, id]) => Number(id))
    expect(ids.length).toBeGreaterThan(2)
    expect(ids).toEqual([...ids].sort((a, b) => a - b))
    const all = [...text.matchAll(/^data: ?(.+)$/gm)].map(([, data]) =>
      told(JSON.parse(data ?? '')),
    )
    const words = all.map((event) => event.text).join('')
    expect(words).toBe(Array.from({ length: 500 }, (_, i) => `${i} `).join(''))
    const middle = ids[Math.floor(ids.length / 2)] ?? 0
    const rest = await act(url, rc.request('subscribe', { id: all[0]?.id ?? '' }), {
      'last-event-id': String(middle),
    })
    const later = [...(await rest.text()).matchAll(/^id: ?(\d+)$/gm)].map(([, id]) => Number(id))
    expect(later).toEqual(ids.filter((id) => id > middle))
  })
})

describe('A-W7: handlers', () => {
  test('A-W7: yield their updates themselves, and a cancel stops their work', async () => {
    let stopped = false
    const agent = fromMessageHandler({
      async *handleMessage(_message, _auth, turn) {
        yield turn.status('TASK_STATE_WORKING', 'halfway')
        await new Promise<void>((resolve) =>
          turn.signal.addEventListener('abort', () => {
            stopped = true
            resolve()
          }),
        )
        yield 'never heard'
      },
      agentCard: () => ({ name: 'Handler' }),
      supportsStreaming: () => true,
    })
    const { url } = await serve(agent)
    const sent = told(
      await (await act(url, v10.request('send', { text: 'go', atOnce: true }))).json(),
    )
    const { id = '' } = sent
    const stream = await act(url, v10.request('subscribe', { id }))
    await act(url, v10.request('cancel', { id }))
    expect(stopped).toBe(true)
    const events = await eventsOf(stream)
    expect(events.at(-1)?.state).toBe('canceled')
    expect(events.map(({ text }) => text).join('')).not.toContain('never')
  })

  test("A-W7: whose failure is the task's failure", async () => {
    const agent = fromMessageHandler({
      handleMessage: () => Promise.reject(new Error('no')),
      agentCard: () => ({ name: 'Handler' }),
    })
    const { url } = await serve(agent)
    const { result } = await send(url, { message })
    expect(result.task.status.state).toBe('TASK_STATE_FAILED')
  })
})

describe('A-W9: cards', () => {
  test('A-W9: name every interface by themselves', async () => {
    const { url } = await serve(
      fromMessageHandler({
        handleMessage: (received) => ({ task: completedTaskWithText(received, 'ok') }),
        agentCard: () => ({ name: 'Handler' }),
      }),
    )
    const { json } = await get(`${url}/.well-known/agent-card.json`, { 'a2a-version': '1.0' })
    const bindings = json.supportedInterfaces.map(
      (one: { protocolBinding: string; protocolVersion: string }) =>
        `${one.protocolBinding} ${one.protocolVersion}`,
    )
    expect(bindings).toEqual(
      expect.arrayContaining(['JSONRPC 1.0', 'HTTP+JSON 1.0', 'JSONRPC 0.3']),
    )
  })

  test('A-W9: have an ETag that depends on their content alone', async () => {
    const publicUrl = 'https://agent.example.com'
    const tagOf = async (answer: string) => {
      const { port } = await serve({ agents: [scripted(answer)], publicUrl })
      const { headers } = await get(`http://127.0.0.1:${port}/.well-known/agent-card.json`)
      expect(headers.get('last-modified')).not.toBeNull()
      return headers.get('etag') ?? ''
    }
    const first = await tagOf('one')
    expect(await tagOf('two')).toBe(first)
    const { port } = await serve({ agents: [scripted('x')], publicUrl })
    const again = await get(`http://127.0.0.1:${port}/.well-known/agent-card.json`, {
      'if-none-match': first,
    })
    expect(again.status).toBe(304)
  })

  test('A-W9: errors of authentication are 401, not 200', async () => {
    const running = await A2AServer.echo()
      .bind('127.0.0.1:0')
      .authExtractor(() => undefined)
      .run({ signals: false })
    onTestFinished(() => running.shutdown())
    for (const wire of [v03, rc, v10, rest])
      expect((await act(running.url, wire.request('send', { text: 'x' }))).status).toBe(401)
  })
})

describe('A-W10: REST and the client', () => {
  test('A-W10: queries are percent-decoded', async () => {
    const { url } = await serve(scripted('done'))
    const contextId = 'a b/ü&c'
    await send(url, { message: { ...message, contextId } })
    const query = `contextId=${encodeURIComponent(contextId)}`
    const { json } = await get(`${url}/tasks?${query}`, { 'a2a-version': '1.0' })
    expect(json.totalSize).toBe(1)
    expect(
      (await get(`${url}/tasks?contextId=other`, { 'a2a-version': '1.0' })).json.totalSize,
    ).toBe(0)
  })

  test('A-W10: a malformed webhook is refused, not filled in', async () => {
    const { url } = await serve({ agents: [scripted('done')], pushNotifications: true })
    const { result } = await send(url, { message })
    const path = `${url}/tasks/${result.task.id}/pushNotificationConfigs`
    for (const body of ['{}', '[]', '"x"', '{"url":7}', 'not json'])
      expect((await post(path, body, { 'a2a-version': '1.0' })).status).toBe(400)
  })

  test('A-W10: the client polls over REST', async () => {
    const { url } = await serve(scripted('done'))
    const client = new A2AClient(new RestTransport(url))
    onTestFinished(() => client.close())
    const sent = await client.sendMessage('hi')
    if (!('task' in sent)) throw new Error('A string answer is a task')
    expect((await client.pollUntilComplete(sent.task.id)).status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('A-W10: the client speaks 0.3 with an agent whose card is 0.3', async () => {
    const { url } = await serve(scripted('done'))
    const card = {
      name: 'Old',
      description: 'Old',
      version: '1.0.0',
      protocolVersion: '0.3.0',
      url: `${url}/`,
      capabilities: {},
      skills: [],
      securitySchemes: { k: { type: 'apiKey', in: 'header', name: 'X-K' } },
      security: [{ k: [] }],
    }
    const old = await serveRaw(() => ({ body: card }))
    const client = new A2AClient({ serverUrl: old.url, credentials: { k: 'key' } })
    onTestFinished(() => client.close())
    const known = await client.fetchAgentCard()
    expect(known.securitySchemes?.k).toEqual({
      apiKeySecurityScheme: { location: 'header', name: 'X-K' },
    })
    expect(await client.sendMessage(newMessage('ROLE_USER', 'hi'))).toMatchObject({
      task: { status: { state: 'TASK_STATE_COMPLETED' } },
    })
  })
})

describe('A-W11: stores', () => {
  test('A-W11: memory is bounded', async () => {
    const store = createMemoryStore({ maxTasks: 10 })
    const { url } = await serve({ agents: [scripted('done')], store })
    for (let i = 0; i < 25; i++) await send(url, { message })
    const { json } = await get(`${url}/tasks`, { 'a2a-version': '1.0' })
    expect(json.totalSize).toBe(10)
  })

  test("A-W11: a store of one's own is used", async () => {
    const own = new InMemoryTaskStore()
    const calls: string[] = []
    const spying = {
      create: (task: Task) => {
        calls.push('create')
        return own.create(task)
      },
      get: own.get.bind(own),
      update: own.update.bind(own),
      delete: own.delete.bind(own),
      list: own.list.bind(own),
    }
    const running = await A2AServer.echo()
      .bind('127.0.0.1:0')
      .taskStore(spying)
      .run({ signals: false })
    onTestFinished(() => running.shutdown())
    const { result } = await send(running.url, { message })
    expect(calls).toEqual(['create'])
    expect((await own.get(result.task.id))?.id).toBe(result.task.id)
  })
})
