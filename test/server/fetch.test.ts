import { Hono } from 'hono'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  bearer,
  createServer,
  type Server,
  type ServerOptions,
  toFetch,
} from '../../src/server/index.ts'
import { silent } from '../../src/shared/log.ts'
import { createScriptedAgent, type ScriptedAgent } from '../conformance/agent.ts'
import { rpc, text } from './sockets.ts'

async function open(): Promise<{ readonly server: Server; readonly agent: ScriptedAgent }> {
  const agent = createScriptedAgent()
  const server = await createServer({ agents: [agent], timeouts: { shutdownMs: 0 } })
  onTestFinished(() => server.close())
  return { server, agent }
}

const at = (path: string): string => `https://agents.example${path}`
const card = '/.well-known/agent-card.json'

describe('a server as a fetch handler', () => {
  test('answers requests and points its card to where it was reached', async () => {
    const { server } = await open()
    const handler = toFetch(server)
    const shown = await (await handler(new Request(at(card)))).json()
    expect(shown.supportedInterfaces[0].url).toBe('https://agents.example/v1/rpc')
    const reply = await handler(new Request(at('/'), rpc('SendMessage', text('hi'))))
    expect((await reply.json()).result.task.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('streams, and notices a reader who leaves', async () => {
    const { server, agent } = await open()
    const handler = toFetch(server)
    const reply = await handler(new Request(at('/'), rpc('SendStreamingMessage', text('hold'))))
    expect(reply.headers.get('content-type')).toBe('text/event-stream')
    const reader = reply.body?.getReader()
    expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('data: ')
    await reader?.cancel()
    const metrics = await (await handler(new Request(at('/metrics')))).text()
    expect(metrics).toContain('corral_stream_watchers 0')
    agent.release()
  })

  test('gives 304 without a body, HEAD without one, and 413', async () => {
    const { server } = await open()
    const handler = toFetch(server, { maxBodyBytes: 100 })
    const etag = (await handler(new Request(at(card)))).headers.get('etag') ?? ''
    const again = await handler(new Request(at(card), { headers: { 'if-none-match': etag } }))
    expect([again.status, await again.text()]).toEqual([304, ''])
    const head = await handler(new Request(at(card), { method: 'HEAD' }))
    expect([head.status, await head.text()]).toEqual([200, ''])
    const large = new Request(at('/'), rpc('SendMessage', text('x'.repeat(1000))))
    expect((await handler(large)).status).toBe(413)
  })

  test('mounted under a path answers there and nowhere else', async () => {
    const { server } = await open()
    const handler = toFetch(server, { mount: '/a2a' })
    const shown = await (await handler(new Request(at(`/a2a${card}`)))).json()
    expect(shown.supportedInterfaces[0].url).toBe('https://agents.example/a2a/v1/rpc')
    const root = await handler(new Request(at('/a2a'), rpc('SendMessage', text('hi'))))
    expect((await root.json()).result.task).toBeDefined()
    for (const path of ['/a2aconstructor', '/a2a__proto__', '/a2abc/tasks', '/tasks', '/'])
      expect([path, (await handler(new Request(at(path)))).status]).toEqual([path, 404])
  })

  test('works inside a Hono app, beside its other routes', async () => {
    const { server } = await open()
    const app = new Hono()
    app.get('/hello', (c) => c.text('world'))
    app.all('/a2a/*', (c) => toFetch(server, { mount: '/a2a' })(c.req.raw))
    expect(await (await app.request('/hello')).text()).toBe('world')
    const reply = await app.request('/a2a/', rpc('SendMessage', text('hi')))
    expect((await reply.json()).result.task.artifacts[0].parts).toEqual([{ text: 'Echo: hi' }])
    const stream = await app.request('/a2a/', rpc('SendStreamingMessage', text('chunks a b')))
    expect((await stream.text()).match(/^data: /gm)?.length).toBeGreaterThan(3)
  })
})

describe('bodies under fetch', () => {
  const mib = 1024 * 1024
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }

  /** A body that gives its first bytes and then nothing until it is cancelled. */
  function openBody(length: number) {
    let pulled = 0
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (pulled > 0) return new Promise(() => {})
          pulled += 1024
          controller.enqueue(new Uint8Array(1024))
          return undefined
        },
      },
      { highWaterMark: 0 },
    )
    const sent = { ...headers, 'content-length': String(length) }
    return { method: 'POST', headers: sent, body, duplex: 'half', pulled: () => pulled }
  }

  async function serve(options: Partial<ServerOptions> = {}): Promise<Server> {
    const server = await createServer({
      agents: [createScriptedAgent()],
      logger: false,
      ...options,
    })
    onTestFinished(() => server.close())
    return server
  }

  test('that are large are not read without credentials where these are required', async () => {
    const auth = { authenticators: [bearer({ tokens: { secret: 'ada' } })] }
    const handler = toFetch(await serve({ auth }))
    const body = openBody(mib)
    const reply = await handler(new Request(at('/'), body))
    expect(reply.status).toBe(401)
    expect(await reply.json()).toMatchObject({ id: null })
    expect(body.pulled()).toBe(0)
  })

  test('have a share per address where addresses are known, and room in all', async () => {
    const limits = { maxBodyBytes: mib, maxInflightBodyBytes: 4 * mib }
    const clientAddress = (request: Request) => request.headers.get('x-client') ?? undefined
    const handler = toFetch(await serve({ limits }), { clientAddress })
    const open = (client: string): Promise<Response> => {
      const { headers: sent, ...rest } = openBody(mib)
      return handler(new Request(at('/'), { ...rest, headers: { ...sent, 'x-client': client } }))
    }
    void open('a')
    void open('a')
    const refused = await open('a')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    void open('b')
    void open('b')
    expect((await open('c')).status).toBe(503)
  })

  test('have no shares where addresses are unknown, and a warning says so once', async () => {
    const warnings: string[] = []
    const logger = { ...silent, warn: (_: object, message: string) => void warnings.push(message) }
    const limits = { maxBodyBytes: mib, maxInflightBodyBytes: 4 * mib }
    const server = await serve({ limits, logger })
    const handler = toFetch(server)
    toFetch(server)
    expect(warnings).toEqual([expect.stringContaining('clientAddress')])
    for (let i = 0; i < 4; i++) void handler(new Request(at('/'), openBody(mib)))
    const small = new Request(at('/'), rpc('SendMessage', text('hi')))
    small.headers.set('content-length', String((await small.clone().text()).length))
    expect((await handler(small)).status).toBe(200)
    expect((await handler(new Request(at('/'), openBody(mib)))).status).toBe(503)
  })

  test('have one limit: another than the server’s is an error', async () => {
    const server = await serve({ limits: { maxBodyBytes: 1000 } })
    expect(() => toFetch(server, { maxBodyBytes: 2000 })).toThrow(/give one of them/)
    expect(() => toFetch(server, { maxBodyBytes: 1000 })).not.toThrow()
  })
})
