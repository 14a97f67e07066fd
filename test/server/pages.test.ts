import { describe, expect, onTestFinished, test } from 'vitest'
import type { HttpReply } from '../../src/bindings/http.ts'
import { createServer, type Server, type ServerOptions } from '../../src/server/index.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import { request, wireNames10 } from '../conformance/scene.ts'
import { wiresOf } from '../contracts/binding.ts'

async function open(options: Partial<ServerOptions> = {}): Promise<Server> {
  const agents = [createScriptedAgent()]
  const server = await createServer({ agents, timeouts: { shutdownMs: 0 }, ...options })
  onTestFinished(() => server.close())
  return server
}

async function get(
  server: Server,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<HttpReply> {
  const [plain = '', query = ''] = path.split('?')
  return server.handle({ method, path: plain, query, headers, body: '' })
}

const bodyOf = ({ body }: HttpReply): unknown => JSON.parse(String(body))

describe('/health', () => {
  test('says that all is well', async () => {
    const reply = await get(await open(), '/health')
    expect(reply.status).toBe(200)
    expect(reply.headers['cache-control']).toBe('no-store')
    expect(bodyOf(reply)).toMatchObject({
      status: 'healthy',
      agents: [{ id: 'scripted', healthy: true }],
      store: { writable: true },
    })
  })

  test('is 503 where an agent is not well, and keeps its reasons in', async () => {
    const sick = createScriptedAgent({ health: async () => ({ healthy: false, reason: 'asleep' }) })
    const broken = createScriptedAgent({
      id: 'broken',
      health: () => Promise.reject(new Error('secret in /etc')),
    })
    const reply = await get(await open({ agents: [sick, broken] }), '/health')
    expect(reply.status).toBe(503)
    expect(bodyOf(reply)).toMatchObject({ status: 'unhealthy' })
    expect(reply.body).not.toContain('secret')
  })

  test('is 503 where the store cannot write, but the process lives', async () => {
    const store = {
      ...createMemoryStore(),
      health: () => ({ writable: false, reason: 'the disk is full' }),
    }
    const server = await open({ store })
    expect((await get(server, '/health')).status).toBe(503)
    expect((await get(server, '/health?live=1')).status).toBe(200)
  })
})

describe('the server’s pages', () => {
  test('/metrics counts operations by how they ended', async () => {
    const server = await open()
    await server.dispatch()('SendMessage', request('hi'), {})
    await server
      .dispatch()('GetTask', { id: 'none' }, {})
      .catch(() => {})
    const page = String((await get(server, '/metrics')).body)
    expect(page).toContain('corral_operations_total{operation="SendMessage",outcome="ok"} 1')
    expect(page).toContain('corral_operations_total{operation="GetTask",outcome="taskNotFound"} 1')
    expect(page).toMatch(/^corral_turns_running 0$/m)
  })

  test('are for reading', async () => {
    const server = await open()
    for (const path of ['/health', '/metrics', '/agents', '/.well-known/agent-card.json']) {
      const reply = await get(server, path, {}, 'POST')
      expect([path, reply.status]).toEqual([path, 405])
      expect(reply.headers.allow).toContain('GET')
    }
  })

  test('names with a 405 at /mcp only what is taken there', async () => {
    const server = await open()
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const reply = await get(server, '/mcp', {}, method)
      expect([method, reply.status, reply.headers.allow]).toEqual([method, 405, 'POST'])
    }
  })

  test('JSON-RPC takes POST alone, REST the verbs of each path', async () => {
    const server = await open()
    expect((await get(server, '/')).status).toBe(405)
    expect((await get(server, '/message:send')).status).toBe(405)
    expect((await get(server, '/tasks/x', {}, 'DELETE')).status).toBe(405)
    expect((await get(server, '/nowhere/at/all/there')).status).toBe(404)
  })
})

