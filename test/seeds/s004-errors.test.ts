import { describe, expect, onTestFinished, test } from 'vitest'
import { createEchoAgent } from '../../src/agents/index.ts'
import type { HttpReply } from '../../src/bindings/http.ts'
import {
  A2AClient,
  bearer,
  JsonRpcTransport,
  RestTransport,
  signedBy,
} from '../../src/client/index.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import type { Task } from '../../src/protocol/types.ts'
import { fromTaskStore } from '../../src/store/custom.ts'
import { InMemoryTaskStore } from '../../src/store/index.ts'
import { rpc, scripted, serve } from '../acceptance/serve.ts'
import { createScriptedAgent } from '../conformance/agent.ts'

const text = (words: string): object => ({ role: 'user', parts: [{ type: 'text', text: words }] })

/** Words that belong to another wire. */
const foreign = /taskId|contextId|TASK_STATE|\bid:|"field":"id"|UNSUPPORTED_OPERATION/

type Ask = (method: string, params: unknown) => Promise<ReturnType<typeof JSON.parse>>

async function ranch(): Promise<Ask> {
  const { url } = await serve(createScriptedAgent())
  return (method, params) => rpc(`${url}/rpc`, { method, params })
}

/** Begins a task and waits until it is in a state. */
async function begin(ask: Ask, words: string, state: string): Promise<string> {
  const { result } = await ask('message/send', { message: text(words), immediate: false })
  const task_id = result.task.id
  const now = async (): Promise<string> => (await ask('task/status', { task_id })).result.state
  await expect.poll(now).toBe(state)
  return task_id
}

describe('S004-59: errors on /rpc speak the words of that wire', () => {
  test.each(['task/get', 'task/status', 'task/cancel', 'task/resubscribe'])(
    '%s names the task as RANCH does, however it was given',
    async (method) => {
      const ask = await ranch()
      for (const task_id of ['task-abc', 'abc', 'tasks/abc', 'tasks/task-abc']) {
        const { error } = await ask(method, { task_id })
        expect(error).toEqual({
          code: -32004,
          message: 'Task not found: task-abc',
          data: { reason: 'TASK_NOT_FOUND', metadata: { task_id: 'task-abc' } },
        })
      }
    },
  )

  test('a task id that is missing or none is called task_id', async () => {
    const ask = await ranch()
    expect((await ask('task/get', {})).error).toMatchObject({
      code: -32602,
      message: 'task_id: is required',
      data: { fieldViolations: [{ field: 'task_id', description: 'is required' }] },
    })
    const { error } = await ask('task/get', { task_id: 5 })
    expect(error.message).toBe('task_id: must be a string')
    const sent = await ask('message/send', { message: text('x'), task_id: 7 })
    expect(sent.error.message).toBe('message.task_id: must be a string')
  })

  test('a message to an ended task is told its state in RANCH’s words, and the reason is its own', async () => {
    const ask = await ranch()
    const cases = [
      ['fail', 'failed', -32005, 'TASK_FAILED'],
      ['reject', 'failed', -32005, 'TASK_FAILED'],
    ] as const
    for (const [words, state, code, reason] of cases) {
      const task_id = await begin(ask, words, state)
      const { error } = await ask('message/send', { message: text('x'), task_id })
      expect(error).toEqual({
        code,
        message: `Task ${task_id} is ${state}; it takes no more messages`,
        data: { reason, metadata: { task_id } },
      })
    }
    const task_id = await begin(ask, 'hold', 'working')
    const elsewhere = { message: text('x'), task_id, context_id: 'other' }
    const { error } = await ask('message/send', elsewhere)
    expect(error.message).toBe(`message.context_id is not the context of task ${task_id}`)
    expect(error).toMatchObject({ code: -32001, data: { reason: 'INVALID_MESSAGE' } })
    await ask('task/cancel', { task_id })
    expect((await ask('message/send', { message: text('x'), task_id })).error).toEqual({
      code: -32006,
      message: `Task ${task_id} is cancelled; it takes no more messages`,
      data: { reason: 'TASK_CANCELLED', metadata: { task_id } },
    })
  })

  test('no error has a word of another wire in it', async () => {
    const ask = await ranch()
    const done = await begin(ask, 'chunks a b', 'completed')
    const errors = await Promise.all([
      ask('task/get', {}),
      ask('task/get', { task_id: 'nobody' }),
      ask('task/cancel', { task_id: '' }),
      ask('message/send', { message: text('x'), task_id: 'nobody' }),
      ask('message/send', { message: { role: 'user', parts: [{ type: 'text', text: 5 }] } }),
      ask('message/send', { message: { ...text('x'), contextId: 5 } }),
      ask('message/send', { message: text('fail') }),
      ask('message/send', { message: text('reject') }),
    ])
    for (const { error } of errors) expect(JSON.stringify(error)).not.toMatch(foreign)
    // What has no meaning in 004 at all keeps the reason of A2A, but not its words for ids and states.
    const { error } = await ask('message/send', { message: text('x'), task_id: done })
    expect(error.message).toBe(`Task ${done} is completed; it takes no more messages`)
  })

  test('a version that nobody speaks has RANCH’s reason', async () => {
    const { url } = await serve(scripted('hi'))
    const headers = { 'a2a-version': '9' }
    const { error } = await rpc(`${url}/rpc`, { method: 'agent/card', params: {}, headers })
    expect(error).toMatchObject({ code: -32007, data: { reason: 'PROTOCOL_VERSION_MISMATCH' } })
  })

  test('our client reads them back', async () => {
    const { url } = await serve(createScriptedAgent())
    const client = new A2AClient({ transport: new JsonRpcTransport(`${url}/rpc`) })
    const failing = client.getTask('task-abc')
    await expect(failing).rejects.toMatchObject({
      code: 'taskNotFound',
      details: { metadata: { taskId: 'task-abc' } },
    })
  })
})

