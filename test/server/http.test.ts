import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import OpenAI from 'openai'
import { afterEach, describe, expect, test } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { textOf } from '../../src/protocol/task.ts'
import { bearer, createServer, listen, type Server } from '../../src/server/index.ts'
import { createDeferred } from '../../src/shared/async.ts'

const closing: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const agent = (name: string, answer = name): Agent =>
  defineAgent({ name }, (message) => `${answer}: ${textOf(message.parts)}`)

async function serve(server: Server): Promise<string> {
  const listening = await listen(server, { port: 0, host: '127.0.0.1' })
  closing.push(listening.close)
  return listening.url
}

describe('the endpoints of a server', () => {
  test('every agent is a model, in order, and the first answers where none is named', async () => {
    const url = await serve(await createServer({ agents: [agent('one'), agent('two')] }))
    const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none' })
    expect((await openai.models.list()).data.map(({ id }) => id)).toEqual(['one', 'two'])
    const messages = [{ role: 'user' as const, content: 'hi' }]
    const named = await openai.chat.completions.create({ model: 'two', messages })
    expect(named.choices[0]?.message.content).toBe('two: hi')
    const response = await fetch(`${url}/v1/chat`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ messages }),
    })
    expect(await response.json()).toMatchObject({ response: { content: 'one: hi' } })
  })

  test('every agent is an MCP tool', async () => {
    const url = await serve(await createServer({ agents: [agent('one'), agent('two')] }))
    const client = new Client({ name: 'test', version: '1.0.0' })
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)))
    closing.push(() => client.close())
    const result = await client.callTool({ name: 'two', arguments: { message: 'hi' } })
    expect(result.content).toEqual([{ type: 'text', text: 'two: hi' }])
  })

  test('list only the agents that the caller may use', async () => {
    const tokens = { secret: { userId: 'ann', scopes: ['agent:two'] }, all: 'bob' }
    const auth = { authenticators: [bearer({ tokens })] }
    const url = await serve(await createServer({ agents: [agent('one'), agent('two')], auth }))
    const named = async (token: string): Promise<unknown> => {
      const headers = { authorization: `Bearer ${token}` }
      const get = async (path: string) => (await fetch(`${url}${path}`, { headers })).json()
      const client = new Client({ name: 'test', version: '1.0.0' })
      const init = { requestInit: { headers } }
      await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), init))
      closing.push(() => client.close())
      const { tools } = await client.listTools()
      const lists = [(await get('/agents')).agents, (await get('/v1/models')).data]
      const ids = lists.map((list) => list.map(({ id }: { id: string }) => id))
      return [...ids, tools.map(({ name }) => name), 'error' in (await get('/v1/models/one'))]
    }
    expect(await named('all')).toEqual([...Array(3).fill(['one', 'two']), false])
    expect(await named('secret')).toEqual([...Array(3).fill(['two']), true])
  })

  test('say at OpenAI’s other paths that they are not there, as OpenAI’s clients read it', async () => {
    const url = await serve(await createServer({ agents: [agent('one')] }))
    const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })
    await expect(openai.responses.create({ model: 'one', input: 'hi' })).rejects.toMatchObject({
      status: 404,
      code: 'unknown_url',
      message: expect.stringContaining('/v1/chat/completions'),
    })
  })

  test('ask for credentials as A2A does', async () => {
    const auth = { authenticators: [bearer({ tokens: { secret: 'ann' } })] }
    const url = await serve(await createServer({ agents: [agent('one')], auth }))
    const ask = (apiKey: string) =>
      new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 }).chat.completions.create({
        model: 'one',
        messages: [{ role: 'user', content: 'hi' }],
      })
    await expect(ask('wrong')).rejects.toMatchObject({ status: 401 })
    expect((await ask('secret')).choices[0]?.message.content).toBe('one: hi')
  })
})

describe('replacing the agents of a server', () => {
  test('changes the models and their order, and the first one is at the root', async () => {
    const server = await createServer({ agents: [agent('one'), agent('two')] })
    const url = await serve(server)
    const models = async () => {
      const { data } = await (await fetch(`${url}/v1/models`)).json()
      return data.map(({ id }: { id: string }) => id)
    }
    await server.setAgents([agent('two', 'changed'), agent('three')])
    expect(await models()).toEqual(['two', 'three'])
    const card = await (await fetch(`${url}/.well-known/agent-card.json`)).json()
    expect(card).toMatchObject({ name: 'two', url: `${url}/` })
  })

  test('lets the task of an agent that is gone end, and finds it when the agent is back', async () => {
    const { promise: open, resolve: release } = createDeferred<void>()
    const slow = defineAgent({ name: 'slow' }, async function* (_message, turn) {
      yield turn.status('TASK_STATE_WORKING')
      await open
      yield 'done'
    })
    const server = await createServer({ agents: [slow] })
    closing.push(server.close)
    const dispatch = server.dispatch('slow')
    const message = {
      messageId: 'm',
      role: 'ROLE_USER' as const,
      parts: [{ text: 'go' }],
    }
    const configuration = { returnImmediately: true }
    const sent = await dispatch('SendMessage', { message, configuration }, {})
    const id = 'task' in sent ? sent.task.id : ''
    await server.setAgents([agent('other')])
    await server.setAgents([agent('other'), agent('slow')])
    release()
    const stream = await server
      .dispatch('slow')('SubscribeToTask', { id }, {})
      .catch(() => [])
    for await (const _ of stream);
    const task = await server.dispatch('slow')('GetTask', { id }, {})
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('keeps the tasks of an agent that is gone readable where they were, and takes none for it', async () => {
    const server = await createServer({ agents: [agent('one'), agent('two')] })
    const url = await serve(server)
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
    const ask = async (path: string, body?: unknown) => {
      const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers }
      return (await fetch(`${url}${path}`, init)).json()
    }
    const request = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } }
    for (const base of ['', '/agents/two']) {
      const { task } = await ask(`${base}/message:send`, request)
      await server.setAgents([agent('three'), agent(base === '' ? 'two' : 'four')])
      const { status } = await ask(`${base}/tasks/${task.id}`)
      expect(status?.state).toBe('TASK_STATE_COMPLETED')
      if (base !== '') {
        const { error } = await ask(`${base}/message:send`, request)
        expect(error.message).toBe('two is no longer served here; its tasks can still be read')
      }
      const none = await ask(`${base}/tasks/made-up`)
      expect(none.error.details[0].reason).toBe('TASK_NOT_FOUND')
    }
    const { agents } = await ask('/agents')
    expect(agents.map(({ id }: { id: string }) => id)).toEqual(['three', 'four'])
  })

  test('says of a task that is nowhere that it is not there, and counts the call once', async () => {
    const tokens = { ann: { userId: 'ann', scopes: ['agent:two'] }, bob: 'bob' }
    const auth = { authenticators: [bearer({ tokens })] }
    const rateLimit = { requests: 2 }
    const server = await createServer({ agents: [agent('one'), agent('two')], auth, rateLimit })
    const url = await serve(server)
    await server.setAgents([agent('two'), agent('one')])
    for (const token of ['ann', 'ann', 'bob', 'bob']) {
      const headers = { authorization: `Bearer ${token}` }
      const { status } = await fetch(`${url}/tasks/made-up`, { headers })
      expect([token, status]).toEqual([token, 404])
    }
  })
})
