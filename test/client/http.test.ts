import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { HttpSend } from '../../src/bindings/http.ts'
import { fetchSend } from '../../src/client/fetch.ts'
import { createHttp } from '../../src/client/node.ts'
import { withTimeouts } from '../../src/client/timeouts.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { createFakeClock } from './fake-clock.ts'
import { selfSigned } from './self-signed.ts'
import { serve } from './serve.ts'

const get = { method: 'GET', headers: {} } as const
const senders: readonly (readonly [string, HttpSend])[] = [
  ['undici', createHttp().send],
  ['fetch', fetchSend()],
]

describe.each(senders)('HTTP over %s', (name, send) => {
  test('sends verb, headers and body, and gives back status, headers and text', async () => {
    const server = await serve(({ body }) => ({ status: 201, headers: { 'x-a': 'b' }, body }))
    const headers = { 'content-type': 'text/plain', 'x-b': 'c' }
    const reply = await send({ method: 'POST', url: server.url, headers, body: 'häuser' })
    expect(reply.status).toBe(201)
    expect(reply.headers['x-a']).toBe('b')
    expect(await reply.text()).toBe('"häuser"')
    expect(server.received[0]).toMatchObject({ method: 'POST', headers: { 'x-b': 'c' } })
  })

  test('gives the pieces of a body as they come', async () => {
    const more = createDeferred<void>()
    const server = await serve(() => (response) => {
      response.writeHead(200)
      response.write('one')
      void more.promise.then(() => response.end('two'))
    })
    const reply = await send({ ...get, url: server.url })
    const texts: string[] = []
    for await (const chunk of reply.chunks()) {
      texts.push(new TextDecoder().decode(chunk))
      more.resolve()
    }
    expect(texts).toEqual(['one', 'two'])
  })

  test('closes the connection of a reader who leaves', async () => {
    const closed = createDeferred<void>()
    const server = await serve(() => (response) => {
      response.once('close', () => closed.resolve())
      response.writeHead(200)
      response.write('one')
    })
    const reply = await send({ ...get, url: server.url })
    for await (const _ of reply.chunks()) break
    await closed.promise
  })

  test('rejects with the reason of the signal', async () => {
    const arrived = createDeferred<void>()
    const server = await serve(() => () => arrived.resolve())
    const controller = new AbortController()
    const reply = send({ ...get, url: server.url, signal: controller.signal })
    await arrived.promise
    controller.abort(new Error('enough'))
    await expect(reply).rejects.toThrow('enough')
  })

  test('names a connection that breaks', async () => {
    const server = await serve(() => (response) => response.destroy())
    await expect(send({ ...get, url: server.url })).rejects.toMatchObject({
      code: 'unavailable',
      details: { metadata: { arrival: 'unknown' } },
    })
  })

  test('names a body that breaks', async () => {
    const server = await serve(() => (response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('one', () => response.destroy())
    })
    const reply = await send({ ...get, url: server.url })
    await expect(reply.text()).rejects.toMatchObject({ code: 'unavailable' })
  })

  test('does not follow redirects', async () => {
    const other = await serve(() => ({ body: 'caught' }))
    const server = await serve(() => ({ status: 302, headers: { location: other.url } }))
    await send({ ...get, url: server.url, headers: { authorization: 'Bearer t' } }).catch(() => {})
    expect(other.received).toEqual([])
  })

  test('says what it tells of a refused connection', async () => {
    const server = await serve(() => ({}))
    await server.close()
    const arrival = name === 'undici' ? 'none' : 'unknown' // fetch does not tell them apart
    const error = await send({ ...get, url: `${server.url}/secret?key=k` }).catch((e) => e)
    expect(error).toMatchObject({ code: 'unavailable', details: { metadata: { arrival } } })
    expect(error.message).not.toContain('secret')
  })
})

describe('K011 TLS', () => {
  async function serveTls(): Promise<string> {
    const server = createServer(selfSigned, (_, response) => response.end('secret')).listen(0)
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo // a listening TCP server has one
    return `https://127.0.0.1:${port}`
  }

  test('refuses a certificate that nobody vouches for, and sends nothing', async () => {
    const http = createHttp()
    await expect(http.send({ ...get, url: await serveTls() })).rejects.toMatchObject({
      code: 'unavailable',
      details: { metadata: { arrival: 'none' } },
    })
    await http.close()
  })

  test('takes it where it is told to', async () => {
    const http = createHttp({ verifySsl: false })
    const reply = await http.send({ ...get, url: await serveTls() })
    expect(await reply.text()).toBe('secret')
    await http.close()
    await http.close()
  })
})

test.each(['ftp://h/', 'not a url'])('%s is no request', async (url) => {
  const code = 'invalidRequest'
  await expect(createHttp().send({ ...get, url })).rejects.toMatchObject({ code })
})

describe('timeouts', () => {
  const inner = createHttp().send

  test('end a request that gets no answer', async () => {
    const arrived = createDeferred<void>()
    const server = await serve(() => () => arrived.resolve())
    const clock = createFakeClock()
    const send = withTimeouts(inner, clock, { requestMs: 50 })
    const reply = send({ ...get, url: server.url })
    const failed = expect(reply).rejects.toMatchObject({ code: 'timeout' })
    await arrived.promise
    await clock.elapse(50)
    await failed
    expect(clock.pending).toBe(0)
  })

  test('end an answer that does not come to its end', async () => {
    const server = await serve(() => (response) => {
      response.writeHead(200)
      response.write('one')
    })
    const clock = createFakeClock()
    const send = withTimeouts(inner, clock, { requestMs: 50 })
    const reply = await send({ ...get, url: server.url })
    const failed = expect(reply.text()).rejects.toMatchObject({ code: 'timeout' })
    await clock.elapse(50)
    await failed
  })

  test('end a stream that falls silent, not one whose reader is slow', async () => {
    const server = await serve(() => (response) => {
      response.writeHead(200)
      response.write('one')
    })
    const clock = createFakeClock()
    const send = withTimeouts(inner, clock, { requestMs: 1000, idleMs: 70 })
    const reply = await send({ ...get, url: server.url })
    const chunks = reply.chunks()[Symbol.asyncIterator]()
    await chunks.next()
    clock.advance(10_000)
    const failed = expect(chunks.next()).rejects.toMatchObject({ code: 'timeout' })
    await clock.elapse(70)
    await failed
    expect(clock.pending).toBe(0)
  })

  test('leave the reason of the caller as it is', async () => {
    const server = await serve(() => () => {})
    const controller = new AbortController()
    const clock = createFakeClock()
    const send = withTimeouts(inner, clock)
    controller.abort(new Error('enough'))
    const request = { ...get, url: server.url, signal: controller.signal }
    await expect(send(request)).rejects.toThrow('enough')
    expect(clock.pending).toBe(0)
  })
})