describe('S004-19: a task is found by the id as it is given, else without `task-`', () => {
  const stored = (id: string): Task => ({
    id,
    contextId: 'c',
    status: { state: 'TASK_STATE_WORKING', timestamp: '2026-01-01T00:00:00.000Z' },
  })

  test('also where a store of one’s own has such ids', async () => {
    const tasks = new InMemoryTaskStore()
    for (const id of ['task-abc123', '123e4567-e89b-12d3-a456-426614174000', 'both', 'task-both'])
      await tasks.create(stored(id))
    const agent = scripted('hi')
    const scope = { agent: (await agent.info()).id, tenant: '', owner: '' }
    const { url } = await serve({ agents: [agent], store: fromTaskStore(tasks, { scope }) })
    const found = async (task_id: string): Promise<string> =>
      (await rpc(`${url}/rpc`, { method: 'task/get', params: { task_id } })).result?.id
    expect(await found('task-abc123')).toBe('task-abc123')
    expect(await found('tasks/task-abc123')).toBe('task-abc123')
    const uuid = '123e4567-e89b-12d3-a456-426614174000'
    expect(await found(uuid)).toBe(`task-${uuid}`)
    expect(await found(`task-${uuid}`)).toBe(`task-${uuid}`)
    expect(await found('task-both')).toBe('task-both')
    const cancelled = { method: 'task/cancel', params: { task_id: 'task-both' } }
    expect((await rpc(`${url}/rpc`, cancelled)).result).toEqual({ cancelled: true })
    expect((await tasks.get('both'))?.status.state).toBe('TASK_STATE_WORKING')
    expect((await tasks.get('task-both'))?.status.state).toBe('TASK_STATE_CANCELED')
  })
})

describe('S004-56: a part is what its tag says', () => {
  const contradictions = [
    { type: 'data', text: 'x' },
    { type: 'text', data: { a: 1 } },
    { type: 'file', text: 'x' },
    { type: 'text', file: { uri: 'https://files.example/a' } },
    { type: 'hologram', text: 'x' },
    { type: 5, text: 'x' },
  ]
  test.each(contradictions)('RANCH refuses %j', async (part) => {
    const { url } = await serve(scripted('hi'))
    const params = { message: { role: 'user', parts: [part] } }
    const { error } = await rpc(`${url}/rpc`, { method: 'message/send', params })
    expect(error).toMatchObject({
      code: -32001,
      data: { reason: 'INVALID_MESSAGE', fieldViolations: [{ field: 'message.parts[0].type' }] },
    })
  })

  test.each([...contradictions, { kind: 'data', text: 'x' }, { kind: 'hologram', text: 'x' }])(
    '0.3 refuses %j',
    async (part) => {
      const { url } = await serve(scripted('hi'))
      const message = { messageId: 'm', role: 'user', parts: [part] }
      const headers = { 'a2a-version': '0.3' }
      const sent = { method: 'message/send', params: { message }, headers }
      const { error } = await rpc(`${url}/`, sent)
      const field = `message.parts[0].${'kind' in part ? 'kind' : 'type'}`
      expect(error).toMatchObject({ code: -32602, data: { fieldViolations: [{ field }] } })
    },
  )

  test.each([
    { type: 'text', text: 'x' },
    { type: 'data', data: { a: 1 } },
    { type: 'file', file: { uri: 'https://files.example/a' } },
    { type: 'file', file: { bytes: 'QQ==' } },
    { type: 'file', uri: 'https://files.example/a' },
    { text: 'x' },
  ])('both take %j', async (part) => {
    const { url } = await serve(scripted('hi'))
    const message = { messageId: 'm', role: 'user', parts: [part] }
    for (const path of ['/rpc', '/']) {
      const { error } = await rpc(`${url}${path}`, { method: 'message/send', params: { message } })
      expect(error).toBeUndefined()
    }
  })

  test('1.0 has no tags: a member that it does not know is ignored', async () => {
    const { url } = await serve(scripted('hi'))
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x', type: 'hologram' }] }
    const { result } = await rpc(`${url}/`, { method: 'SendMessage', params: { message } })
    expect(result.task.status.state).toBe('TASK_STATE_COMPLETED')
  })
})

