import { describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { createServer, type Server, toFetch } from '../../src/server/index.ts'
import { exchange, rpc, serveAgent, text } from './sockets.ts'

const version = { 'content-type': 'application/json', 'a2a-version': '1.0' }

async function serveFetch(maxBodyBytes: number): Promise<(request: Request) => Promise<Response>> {
  const agent = defineAgent({ name: 'A' }, () => 'hi')
  const server: Server = await createServer({ agents: [agent] })
  onTestFinished(() => server.close())
  return toFetch(server, { maxBodyBytes })
}

describe('a reply that HTTP cannot carry', () => {
  test.each([
    ['with a line break', 'a\r\nset-cookie: x=1'],
    ['with letters beyond Latin-1', 'naïve → ☃'],
  ])('%s costs its own request and no other', async (_, value) => {
    const reply = { status: 200, headers: { 'x-odd': value }, body: 'odd' }
    const { url } = await serveAgent({
      routes: ({ path }) => {
        if (path === '/odd') return reply
        return path === '/later' ? Promise.resolve(reply) : undefined
      },
    })
    for (const path of ['/odd', '/later']) await expect(fetch(url + path)).rejects.toThrow()
    expect((await fetch(`${url}/health`)).status).toBe(200)
  })
})

describe('a body that does not end', () => {
  test('is not read beyond the limit under fetch', async () => {
    const handle = await serveFetch(1000)
    let sent = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent++
        controller.enqueue(new Uint8Array(500))
        if (sent === 100) controller.close()
      },
    })
    const request = { method: 'POST', headers: version, body, duplex: 'half' }
    const reply = await handle(new Request('http://a.example/', request))
    expect(reply.status).toBe(413)
    expect(sent).toBeLessThan(10)
  })

  test('that tells its length is not read at all', async () => {
    const handle = await serveFetch(1000)
    const headers = { ...version, 'content-length': '5000' }
    const body = 'x'.repeat(5000)
    const reply = await handle(new Request('http://a.example/', { method: 'POST', headers, body }))
    expect(reply.status).toBe(413)
  })
})

describe('hostile JSON', () => {
  const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  const message = (part: string): string =>
    `{"message":{"messageId":"m","role":"ROLE_USER","parts":[${part}]}}`

  test('nested a hundred thousand levels deep is refused on every wire', async () => {
    const { url } = await serveAgent()
    const data = deep(100_000)
    const params = message(`{"data":${data}}`)
    const old = `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"data","data":{"a":${data}}}],"metadata":{"a":${data}}}}`
    const bodies = [
      ['/', `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${params}}`],
      ['/', `{"jsonrpc":"2.0","id":1,"method":"message/send","params":${old}}`],
      [
        '/rpc',
        `{"jsonrpc":"2.0","id":1,"method":"message/send","params":${old.replaceAll('kind', 'type')}}`,
      ],
      ['/message:send', params],
      ['/v1/message:send', old],
      ['/v1/chat', `{"messages":[{"role":"user","content":"x","metadata":{"a":${data}}}]}`],
      ['/', `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":${data}}}`],
      ['/', data],
    ] as const
    for (const [path, body] of bodies) {
      const headers = { 'content-type': 'application/json' }
      const reply = await fetch(url + path, { method: 'POST', headers, body })
      const said = await reply.text()
      expect(said, `${path} ${body.slice(0, 60)}`).toMatch(/"error"|"code":-32602/)
      expect(said).not.toMatch(/"code":(-32603|500)|INTERNAL|Maximum call stack/)
      expect(said.length).toBeLessThan(5_000)
    }
    expect((await fetch(`${url}/health`)).status).toBe(200)
  })

  test('with members named __proto__ changes no object and is not handed on', async () => {
    const heard: unknown[] = []
    const agent = defineAgent({ name: 'A' }, (incoming) => {
      heard.push(JSON.stringify(incoming))
      return 'hi'
    })
    const { url } = await serveAgent({ agents: [agent] })
    const evil = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'
    const params = `{"__proto__":{"tenant":"x"},"message":{"__proto__":{"taskId":"t"},"messageId":"m","role":"ROLE_USER","metadata":${evil},"parts":[{"data":${evil}}]}}`
    const body = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${params}}`
    const reply = await fetch(url, { method: 'POST', headers: version, body })
    expect((await reply.json()).result.task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
    expect(heard.join()).not.toContain('__proto__')
  })

  test('an id that cannot be turned into text is refused, also where polls are counted', async () => {
    const { url } = await serveAgent({ rateLimit: { requests: 100 } })
    const params = { id: { toString: 1, valueOf: 1 } }
    const { error } = await (await fetch(url, rpc('GetTask', params))).json()
    expect(error.code).toBe(-32602)
  })

  test('bytes that are no UTF-8 do no harm', async () => {
    const { listening } = await serveAgent()
    const json = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"X"}}`)
    json[json.indexOf('X')] = 0xff
    const head = `POST / HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\nConnection: close\r\nContent-Length: ${json.length}\r\n\r\n`
    const reply = await exchange(listening.port, Buffer.concat([Buffer.from(head), json]))
    expect(reply).toContain('-32001')
  })
})

describe('hostile paths', () => {
  test.each([
    '/agents/..',
    '/agents/%2e%2e/.well-known/agent-card.json',
    '/agents/scripted%2F..%2Fother/',
    '/agents/%00',
    '/agents/%E0%A4%A/',
    '/../message:send',
    '/%2e%2e/tasks',
    '//tasks',
    '/constructor',
    '/__proto__/tasks/x',
  ])('%s leads nowhere it should not', async (path) => {
    const { listening } = await serveAgent()
    const reply = await exchange(
      listening.port,
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    )
    expect(reply).toMatch(/^HTTP\/1\.1 (200|400|404|405) /)
    expect(reply).not.toMatch(/TypeError|node:internal|\/src\//)
  })

  test('what a client names in its headers does not come back in a header of ours', async () => {
    const { url } = await serveAgent()
    const odd = { ...version, 'a2a-extensions': 'urn:x, urn:corral:extensions:trace:v1, a%0d%0ab' }
    const reply = await fetch(url, { ...rpc('SendMessage', text('hi')), headers: odd })
    expect(reply.headers.get('a2a-extensions')).toBe('urn:corral:extensions:trace:v1')
  })

  test('line breaks in ids do not break a stream into other events', async () => {
    const { url } = await serveAgent()
    const id = '1\n\ndata: {"forged":true}\n\n'
    const params = text('chunks a b', { metadata: { id } })
    const said = await (await fetch(url, rpc('SendStreamingMessage', params, id))).text()
    for (const line of said.split('\n')) expect(line).toMatch(/^$|^id: \d+$|^data: \{"jsonrpc"/)
  })
})

describe('a connection that is used again', () => {
  test('answers pipelined requests in their order', async () => {
    const { listening } = await serveAgent()
    const get = (path: string, more = ''): string =>
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`
    const reply = await exchange(
      listening.port,
      get('/health') + get('/nowhere') + get('/metrics', 'Connection: close\r\n'),
    )
    const statuses = [...reply.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
    expect(statuses).toEqual(['200', '404', '200'])
  })
})
