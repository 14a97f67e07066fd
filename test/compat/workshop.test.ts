import { describe, expect, onTestFinished, test } from 'vitest'
import {
  A2AFastAPIApplication,
  A2AServer,
  AgentCard,
  type CardDraft,
  createA2AServer,
  InMemoryTaskStore,
  type MessageHandler,
  TaskNotFoundError,
  WorkshopRequestHandler,
} from '../../src/compat/index.ts'
import type { WorkshopApp, WorkshopOptions, WorkshopServer } from '../../src/compat/workshop.ts'
import type { Logger } from '../../src/index.ts'
import { get, post, rpc } from '../acceptance/serve.ts'

function open(options: WorkshopOptions = {}): WorkshopApp {
  return openWith(createA2AServer(options))
}

function openWith(server: WorkshopServer): WorkshopApp {
  const app = server.createApp()
  onTestFinished(() => app.close())
  return app
}

const send = (text: string, more: object = {}) => ({
  method: 'message/send',
  params: {
    message: { messageId: 'msg-1', role: 'user', parts: [{ kind: 'text', text }], ...more },
  },
})

describe('W-1: the server of 003', () => {
  test("has 003's values by default", () => {
    expect(createA2AServer().agentCard).toMatchObject({
      name: 'A2A Agent',
      description: 'A2A Protocol Agent',
      url: 'http://localhost:8000',
      version: '1.0.0',
      skills: [{ id: 'echo' }],
    })
  })

  test('is an application for any framework', async () => {
    const app = open({ name: 'Demo' })
    const page = await app.fetch(new Request('http://any/.well-known/agent-card.json'))
    expect(await page.json()).toMatchObject({ name: 'Demo', url: 'http://localhost:8000/' })
  })

  test('takes on skills while it runs', async () => {
    const server = createA2AServer({ agent: { run: (text) => text } })
    const app = openWith(server)
    const skills = async () => {
      const page = await app.fetch(new Request('http://any/.well-known/agent-card.json'))
      return ((await page.json()) as { skills: { id: string }[] }).skills.map(({ id }) => id)
    }
    await skills()
    server.addSkill({ id: 'sum', name: 'Sum', description: 'Adds up' })
    expect(server.agentCard.skills.map(({ id }) => id)).toEqual(['sum'])
    await expect.poll(skills).toEqual(['sum'])
  })

  test('changes its agent while it runs', async () => {
    const server = createA2AServer({ agent: { run: () => 'first' } })
    const { port } = await openWith(server).listen(0, '127.0.0.1')
    const url = `http://127.0.0.1:${port}`
    const ask = async () => (await rpc(url, send('hi'))).result.artifacts[0].parts[0].text
    expect(await ask()).toBe('first')
    server.setAgent({ run: async () => 'second' })
    expect(await ask()).toBe('second')
  })

  test("keeps its tasks in a store of one's own", async () => {
    const taskStore = new InMemoryTaskStore()
    const { port } = await open({ taskStore }).listen(0, '127.0.0.1')
    const { result } = await rpc(`http://127.0.0.1:${port}`, send('hi'))
    expect((await taskStore.list()).map(({ id }) => id)).toEqual([result.id])
  })

  test('W-5: authenticates as its AuthConfig says', async () => {
    const bearer = await open({ authentication: { type: 'bearer', tokens: { t: 'ann' } } }).listen(
      0,
      '127.0.0.1',
    )
    const key = await open({
      authentication: { type: 'api_key', keys: { k: 'ann' }, header: 'X-Key' },
    }).listen(0, '127.0.0.1')
    const none = await open({ authentication: { type: 'none' } }).listen(0, '127.0.0.1')
    const status = async (port: number, headers: Record<string, string> = {}) =>
      (
        await post(
          `http://127.0.0.1:${port}`,
          JSON.stringify({ jsonrpc: '2.0', id: 1, ...send('hi') }),
          headers,
        )
      ).status
    expect(await status(bearer.port)).toBe(401)
    expect(await status(bearer.port, { authorization: 'Bearer t' })).toBe(200)
    expect(await status(key.port)).toBe(401)
    expect(await status(key.port, { 'x-key': 'k' })).toBe(200)
    expect(await status(none.port)).toBe(200)
  })

  test('S003-2: apiKey is another spelling of api_key', async () => {
    const app = open({ authentication: { type: 'apiKey', keys: { k: 'ann' } } })
    const ask = async (headers: Record<string, string>) =>
      (await app.fetch(new Request('http://any/agents', { headers }))).status
    expect(await ask({})).toBe(401)
    expect(await ask({ 'x-api-key': 'k' })).toBe(200)
  })

  test.each([
    [{}, 'type must be one of none, bearer, api_key, apiKey, oauth2'],
    [{ schemes: ['bearer'] }, 'only none lets everyone call'],
    [{ type: 'basic' }, 'type must be one of'],
    [{ type: 'constructor' }, 'type must be one of'],
    [{ type: 'bearer' }, 'tokens must be an object or a function, not undefined'],
    [{ type: 'apiKey', key: { k: 'ann' } }, 'unknown option key; did you mean keys?'],
    [{ type: 'api_key', keys: ['k'] }, 'keys must be an object or a function, not an array'],
    [{ type: 'none', tokens: { t: 'ann' } }, 'unknown option tokens'],
    [{ type: 'oauth2' }, 'authenticator must be an object'],
    [null, 'must be an object, not null'],
    ['bearer', 'must be an object, not a string'],
    [false, 'must be an object, not true or false'],
  ])('S003-2: an authentication that is not understood opens nothing: %j', (given, words) => {
    const authentication = given as unknown as NonNullable<WorkshopOptions['authentication']>
    expect(() => createA2AServer({ authentication })).toThrow(words)
  })
})