describe('S004-62: a URL that is none is refused when the transport is made', () => {
  test.each(['', 'localhost:3000/rpc', '/rpc', 'not a url', 'ftp://files.example/rpc'])(
    '%j',
    (url) => {
      for (const make of [() => new JsonRpcTransport(url), () => new RestTransport(url)]) {
        expect(make).toThrow(A2AError)
        expect(make).toThrow(/http:\/\/ or https:\/\//)
      }
    },
  )
})

/** A server that has the five methods of 004 at `/rpc`, and nothing else anywhere. */
async function serveOnly004(answers: Readonly<Record<string, unknown>>, elsewhere = 404) {
  const asked: string[] = []
  const { url } = await serve({
    agents: [createEchoAgent()],
    routes({ method, path, body }): HttpReply {
      if (path !== '/rpc' || method !== 'POST') return { status: elsewhere, headers: {} }
      const request = JSON.parse(body)
      asked.push(request.method)
      const result = answers[request.method]
      const error = { code: -32601, message: 'Method not found' }
      const reply = { jsonrpc: '2.0', id: request.id, ...(result ? { result } : { error }) }
      const headers = { 'content-type': 'application/json' }
      return { status: 200, headers, body: JSON.stringify(reply) }
    },
  })
  return { url, asked }
}

const story = { role: 'agent', parts: [{ type: 'text', text: 'Once upon a time' }] }
const answers004 = {
  'agent/card': {
    agent_id: 'writers',
    name: 'Writers',
    description: 'Write stories',
    capabilities: [{ name: 'prose-writing', description: 'Writes prose', version: '1.0.0' }],
    skills: [],
    version: '2.0.0',
    provider: { name: 'RANCH', url: 'https://ranch.example' },
  },
  'message/send': { message: story },
  'task/get': { id: 'task-1', status: { state: 'completed' }, result: story },
  'task/cancel': { cancelled: true },
}

describe('S000-81, S004-62: a server that speaks 004 alone', () => {
  test.each([
    ['its URL', '', 404],
    ['its endpoint', '/rpc', 404],
    ['its endpoint, where it takes nothing but POST', '/rpc', 405],
  ])('is reached by %s', async (_by, path, elsewhere) => {
    const { url } = await serveOnly004(answers004, elsewhere)
    const client = new A2AClient(`${url}${path}`)
    onTestFinished(() => client.close())
    expect(await client.fetchAgentCard()).toMatchObject({
      name: 'Writers',
      description: 'Write stories',
      version: '2.0.0',
      provider: { organization: 'RANCH' },
      supportedInterfaces: [
        { url: `${url}/rpc`, protocolBinding: 'urn:corral:bindings:ranch', protocolVersion: '0.3' },
      ],
      skills: [{ id: 'prose-writing', name: 'prose-writing', description: 'Writes prose' }],
    })
    expect(await client.sendMessage('Hello')).toMatchObject({
      message: { role: 'ROLE_AGENT', parts: [{ text: 'Once upon a time' }] },
    })
    expect(await client.run('Hello')).toBe('Once upon a time')
    expect(await client.getTask('task-1')).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
    })
    expect(await client.cancelTask('task-1')).toMatchObject({
      status: { state: 'TASK_STATE_CANCELED' },
    })
  })

  test('is waited for where it answers with a task', async () => {
    const task = { task: { id: 'task-1', status: { state: 'queued' } } }
    const { url } = await serveOnly004({ ...answers004, 'message/send': task })
    const client = new A2AClient({ serverUrl: url, pollIntervalMs: 1 })
    onTestFinished(() => client.close())
    expect(await client.run('Hello')).toBe('Once upon a time')
  })

  test('without agent/card has no card, and no key vouches for one', async () => {
    const { 'agent/card': _, ...rest } = answers004
    const mute = new A2AClient((await serveOnly004(rest)).url)
    await expect(mute.fetchAgentCard()).rejects.toThrow('No agent card at')
    const { url } = await serveOnly004(answers004)
    const strict = new A2AClient({ serverUrl: url, verifyCard: signedBy({ keys: [] }) })
    await expect(strict.fetchAgentCard()).rejects.toThrow(/sign/)
  })
})

test('S004-52, S004-62: a server of 004 that asks for credentials is told apart from none', async () => {
  const { url } = await serve({
    agents: [createEchoAgent()],
    routes: ({ path, headers }): HttpReply | undefined => {
      if (path !== '/rpc') return { status: 404, headers: {} }
      return headers.authorization === 'Bearer t' ? undefined : { status: 401, headers: {} }
    },
  })
  await expect(new A2AClient(url).run('Hello')).rejects.toMatchObject({ code: 'unauthenticated' })
  const client = new A2AClient({ serverUrl: url, auth: bearer('t') })
  onTestFinished(() => client.close())
  expect(await client.run('Hello')).toContain('Hello')
})

test('S004-62: the endpoint of a server that speaks all leads to its card', async () => {
  const { url } = await serve({ agents: [createEchoAgent()] })
  for (const path of ['/rpc', '/v1/rpc', '/']) {
    const client = new A2AClient(`${url}${path}`)
    onTestFinished(() => client.close())
    expect((await client.fetchAgentCard()).name).toBe('Echo Agent')
    expect(await client.run('Hello')).toContain('Hello')
  }
})
