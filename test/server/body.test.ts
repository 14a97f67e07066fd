import { describe, expect, test } from 'vitest'
import { createServer, listen } from '../../src/server/index.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import { rpc, text } from './sockets.ts'
import {
  bodyOf,
  head,
  type Observed,
  observe,
  openClient,
  type RawClient,
  toChunk,
} from './wire.ts'

const kib = 1024
const mib = 1024 * kib
/** What Node may have taken from the socket before anyone could refuse: the first read, and what it buffers. */
const slack = 256 * kib

/** Says that a body of this length will come, and sends a part of it. */
async function promise(port: number, length: number, from?: string): Promise<RawClient> {
  const client = await openClient(port, from)
  client.socket.write(head({ 'content-length': length }))
  client.socket.write('a'.repeat(kib))
  return client
}

function statusOf(reply: string): string | undefined {
  return reply.split(' ')[1]
}

/** Waits until the server has read so many bytes on one of its connections. */
async function untilRead({ sockets }: Observed, index: number, bytes: number): Promise<void> {
  while ((sockets[index]?.bytesRead ?? 0) < bytes) await new Promise(setImmediate)
}

describe('a body beyond the limit', () => {
  test('is refused by its announcement, and a slow client can read the answer', async () => {
    const { port, sockets } = await observe({ limits: { maxBodyBytes: mib } })
    const client = await openClient(port)
    client.socket.write(head({ 'content-length': 9 * mib }))
    await client.pour(Buffer.alloc(4 * kib, 'a'), 2304)
    const reply = await client.reply()
    expect(reply).toMatch(/^HTTP\/1\.1 413 /)
    expect(reply).toMatch(/connection: close/i)
    expect(bodyOf(reply)).toMatchObject({
      id: null,
      error: { message: expect.stringContaining('1048576') },
    })
    expect(sockets[0]?.bytesRead).toBeLessThan(slack)
    await client.closed()
  })

  test('that has no end is refused as soon as its bytes are too many', async () => {
    const { port, sockets } = await observe({ limits: { maxBodyBytes: mib } })
    const client = await openClient(port)
    client.socket.write(head({ 'transfer-encoding': 'chunked' }))
    await client.pour(Buffer.from(toChunk('a'.repeat(32 * kib))), 2000)
    expect(statusOf(await client.reply())).toBe('413')
    expect(sockets[0]?.bytesRead).toBeLessThan(mib + slack)
    await client.closed()
  })

  test('of which nothing is wanted is not asked for', async () => {
    const server = await createServer({ agents: [createScriptedAgent()] })
    const { port, close } = await listen(server, { port: 0, host: '127.0.0.1' })
    const refused = await openClient(port)
    refused.socket.write(head({ 'content-length': 11 * mib, expect: '100-continue' }))
    expect(await refused.reply()).toMatch(/^HTTP\/1\.1 413 /)
    const taken = await openClient(port)
    const { body } = rpc('SendMessage', text('hi'))
    taken.socket.write(head({ 'content-length': String(body).length, expect: '100-continue' }))
    await taken.until('100 Continue')
    taken.socket.write(String(body))
    expect(await taken.reply()).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /)
    await close()
  })

  test('that another adapter names differently than the server is an error', async () => {
    const server = await createServer({
      agents: [createScriptedAgent()],
      limits: { maxBodyBytes: 1000 },
    })
    const twice = listen(server, { port: 0, maxBodyBytes: 2000 })
    await expect(twice).rejects.toThrow(/maxBodyBytes says 2000 and limits says 1000/)
    await server.close()
  })
})

