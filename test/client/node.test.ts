import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createHttp } from '../../src/client/node.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { serve } from './serve.ts'

const get = { method: 'GET', headers: {} } as const

/** Takes connections and never says a word, so that TLS does not come about. */
async function serveSilence(): Promise<{ url: string; connected: Promise<Socket> }> {
  const connected = createDeferred<Socket>()
  const server = createServer((socket) => connected.resolve(socket.on('error', () => {})))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo // a listening TCP server has one
  return { url: `https://127.0.0.1:${port}`, connected: connected.promise }
}

describe('a request whose connection is still being made', () => {
  test('ends with the reason of the signal at once', async () => {
    const { url, connected } = await serveSilence()
    const http = createHttp()
    onTestFinished(http.close)
    const controller = new AbortController()
    const failed = expect(http.send({ ...get, url, signal: controller.signal })).rejects.toThrow(
      'enough',
    )
    await connected
    controller.abort(new Error('enough'))
    await failed
  })

  test('ends when its time is over', async () => {
    const { url, connected } = await serveSilence()
    const clock = createFakeClock()
    const http = createHttp({ clock, requestMs: 50 })
    onTestFinished(http.close)
    const failed = expect(http.send({ ...get, url })).rejects.toMatchObject({ code: 'timeout' })
    await connected
    await clock.elapse(50)
    await failed
  })

  test('is not sent once it was given up', async () => {
    const server = await serve(() => ({}))
    const http = createHttp()
    onTestFinished(http.close)
    const controller = new AbortController()
    const given = http.send({ ...get, url: `${server.url}/given-up`, signal: controller.signal })
    controller.abort(new Error('enough'))
    await expect(given).rejects.toThrow('enough')
    await (await http.send({ ...get, url: `${server.url}/other` })).text()
    expect(server.received.map(({ path }) => path)).toEqual(['/other'])
  })
})

describe('a reply', () => {
  test('is the final one, whatever was said before it', async () => {
    const server = await serve(() => (response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' })
      response.end('done')
    })
    const reply = await createHttp().send({ ...get, url: server.url })
    expect(reply.status).toBe(200)
    expect(await reply.text()).toBe('done')
  })

  test('has one value for each header, however often it was sent', async () => {
    const server = await serve(() => (response) => {
      response.writeHead(200, { 'x-a': ['one', 'two'] })
      response.end()
    })
    const reply = await createHttp().send({ ...get, url: server.url })
    expect(reply.headers['x-a']).toBe('one, two')
    expect(await reply.text()).toBe('')
  })

  test('that is read leaves no timer behind', async () => {
    const server = await serve(() => ({ body: 'done' }))
    const clock = createFakeClock()
    const { send } = createHttp({ clock, requestMs: 50, idleMs: 50 })
    expect(await (await send({ ...get, url: server.url })).text()).toBe('"done"')
    expect(clock.pending()).toEqual([])
    for await (const _ of (await send({ ...get, url: server.url })).chunks());
    expect(clock.pending()).toEqual([])
  })

  test('that nobody reads is closed when its time is over', async () => {
    const closed = createDeferred<void>()
    const server = await serve(() => (response) => {
      response.once('close', () => closed.resolve())
      response.write('one')
    })
    const clock = createFakeClock()
    const { send } = createHttp({ clock, requestMs: 50 })
    const reply = await send({ ...get, url: server.url })
    await clock.elapse(50)
    await closed.promise
    await expect(reply.text()).rejects.toMatchObject({ code: 'timeout' })
  })

  test('gives what came before the connection broke, then says so', async () => {
    const server = await serve(() => (response) => {
      response.write('one')
      response.write('two', () => response.destroy())
    })
    const reply = await createHttp().send({ ...get, url: server.url })
    let text = ''
    const read = async (): Promise<void> => {
      for await (const piece of reply.chunks()) text += Buffer.from(piece).toString()
    }
    await expect(read()).rejects.toMatchObject({ code: 'unavailable' })
    expect(text).toBe('onetwo')
  })

  test('that is larger than a whole answer may be is refused, and its connection closed', async () => {
    const closed = createDeferred<void>()
    const block = Buffer.alloc(1024 * 1024)
    const server = await serve(() => (response) => {
      response.once('close', () => closed.resolve())
      for (let bytes = 0; bytes <= 64 * block.length; bytes += block.length) response.write(block)
    })
    const reply = await createHttp().send({ ...get, url: server.url })
    await expect(reply.text()).rejects.toMatchObject({ code: 'invalidAgentResponse' })
    await closed.promise
  })
})
