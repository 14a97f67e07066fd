import { describe, expect, test } from 'vitest'
import { defineAgent, fromRunnable } from '../../src/agents/function.ts'
import { textOf } from '../../src/protocol/task.ts'
import { get, post, rpc, scripted, serve } from './serve.ts'
import { act, eventsOf, told, v03 } from './wires.ts'

const send = (url: string, text: string, more: object = {}) =>
  rpc(url, {
    method: 'message/send',
    params: {
      message: { messageId: 'm', role: 'user', parts: [{ kind: 'text', text }], ...more },
    },
  })

const waiting = defineAgent({ name: 'Waiting' }, async function* (_message, turn) {
  yield turn.status('TASK_STATE_WORKING')
  await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
})

test('W-W1: a real agent answers, and its messages have ids', async () => {
  const { url } = await serve(fromRunnable({ run: async (prompt) => `About ${prompt}` }))
  const { result } = await send(url, 'bees')
  expect(result.status.state).toBe('completed')
  expect(result.artifacts[0].parts).toEqual([{ kind: 'text', text: 'About bees' }])
  for (const message of result.history) expect(message.messageId).toBeTruthy()
  const failing = await serve(fromRunnable({ run: () => Promise.reject(new Error('no')) }))
  const failed = await send(failing.url, 'bees')
  expect(failed.result.status).toMatchObject({
    state: 'failed',
    message: { role: 'agent', messageId: expect.any(String) },
  })
})

test('W-W2: a conversation goes on in its context and its task', async () => {
  const talking = defineAgent({ name: 'Talking' }, async function* (message, turn) {
    if (turn.task) yield `${turn.history.length} before ${textOf(message.parts)}`
    else yield turn.ask(`${(await turn.conversation(10)).length} earlier`)
  })
  const { url } = await serve(talking)
  const first = await send(url, 'one', { contextId: 'ctx-1' })
  expect(first.result.contextId).toBe('ctx-1')
  const second = await send(url, 'two', { contextId: 'ctx-1', taskId: first.result.id })
  expect(second.result).toMatchObject({ id: first.result.id, contextId: 'ctx-1' })
  expect(told(second).text).toContain('before two')
  const third = await send(url, 'three', { contextId: 'ctx-1' })
  expect(third.result.id).not.toBe(first.result.id)
  expect(third.result.status.message.parts[0].text).not.toBe('0 earlier')
})

test('W-W3: historyLength shortens what is shown, not what is stored', async () => {
  const { url } = await serve(scripted('done'))
  const { result } = await send(url, 'one')
  const read = (historyLength?: number) =>
    rpc(url, {
      method: 'tasks/get',
      params: { id: result.id, ...(historyLength !== undefined && { historyLength }) },
    })
  const before = (await read()).result.history.length
  expect(before).toBeGreaterThan(0)
  expect((await read(0)).result.history ?? []).toHaveLength(0)
  expect((await read()).result.history).toHaveLength(before)
})

describe('W-W4: tasks', () => {
  test('W-W4: one that is not there is -32001', async () => {
    const { url } = await serve(scripted('done'))
    const absent = await rpc(url, { method: 'tasks/get', params: { id: 'nobody' } })
    expect(absent.error.code).toBe(-32001)
  })

  test('W-W4: one that has ended is not cancelled, one that runs is stopped', async () => {
    const { url } = await serve(scripted('done'))
    const { result } = await send(url, 'one')
    const ended = await rpc(url, { method: 'tasks/cancel', params: { id: result.id } })
    expect(ended.error.code).toBe(-32002)
    let stopped = false
    const stoppable = defineAgent({ name: 'Stoppable' }, async (_message, turn) => {
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
      stopped = true
      return 'too late'
    })
    const running = await serve(stoppable)
    const sent = await act(running.url, v03.request('send', { text: 'go', atOnce: true }))
    const { id = '' } = told(await sent.json())
    const cancelled = await rpc(running.url, { method: 'tasks/cancel', params: { id } })
    expect(cancelled.result.status.state).toBe('canceled')
    await expect.poll(() => stopped).toBe(true)
  })

  test('W-W4: a stream tells of the way, not only of the end', async () => {
    const chunks = defineAgent({ name: 'Chunks' }, async function* (_message, turn) {
      yield turn.status('TASK_STATE_WORKING')
      yield 'one '
      yield 'two'
    })
    const { url } = await serve(chunks)
    const events = await eventsOf(await act(url, v03.request('stream', { text: 'go' })))
    expect(events.length).toBeGreaterThan(2)
    expect(events.map(({ text }) => text).join('')).toBe('one two')
  })

  test('W-W4: webhooks and resubscription are there, or refused by their own number', async () => {
    const { url } = await serve(waiting)
    const sent = await act(url, v03.request('send', { text: 'go', atOnce: true }))
    const { id = '' } = told(await sent.json())
    const refused = await (await act(url, v03.request('setPush', { id }))).json()
    expect(refused.error.code).toBe(-32003)
    const stream = await act(url, v03.request('subscribe', { id }))
    expect(stream.headers.get('content-type')).toContain('text/event-stream')
    await act(url, v03.request('cancel', { id }))
    expect((await eventsOf(stream)).at(-1)?.state).toBe('canceled')
  })
})

describe('W-W5: nothing of 003 is dropped', () => {
  test('W-W5: tasks/list works', async () => {
    const { url } = await serve(scripted('done'))
    const { result } = await send(url, 'one')
    const list = await rpc(url, { method: 'tasks/list', params: {} })
    expect(list.result.tasks.map((task: { id: string }) => task.id)).toEqual([result.id])
  })

  test('W-W5: every text part reaches the agent', async () => {
    const { url } = await serve(fromRunnable({ run: (text) => text }))
    const parts = [
      { kind: 'text', text: 'one ' },
      { kind: 'text', text: 'two' },
    ]
    expect(told(await send(url, '', { parts })).text).toBe('one two')
  })

  test('W-W5: stateManagement and inputSchema stay in the card', async () => {
    const inputSchema = { type: 'object' }
    const skill = { id: 's', name: 'S', description: 'S', tags: ['s'], inputSchema }
    const agent = defineAgent({ name: 'A', stateManagement: true, skills: [skill] }, () => 'x')
    const { url } = await serve(agent)
    const { json } = await get(`${url}/.well-known/agent-card.json`)
    expect(json.capabilities.stateManagement).toBe(true)
    expect(json.skills[0].inputSchema).toEqual(inputSchema)
  })
})

test('W-W6: CORS never allows credentials with *, and what is not JSON is -32700', async () => {
  const { url } = await serve({ agents: [scripted('done')], cors: { origins: '*' } })
  const preflight = await fetch(url, {
    method: 'OPTIONS',
    headers: { origin: 'https://p.example' },
  })
  const answer = await post(url, '{"broken', { origin: 'https://p.example' })
  for (const { headers } of [preflight, answer])
    expect(headers.get('access-control-allow-credentials')).toBeNull()
  expect(answer.status).toBe(200)
  expect(answer.json).toMatchObject({ error: { code: -32700 }, id: null })
})
