import type { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { createFakeClock } from '../../src/testing/index.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import { rpc, serveAgent, text } from './sockets.ts'
import { head, type Observed, observe, openClient, type RawClient } from './wire.ts'

const live = 'GET /health?live=1 HTTP/1.1\r\nhost: localhost\r\n\r\n'

/** A connection that has been answered and is kept for the next request. */
async function openIdle(port: number, from?: string): Promise<RawClient> {
  const client = await openClient(port, from)
  client.socket.write(live)
  await client.reply()
  return client
}

/** A connection with an open stream, or with a request that waits for its answer. */
async function openBusy(port: number, method: string, from?: string): Promise<RawClient> {
  const client = await openClient(port, from)
  const body = String(rpc(method, text('hold')).body)
  client.socket.write(head({ 'content-length': body.length }) + body)
  if (method === 'SendStreamingMessage') await client.until('TASK_STATE_WORKING')
  return client
}

function isOpen({ socket }: { readonly socket: Socket }): boolean {
  return !socket.destroyed && !socket.readableEnded
}

describe('at the bound of connections', () => {
  test('two thousand idle sockets do not keep an honest client out', async () => {
    const { url, listening } = await serveAgent({ limits: { maxConnections: 500 } })
    const idle: RawClient[] = []
    for (let i = 0; i < 2_000; i += 100)
      idle.push(
        ...(await Promise.all(Array.from({ length: 100 }, () => openClient(listening.port)))),
      )
    for (let i = 0; i < 20; i++) {
      const reply = await fetch(url, { ...rpc('SendMessage', text('hi')), keepalive: false })
      expect(reply.status).toBe(200)
    }
    await Promise.all(idle.slice(0, 1_400).map((client) => client.closed()))
    expect(idle.filter(isOpen).length).toBeLessThanOrEqual(500)
  })

  test('the address that holds most loses its longest idle one', async () => {
    const { listening } = await serveAgent({ limits: { maxConnections: 4 } })
    const { port } = listening
    const honest = await openIdle(port, '127.0.0.2')
    const [first, second, third] = [
      await openIdle(port),
      await openIdle(port),
      await openIdle(port),
    ]
    first.socket.write(live)
    await first.until('alive"}HTTP')
    const late = await openIdle(port, '127.0.0.3')
    await second.closed()
    expect([honest, first, third, late].map(isOpen)).toEqual([true, true, true, true])
  })

  test('where none is idle it loses its oldest stream, and the reader can resume', async () => {
    const { listening, agent } = await serveAgent({ limits: { maxConnections: 3 } })
    const { port } = listening
    const waiting = await openBusy(port, 'SendMessage')
    const streams = [
      await openBusy(port, 'SendStreamingMessage'),
      await openBusy(port, 'SendStreamingMessage'),
    ]
    const again = await openClient(port)
    const told = (await streams[0]?.closed()) ?? ''
    expect([waiting, streams[1], again].map((one) => one && isOpen(one))).toEqual([
      true,
      true,
      true,
    ])
    const id = /"taskId":"([^"]+)"/.exec(told)?.[1] ?? ''
    const seen = [...told.matchAll(/^id: (\d+)/gm)].at(-1)?.[1] ?? ''
    const body = String(rpc('SubscribeToTask', { id }).body)
    again.socket.write(head({ 'content-length': body.length, 'last-event-id': seen }) + body)
    await again.until('text/event-stream')
    agent.release()
    expect(await again.until('TASK_STATE_COMPLETED')).toContain('TASK_STATE_COMPLETED')
    expect(await waiting.reply()).toContain('TASK_STATE_COMPLETED')
  })

  test('a request that is still being sent goes before the new one is refused', async () => {
    const { listening } = await serveAgent({ limits: { maxConnections: 2 } })
    const { port } = listening
    const waiting = await openBusy(port, 'SendMessage')
    const sending = await openClient(port)
    sending.socket.write(head({ 'content-length': 1000, expect: '100-continue' }))
    await sending.until('100 Continue')
    const late = await openIdle(port)
    await sending.closed()
    expect([waiting, late].map(isOpen)).toEqual([true, true])
  })

  test('where all wait for their answers the new one is refused', async () => {
    const { listening, agent } = await serveAgent({ limits: { maxConnections: 2 } })
    const { port } = listening
    const waiting = [await openBusy(port, 'SendMessage'), await openBusy(port, 'SendMessage')]
    while (agent.heard.length < 2) await new Promise(setImmediate)
    const refused = await openClient(port, '127.0.0.2')
    expect(await refused.closed()).toMatch(/^HTTP\/1\.1 503 .*\r\nRetry-After: 1\r\n/)
    agent.release()
    for (const client of waiting) expect(await client.reply()).toContain('TASK_STATE_COMPLETED')
  })

  test('one address alone may hold as many streams as there are connections', async () => {
    const { listening } = await serveAgent({ limits: { maxConnections: 200 } })
    const streams: RawClient[] = []
    for (let i = 0; i < 200; i++)
      streams.push(await openBusy(listening.port, 'SendStreamingMessage'))
    expect(streams.filter(isOpen).length).toBe(200)
  })

  test('pipelined requests are one connection, answered in their order', async () => {
    const { listening } = await serveAgent({ limits: { maxConnections: 1 } })
    const client = await openClient(listening.port)
    const bodies = [1, 2, 3].map((id) => String(rpc('SendMessage', text('hi'), id).body))
    client.socket.write(bodies.map((one) => head({ 'content-length': one.length }) + one).join(''))
    const all = await client.until('"id":3}')
    expect([...all.matchAll(/"id":(\d)\}/g)].map(([, id]) => id)).toEqual(['1', '2', '3'])
  })
})

