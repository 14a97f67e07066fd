import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { createServer, listen } from '../../src/server/index.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import { exchange, rpc, serveAgent, text } from './sockets.ts'

const card = '/.well-known/agent-card.json'

/** How many streams the server still serves. */
async function watchers(url: string): Promise<string | undefined> {
  const page = await (await fetch(`${url}/metrics`)).text()
  return page.match(/stream_watchers (\d+)/)?.[1]
}

describe('a server on node:http', () => {
  test('answers, streams and sets the address of its card', async () => {
    const { url, listening } = await serveAgent()
    const shown = await (await fetch(url + card)).json()
    expect(shown.supportedInterfaces[0].url).toBe(`http://localhost:${listening.port}/v1/rpc`)
    const { result } = await (await fetch(url, rpc('SendMessage', text('hi')))).json()
    expect(result.task.status.state).toBe('TASK_STATE_COMPLETED')
    const stream = await fetch(url, rpc('SendStreamingMessage', text('chunks a b')))
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
    expect((await stream.text()).match(/^data: /gm)?.length).toBeGreaterThan(3)
  })

  test('a burst of chunks that is larger than any buffer on its way arrives whole', async () => {
    const agent = defineAgent({ name: 'Flood' }, async function* (_message, turn) {
      for (let i = 0; i < 100; i++)
        yield turn.artifact({ artifactId: 'a', parts: [{ text: `${i} ${'x'.repeat(30_000)}` }] })
    })
    const server = await createServer({ agents: [agent], logger: false })
    const listening = await listen(server, { port: 0, host: '127.0.0.1' })
    onTestFinished(() => listening.close())
    const url = `http://127.0.0.1:${listening.port}`
    const answer = await (await fetch(url, rpc('SendStreamingMessage', text('go')))).text()
    const numbers = [...answer.matchAll(/"text":"(\d+) x/g)].map(([, number]) => Number(number))
    expect(numbers).toEqual(Array.from({ length: 100 }, (_, i) => i))
    expect(answer).toContain('TASK_STATE_COMPLETED')
  })

  test('HEAD has the headers of GET and no body', async () => {
    const { url } = await serveAgent()
    for (const path of [card, '/health', '/metrics', '/agents']) {
      const whole = await fetch(url + path)
      const head = await fetch(url + path, { method: 'HEAD' })
      expect([path, head.status]).toEqual([path, whole.status])
      expect(head.headers.get('content-type')).toBe(whole.headers.get('content-type'))
      expect(await head.text()).toBe('')
    }
  })

  test('a body beyond the limit is refused with 413 in the caller’s own terms', async () => {
    const { url } = await serveAgent({ listen: { maxBodyBytes: 1000 } })
    const large = text('x'.repeat(2000))
    const viaRpc = await fetch(url, rpc('SendMessage', large))
    expect(viaRpc.status).toBe(413)
    expect(await viaRpc.json()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32600 } })
    const headers = { 'content-type': 'application/a2a+json' }
    const body = JSON.stringify(large)
    const viaRest = await fetch(`${url}/message:send`, { method: 'POST', headers, body })
    expect(viaRest.status).toBe(413)
    expect(await viaRest.json()).toMatchObject({ error: { code: 413 } })
  })

  test('a request target in absolute form is served like its path', async () => {
    const { listening } = await serveAgent({ allowedHosts: ['agents.example'] })
    const reply = await exchange(
      listening.port,
      `GET http://agents.example${card} HTTP/1.1\r\nHost: agents.example\r\nConnection: close\r\n\r\n`,
    )
    expect(reply).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('a client that leaves a stream is forgotten', async () => {
    const { url, agent } = await serveAgent()
    const reply = await fetch(url, rpc('SendStreamingMessage', text('hold')))
    const reader = reply.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    while ((await watchers(url)) !== '0') await new Promise(setImmediate)
    agent.release()
  })

  test('a client that leaves a stream before its first event is forgotten, too', async () => {
    const { url, agent, listening } = await serveAgent()
    const { method, headers, body } = rpc('SendStreamingMessage', text('mute'))
    const leaving = httpRequest({ port: listening.port, method, headers } as object)
    leaving.on('error', () => {})
    leaving.end(body)
    while (agent.heard.length === 0) await new Promise(setImmediate)
    leaving.destroy()
    // Whether the server sees the close before or after the first event, it must let the watcher go.
    expect(await watchers(url)).toBe('1')
    agent.release()
    while ((await watchers(url)) !== '0') await new Promise(setImmediate)
  })

  test('a reply that nobody reads any more hurts nobody', async () => {
    const { listening, agent, url } = await serveAgent()
    const body = rpc('SendMessage', text('hold')).body as string // rpc() writes a string
    const socket = connect(listening.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(
      `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    while (agent.heard.length === 0) await new Promise(setImmediate)
    socket.destroy()
    agent.release()
    expect((await fetch(`${url}/health`)).status).toBe(200)
  })

  test('close ends connections and waits, twice as well as once', async () => {
    const { url, listening } = await serveAgent()
    const stream = await fetch(url, rpc('SendStreamingMessage', text('hold')))
    const read = stream.text().catch(() => 'cut')
    const blocked = fetch(url, rpc('SendMessage', text('hold'))).then(
      ({ status }) => status,
      () => 'cut',
    )
    await Promise.all([listening.close(), listening.close()])
    await read
    expect([503, 'cut']).toContain(await blocked)
    await expect(fetch(url)).rejects.toThrow()
  })

  test('a port that is taken is named, with what to do', async () => {
    const { listening } = await serveAgent()
    const server = await createServer({ agents: [createScriptedAgent()] })
    const again = listen(server, { port: listening.port, host: '127.0.0.1' })
    await expect(again).rejects.toThrow(/already in use; choose another/)
    await server.close()
  })
})

describe('bytes that are no proper request', () => {
  test.each([
    ['garbage', '\u0000\u0001\u0002 nonsense\r\n\r\n'],
    ['an HTTP version of its own', 'GET / HTTP/9.9\r\n\r\n'],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    ],
    [
      'a length and chunks',
      'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a length that is none', 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: many\r\n\r\n'],
    [
      'a header without end',
      `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'a'.repeat(40_000)}\r\n\r\n`,
    ],
    ['TLS', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001'],
  ])('are refused and closed: %s', async (_name, bytes) => {
    const { listening, url } = await serveAgent()
    const reply = await exchange(listening.port, bytes)
    expect(reply).toMatch(/^HTTP\/1\.1 4\d\d /)
    expect((await fetch(`${url}/health?live=1`)).status).toBe(200)
  })

  test('a shorter body than promised leaves the server whole', async () => {
    const { listening, url, agent } = await serveAgent()
    const socket = connect(listening.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"jsonrpc"')
    await new Promise<void>((resolve) => socket.once('connect', resolve))
    socket.destroy()
    expect((await fetch(`${url}/health`)).status).toBe(200)
    expect(agent.heard).toEqual([])
  })

  test('bytes that are no UTF-8 are answered', async () => {
    const { url } = await serveAgent()
    const headers = { 'content-type': 'application/json' }
    const body = new Uint8Array([0x7b, 0xff, 0xfe, 0x7d])
    const reply = await fetch(url, { method: 'POST', headers, body })
    expect(await reply.json()).toMatchObject({ error: { code: -32700 } })
  })

  test('JSON nested a hundred thousand deep is answered', async () => {
    const { url } = await serveAgent()
    const deep = '['.repeat(100_000) + ']'.repeat(100_000)
    const body = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":${deep}}]}}}`
    const init = { ...rpc('x', {}), body }
    expect(await (await fetch(url, init)).json()).toMatchObject({ id: 1, error: { code: -32602 } })
    const metadata = `{"jsonrpc":"2.0","id":2,"method":"GetTask","params":{"id":"a","metadata":${deep}}}`
    const other = await (await fetch(url, { ...init, body: metadata })).json()
    expect(other).toMatchObject({ id: 2, error: expect.anything() })
    const whole = await (await fetch(url, { ...init, body: deep })).json()
    expect(whole).toBeDefined()
  })
})