describe('several agents', () => {
  const agents = [
    createScriptedAgent({ id: 'one', name: 'One' }),
    createScriptedAgent({ id: 'two', name: 'Two' }),
  ]

  test('are listed with the address of their cards, and each card leads to its agent', async () => {
    const server = await open({ agents, publicUrl: 'https://agents.example/' })
    const { agents: listed } = bodyOf(await get(server, '/agents')) as {
      agents: { id: string; url: string; card: string }[]
    }
    expect(listed.map(({ id, url }) => [id, url])).toEqual([
      ['one', 'https://agents.example'],
      ['two', 'https://agents.example/agents/two'],
    ])
    for (const { card: address, url } of listed) {
      const { pathname } = new URL(address)
      const card = bodyOf(await get(server, pathname)) as {
        supportedInterfaces: { url: string }[]
      }
      expect(card.supportedInterfaces[0]?.url).toBe(`${url}/v1/rpc`)
    }
    const first = bodyOf(await get(server, '/agents/one/.well-known/agent-card.json'))
    expect(first).toMatchObject({ name: 'One' })
    expect((await get(server, '/agents/three/.well-known/agent-card.json')).status).toBe(404)
    expect((await get(server, '/agents/%E0%A4%A/tasks')).status).toBe(404)
  })

  test('do not see each other’s tasks', async () => {
    const server = await open({ agents })
    const { task } = (await server.dispatch('two')('SendMessage', request('hi'), {})) as {
      task: { id: string }
    }
    await expect(server.dispatch('two')('GetTask', { id: task.id }, {})).resolves.toBeDefined()
    await expect(server.dispatch('one')('GetTask', { id: task.id }, {})).rejects.toMatchObject({
      code: 'taskNotFound',
    })
    const below = await get(server, `/agents/two/tasks/${task.id}`, { 'a2a-version': '1.0' })
    expect(below.status).toBe(200)
    expect((await get(server, `/tasks/${task.id}`, { 'a2a-version': '1.0' })).status).toBe(404)
  })

  test('with one id twice, or none at all, are no server', async () => {
    const twice = [createScriptedAgent({ id: 'x' }), createScriptedAgent({ id: 'x' })]
    await expect(createServer({ agents: twice })).rejects.toThrow('Two agents have the id x')
    await expect(createServer({ agents: [] })).rejects.toThrow('at least one agent')
  })
})

describe.each(wireNames10)('tenants over %s', (name) => {
  test('do not see each other’s tasks', async () => {
    const server = await open({ pushNotifications: true })
    const wire = wiresOf(server.handle).find((one) => one.name === name)
    if (!wire) throw new Error(name)
    const sent = await wire.ask('SendMessage', { ...request('ask'), tenant: 'blue' })
    const { id } = sent.result.task
    expect((await wire.ask('GetTask', { id, tenant: 'blue' })).result.id).toBe(id)
    for (const other of [{}, { tenant: 'red' }]) {
      expect((await wire.ask('GetTask', { id, ...other })).error).toBe('TaskNotFound')
      expect((await wire.ask('CancelTask', { id, ...other })).error).toBe('TaskNotFound')
      expect((await wire.watch('SubscribeToTask', { id, ...other })).error).toBe('TaskNotFound')
      const more = { ...request('red', { message: { taskId: id } }), ...other }
      expect((await wire.ask('SendMessage', more)).error).toBe('TaskNotFound')
    }
  })
})

describe('CORS', () => {
  const origin = 'https://page.example'

  test('lets every page read where it is told so, without credentials', async () => {
    const server = await open({ cors: { origins: '*' } })
    const reply = await get(server, '/health', { origin })
    expect(reply.headers['access-control-allow-origin']).toBe('*')
    expect(reply.headers).not.toHaveProperty('access-control-allow-credentials')
    const preflight = await get(server, '/', { origin }, 'OPTIONS')
    expect(preflight.status).toBe(204)
    expect(preflight.headers['access-control-allow-methods']).toContain('POST')
    expect(preflight.headers['access-control-allow-headers']).toContain('A2A-Version')
  })

  test('can be narrowed to some pages, or none', async () => {
    const some = await open({ cors: { origins: [origin] } })
    const known = await get(some, '/health', { origin })
    expect(known.headers['access-control-allow-origin']).toBe(origin)
    expect(known.headers.vary).toContain('Origin')
    const other = await get(some, '/health', { origin: 'https://evil.example' })
    expect(other.headers).not.toHaveProperty('access-control-allow-origin')
    const none = await open({ cors: { origins: [] } })
    const refused = await get(none, '/', { origin }, 'OPTIONS')
    expect(refused.headers).not.toHaveProperty('access-control-allow-origin')
  })
})

describe('limits', () => {
  test('K013: a client that asks too often is told when to come back', async () => {
    const server = await open({ rateLimit: { requests: 2, windowSeconds: 60 } })
    const [wire] = wiresOf(server.handle)
    const send = () => wire?.ask('SendMessage', request('hi'))
    expect((await send())?.status).toBe(200)
    expect((await send())?.status).toBe(200)
    const refused = await send()
    expect(refused?.status).toBe(429)
    expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(0)
  })
})