/** So many requests in one write: the server finds all of them in one piece. */
function pipelined(count: number, words: string): string {
  const one = (id: number): string => {
    const body = String(rpc('SendMessage', text(words), id).body)
    return head({ 'content-length': body.length }) + body
  }
  return Array.from({ length: count }, (_, i) => one(i + 1)).join('')
}

describe('requests that a client sends before the earlier ones are answered', () => {
  test('above eight the server reads no more until some are answered, then goes on', async () => {
    const agent = createScriptedAgent()
    const { port, url, sockets } = await observe({ agents: [agent] })
    const client = await openClient(port)
    client.socket.write(pipelined(9, 'hold'))
    while (!sockets[0]?.isPaused()) await new Promise(setImmediate)
    while (agent.heard.length < 9) await new Promise(setImmediate)
    const before = sockets[0].bytesRead
    client.socket.write(`${live}${head({ 'content-length': 64 })}${' '.repeat(64)}`)
    for (let i = 0; i < 20; i++) await fetch(`${url}/health?live=1`)
    expect(sockets[0].bytesRead).toBe(before)
    agent.release()
    const all = await client.until('-32700')
    const ids = [...all.matchAll(/"id":(\d+)\}/g)].map(([, id]) => Number(id))
    expect(ids).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(all).toContain('"status":"alive"')
    expect(isOpen(client)).toBe(true)
  })

  test('a body that the server itself does not read is not too slow', async () => {
    const clock = createFakeClock()
    const agent = createScriptedAgent()
    const { port, sockets } = await observe({ agents: [agent], clock })
    const client = await openClient(port)
    const body = String(rpc('SendMessage', text('late'), 10).body)
    client.socket.write(pipelined(9, 'hold') + head({ 'content-length': body.length }))
    while (!sockets[0]?.isPaused() || agent.heard.length < 9) await new Promise(setImmediate)
    client.socket.write(body)
    for (let i = 0; i < 20; i++) clock.advance(4_000)
    agent.release()
    expect(await client.until('"id":10}')).not.toContain('HTTP/1.1 408')
  })

  test('above thirty-two the connection is closed, and no more of them is begun', async () => {
    const { listening, agent } = await serveAgent()
    const client = await openClient(listening.port)
    client.socket.write(pipelined(200, 'hold'))
    expect(await client.closed()).toBe('')
    expect(agent.heard.length).toBeLessThanOrEqual(32)
    expect((await fetch(`${listening.url}/health?live=1`)).status).toBe(200)
  })

  test('thousands of pages in one piece cost the answers of few', async () => {
    let asked = 0
    const { listening } = await serveAgent({
      routes() {
        asked++
        return undefined
      },
    })
    const client = await openClient(listening.port)
    client.socket.on('error', () => {})
    client.socket.write(live.repeat(1_200))
    await client.closed()
    expect(asked).toBeLessThanOrEqual(32)
  })

  test('what follows the one too many in the same piece is not even parsed', async () => {
    const { port, responses } = await observe({ agents: [createScriptedAgent()] })
    const client = await openClient(port)
    client.socket.on('error', () => {})
    client.socket.write(pipelined(200, 'hold'))
    await client.closed()
    expect(responses).toHaveLength(33)
  })

  test('a long row of them, a few at a time, is answered on one connection', async () => {
    const { listening } = await serveAgent()
    const client = await openClient(listening.port)
    for (let round = 1; round <= 50; round++) {
      client.socket.write(live.repeat(8))
      while ((await client.until('alive')).split('"alive"').length <= round * 8)
        await new Promise(setImmediate)
    }
    expect(isOpen(client)).toBe(true)
  })
})

/** Waits until nobody has a response any more; a timer or a callback of Node's may hold it for some ticks. */
async function collected(responses: Observed['responses']): Promise<boolean> {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const isHeld = (): boolean => responses.some((response) => response.deref())
  for (let tick = 0; tick < 1_000 && isHeld(); tick++) {
    await new Promise(setImmediate)
    if (tick % 20 === 0) collect()
  }
  return !isHeld()
}

describe('a connection that rests', () => {
  test.each([
    ['an answer', 'SendMessage', '"id":1}'],
    ['a stream', 'SendStreamingMessage', '\r\n0\r\n\r\n'],
  ])('keeps nothing of %s that went over it', async (_, method, end) => {
    const { port, responses } = await observe()
    const client = await openClient(port)
    const body = String(rpc(method, text('chunks a b')).body)
    client.socket.write(head({ 'content-length': body.length }) + body)
    expect(await client.until(end)).toContain('TASK_STATE_COMPLETED')
    expect(await collected(responses)).toBe(true)
    expect(isOpen(client)).toBe(true)
  })

  test('keeps nothing of what a slow reader has taken at last', async () => {
    const { port, sockets, responses } = await observe()
    const client = await openClient(port)
    client.socket.pause()
    while (!sockets[0]) await new Promise(setImmediate)
    // More than the system takes for a reader who does not read.
    sockets[0].write(Buffer.alloc(32 * 1024 * 1024, ' '))
    const body = String(rpc('SendMessage', text('hi')).body)
    client.socket.write(head({ 'content-length': body.length }) + body)
    while (!responses[0]?.deref()?.writableEnded) await new Promise(setImmediate)
    expect(responses[0].deref()?.writableFinished).toBe(false)
    client.socket.resume()
    expect(await client.until('"id":1}')).toContain('TASK_STATE_COMPLETED')
    expect(await collected(responses)).toBe(true)
    expect(isOpen(client)).toBe(true)
  })
})