describe('bodies that are being read', () => {
  const limits = { maxBodyBytes: mib, maxInflightBodyBytes: 4 * mib }

  test('have room for half of the whole per sender, before anything is read beyond', async () => {
    const served = await observe({ limits })
    const { port } = served
    for (let i = 0; i < 4; i++) {
      await promise(port, mib / 2)
      await untilRead(served, i, kib)
    }
    const refused = await promise(port, mib / 2)
    const reply = await refused.reply()
    expect(reply).toMatch(/^HTTP\/1\.1 503 /)
    expect(reply).toMatch(/retry-after: 1/i)
    expect(reply).toMatch(/connection: close/i)
    const elsewhere = await openClient(port, '127.0.0.2')
    const body = String(rpc('SendMessage', text('a'.repeat(mib / 2))).body)
    elsewhere.socket.write(head({ 'content-length': body.length }) + body)
    expect(statusOf(await elsewhere.reply())).toBe('200')
  })

  test('have room in all, whoever sends them', async () => {
    const served = await observe({ limits })
    const { port } = served
    for (const i of [0, 1, 2, 3]) {
      await promise(port, mib, i < 2 ? '127.0.0.1' : '127.0.0.2')
      await untilRead(served, i, kib)
    }
    const refused = await promise(port, mib, '127.0.0.3')
    expect(statusOf(await refused.reply())).toBe('503')
  })

  test('give their room back when they are whole, refused or left', async () => {
    const served = await observe({ limits })
    const { port, url, sockets } = served
    for (let round = 0; round < 3; round++) {
      const before = sockets.length
      const clients = await Promise.all([promise(port, mib), promise(port, mib)])
      await Promise.all(clients.map((_, i) => untilRead(served, before + i, kib)))
      const gone = sockets
        .slice(before)
        .map((socket) => new Promise((resolve) => socket.once('close', resolve)))
      for (const { socket } of clients) socket.destroy()
      await Promise.all(gone)
      const large = rpc('SendMessage', text('a'.repeat(mib - kib)))
      expect((await fetch(url, large)).status).toBe(200)
    }
  })

  test('count when they are small and do not come to their end', async () => {
    const { port } = await observe({ limits: { ...limits, maxInflightBodyBytes: mib } })
    const chunk = 'a'.repeat(60 * kib)
    const clients: RawClient[] = []
    for (let i = 0; i < 18; i++) {
      const client = await openClient(port)
      client.socket.write(head({ 'content-length': 64 * kib }) + chunk)
      clients.push(client)
    }
    expect(statusOf(await Promise.race(clients.map((client) => client.reply())))).toBe('503')
  })

  test('that would never fit are too large', async () => {
    const { port } = await observe({ limits: { maxInflightBodyBytes: mib } })
    const client = await promise(port, mib + 1)
    expect(statusOf(await client.reply())).toBe('413')
  })
})

describe('a body that comes too slowly', () => {
  test('is answered 408 in the caller’s terms, and its connection is closed', async () => {
    const clock = createFakeClock()
    const served = await observe({ clock })
    const { port } = served
    const dripping = [
      await promise(port, 100 * kib),
      await promise(port, 2 * kib),
      await openClient(port),
    ]
    dripping[2]?.socket.write(head({ 'content-length': 10 }))
    await Promise.all([0, 1].map((i) => untilRead(served, i, kib)))
    await untilRead(served, 2, 100)
    clock.advance(10_000)
    for (const { socket } of dripping) socket.write('a')
    clock.advance(14_000)
    for (const client of dripping) {
      const reply = await client.reply()
      expect(reply).toMatch(/^HTTP\/1\.1 408 /)
      expect(reply).toMatch(/connection: close/i)
      expect(bodyOf(reply)).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32600 } })
    }
    clock.advance(1_000)
    for (const client of dripping) await client.closed()
  })

  test('is one that stalls: a steady one is read to its end, however long it takes', async () => {
    const clock = createFakeClock()
    const served = await observe({ clock })
    const { port } = served
    const body = String(rpc('SendMessage', text('a'.repeat(200 * kib))).body)
    const client = await openClient(port)
    client.socket.write(head({ 'content-length': body.length }))
    for (let at = 0; at < body.length; at += 11 * kib) {
      client.socket.write(body.slice(at, at + 11 * kib))
      await untilRead(served, 0, Math.min(at + 11 * kib, body.length))
      clock.advance(20_000)
    }
    expect(statusOf(await client.reply())).toBe('200')
  })
})