test.each([[{ type: 'bearer' }], [{ schemes: ['bearer'] }], [null], ['none']])(
  'S003-2: a card cannot say who may call, so one that does is an error: %j',
  async (authentication) => {
    const card = { name: 'A', authentication } as CardDraft
    const words = 'authentication is for the server'
    expect(() => AgentCard(card)).toThrow(words)
    const httpHandler = new WorkshopRequestHandler({ run: () => '' }, new InMemoryTaskStore())
    expect(() => A2AFastAPIApplication({ agentCard: card, httpHandler })).toThrow(words)
    const handler = {
      handleMessage: () => ({}),
      agentCard: () => card,
    } as unknown as MessageHandler
    for (const server of [new A2AServer(httpHandler, card), new A2AServer(handler)])
      await expect(server.bind('127.0.0.1:0').run({ signals: false })).rejects.toThrow(words)
  },
)

test('S003-2: a card that asks for credentials where the server does not is a warning', async () => {
  const warnings: object[] = []
  const logger: Logger = {
    error: () => {},
    warn: (facts, words) => warnings.push([facts, words]),
    info: () => {},
    debug: () => {},
  }
  const card = { name: 'A', securityRequirements: [{ schemes: { bearer: { list: [] } } }] }
  const running = await new A2AServer(() => '', card)
    .bind('127.0.0.1:0')
    .configure({ logger })
    .run({ signals: false })
  await running.close()
  expect(warnings).toEqual([
    [{ agent: 'a' }, 'The card asks for credentials, but the server lets everyone call'],
  ])
})

test('S003-2: an option of another name opens nothing', () => {
  const auth = { type: 'bearer', tokens: { t: 'ann' } }
  expect(() => createA2AServer({ auth } as WorkshopOptions)).toThrow('unknown option auth')
})

describe('answers', () => {
  test('W-2: without an agent the server echoes, in an artifact of that name', async () => {
    const { port } = await open().listen(0, '127.0.0.1')
    const { result } = await rpc(`http://127.0.0.1:${port}`, send('hi'))
    expect(result).toMatchObject({
      kind: 'task',
      status: { state: 'completed' },
      artifacts: [{ name: 'echo', parts: [{ kind: 'text', text: 'Echo: hi' }] }],
    })
  })

  test('W-2: with an agent the artifact is the response', async () => {
    const { port } = await open({ agent: { run: async (prompt) => `About ${prompt}` } }).listen(
      0,
      '127.0.0.1',
    )
    const { result } = await rpc(`http://127.0.0.1:${port}`, send('bees'))
    expect(result.artifacts).toMatchObject([{ name: 'response', parts: [{ text: 'About bees' }] }])
  })

  test('W-3: a failure is a failed task with an "Error: …" that gives nothing away', async () => {
    const failing = await open({
      agent: {
        run: () => {
          throw new Error('password is hunter2')
        },
      },
    }).listen(0, '127.0.0.1')
    const { result } = await rpc(`http://127.0.0.1:${failing.port}`, send('hi'))
    expect(result.status.state).toBe('failed')
    expect(result.status.message.parts[0].text).toBe('Error: the agent could not answer')
    const telling = await open({
      agent: { run: () => Promise.reject(new TaskNotFoundError('No such flight')) },
    }).listen(0, '127.0.0.1')
    const told = await rpc(`http://127.0.0.1:${telling.port}`, send('hi'))
    expect(told.result.status.message.parts[0].text).toBe('Error: No such flight')
  })

  test('W-3: the stream goes from working to completed', async () => {
    const { port } = await open().listen(0, '127.0.0.1')
    const { text } = await post(
      `http://127.0.0.1:${port}`,
      JSON.stringify({ jsonrpc: '2.0', id: 1, ...send('hi'), method: 'message/stream' }),
    )
    const states = [...text.matchAll(/"state":"([a-z-]+)"/g)].map(([, state]) => state)
    expect(states.at(0)).toBe('working')
    expect(states.at(-1)).toBe('completed')
  })

  test('W-4: health, JSON-RPC at the root and the card where 003 has them', async () => {
    const { port } = await open({ name: 'Demo' }).listen(0, '127.0.0.1')
    const url = `http://127.0.0.1:${port}`
    expect((await get(`${url}/health`)).json).toMatchObject({
      status: 'healthy',
      protocol: 'A2A',
      agent: 'Demo',
    })
    expect((await rpc(`${url}/`, send('hi'))).result.kind).toBe('task')
    expect((await get(`${url}/.well-known/agent-card.json`)).json.name).toBe('Demo')
  })

  test('W-5: tasks/list, and a context beside the message', async () => {
    const { port } = await open().listen(0, '127.0.0.1')
    const url = `http://127.0.0.1:${port}`
    const { params } = send('hi')
    const sent = await rpc(url, {
      method: 'message/send',
      params: { ...params, contextId: 'ctx-1' },
    })
    expect(sent.result.contextId).toBe('ctx-1')
    await rpc(url, send('elsewhere'))
    const list = await rpc(url, {
      method: 'tasks/list',
      params: { contextId: 'ctx-1', status: 'completed', pageSize: 10 },
    })
    expect(list.result).toMatchObject({
      totalSize: 1,
      pageSize: 10,
      tasks: [{ id: sent.result.id }],
    })
  })
})
