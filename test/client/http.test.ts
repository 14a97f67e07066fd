import { createHash } from 'node:crypto'
import { getEventListeners, once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ClientReply, HttpSend } from '../../src/bindings/http.ts'
import { fetchSend } from '../../src/client/fetch.ts'
import { type HttpOptions, withTimeouts } from '../../src/client/http.ts'
import { createHttp } from '../../src/client/node.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { selfSigned } from './self-signed.ts'
import { serve } from './serve.ts'

const get = { method: 'GET', headers: {} } as const
const senders: readonly (readonly [string, HttpSend])[] = [
  ['undici', createHttp().send],
  ['fetch', fetchSend()],
]

async function inPieces(reply: ClientReply): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const piece of reply.chunks()) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

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

  test('reads a character that comes in two pieces', async () => {
    const bytes = Buffer.from('häuser')
    const server = await serve(() => (response) => {
      response.write(bytes.subarray(0, 2), () =>
        setImmediate(() => response.end(bytes.subarray(2))),
      )
    })
    const reply = await send({ ...get, url: server.url })
    expect(await reply.text()).toBe('häuser')
  })

  test.each([
    ['a reader who takes it whole', async (reply: ClientReply) => reply.text()],
    ['a reader who takes it in pieces', inPieces],
  ])('holds a large body back until it is read, and loses nothing of it: %s', async (_, read) => {
    const blocks = Array.from({ length: 512 }, (_, i) => String(i % 10).repeat(64 * 1024))
    let sent = 0
    const server = await serve(({ path }) =>
      path === '/other'
        ? {}
        : async (response) => {
            for (sent = 0; sent < blocks.length; sent++)
              if (!response.write(blocks[sent])) await once(response, 'drain')
            response.end()
          },
    )
    const reply = await send({ ...get, url: server.url })
    // What nobody holds back arrives while others are served.
    for (let last = -1, same = 0; same < 50; same = sent === last ? same + 1 : 0) {
      last = sent
      await (await send({ ...get, url: `${server.url}/other` })).text()
    }
    expect(sent).toBeLessThan(blocks.length)
    expect(
      createHash('sha256')
        .update(await read(reply))
        .digest('hex'),
    ).toBe(createHash('sha256').update(blocks.join('')).digest('hex'))
  })

  test('rejects with the reason of a signal that fires while the body comes', async () => {
    const closed = createDeferred<void>()
    const server = await serve(() => (response) => {
      response.once('close', () => closed.resolve())
      response.write('one')
    })
    const controller = new AbortController()
    const reply = await send({ ...get, url: server.url, signal: controller.signal })
    const text = expect(reply.text()).rejects.toThrow('enough')
    controller.abort(new Error('enough'))
    await text
    await closed.promise
  })

  test('sends nothing where the signal has fired', async () => {
    const server = await serve(() => ({}))
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(send({ ...get, url: server.url, signal })).rejects.toThrow('enough')
    expect(server.received).toEqual([])
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

test('no listener stays on a signal when all is over', async () => {
  const server = await serve(() => ({ body: 'done' }))
  const { signal } = new AbortController()
  const { send } = createHttp()
  await (await send({ ...get, url: server.url, signal })).text()
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('what is under way when the client closes fails', async () => {
  const arrived = createDeferred<void>()
  const server = await serve(() => () => arrived.resolve())
  const http = createHttp()
  const reply = expect(http.send({ ...get, url: server.url })).rejects.toMatchObject({
    code: 'invalidRequest',
    message: 'The client is closed',
  })
  await arrived.promise
  await http.close()
  await reply
})

const timed: readonly (readonly [string, (limits: HttpOptions) => HttpSend])[] = [
  ['by the exchange', (limits) => createHttp(limits).send],
  ['by a signal, over undici', (limits) => withTimeouts(createHttp().send, limits)],
  ['by a signal, over fetch', (limits) => withTimeouts(fetchSend(), limits)],
]

describe.each(timed)('timeouts %s', (_, createSend) => {
  test('end a request that gets no answer', async () => {
    const arrived = createDeferred<void>()
    const server = await serve(() => () => arrived.resolve())
    const clock = createFakeClock()
    const send = createSend({ clock, requestMs: 50 })
    const reply = send({ ...get, url: server.url })
    const failed = expect(reply).rejects.toMatchObject({ code: 'timeout' })
    await arrived.promise
    await clock.elapse(50)
    await failed
    expect(clock.pending()).toEqual([])
  })

  test('end an answer that does not come to its end', async () => {
    const server = await serve(() => (response) => {
      response.writeHead(200)
      response.write('one')
    })
    const clock = createFakeClock()
    const send = createSend({ clock, requestMs: 50 })
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
    const send = createSend({ clock, requestMs: 1000, idleMs: 70 })
    const reply = await send({ ...get, url: server.url })
    const chunks = reply.chunks()[Symbol.asyncIterator]()
    await chunks.next()
    clock.advance(10_000)
    const failed = expect(chunks.next()).rejects.toMatchObject({ code: 'timeout' })
    await clock.elapse(70)
    await failed
    expect(clock.pending()).toEqual([])
  })

  test('leave the reason of the caller as it is', async () => {
    const server = await serve(() => () => {})
    const controller = new AbortController()
    const clock = createFakeClock()
    const send = createSend({ clock, requestMs: 50 })
    controller.abort(new Error('enough'))
    const request = { ...get, url: server.url, signal: controller.signal }
    await expect(send(request)).rejects.toThrow('enough')
    expect(clock.pending()).toEqual([])
  })
})
