import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { rpc, text } from './sockets.ts'
import { head, type Observed, observe, openClient } from './wire.ts'

const mib = 1024 * 1024
/** The first of the two bytes of the letter that the agent says. */
const firstByte = /\u00c3/g

/** Says this many MiB: at once, or in as many events. */
function createLoudAgent(size: number, pieces: number) {
  return defineAgent({ name: 'Loud' }, async function* () {
    const words = 'é'.repeat((size * mib) / 2 / pieces)
    for (let i = 0; i < pieces; i++) yield words
  })
}

/** Waits until the server writes no more for now, and tells how much it has written. */
async function untilStill({ sockets }: Observed): Promise<number> {
  for (;;) {
    const before = sockets[0]?.bytesWritten ?? 0
    for (let i = 0; i < 50; i++) await new Promise(setImmediate)
    if (before > 0 && sockets[0]?.bytesWritten === before) return before
  }
}

/** Waits until the server has more to write than the other side takes. */
async function untilFull(served: Observed): Promise<void> {
  while (!served.sockets[0]?.writableLength) await untilStill(served)
}

async function ask(served: Observed, method: string) {
  const client = await openClient(served.port)
  client.socket.pause()
  const body = String(rpc(method, text('go')).body)
  client.socket.write(head({ 'content-length': body.length }) + body)
  return client
}

describe.each([
  ['a stream of many events', 'SendStreamingMessage', 256],
  ['a stream of one large event', 'SendStreamingMessage', 1],
  ['a large reply', 'SendMessage', 1],
])('a reader who takes nothing of %s', (_, method, pieces) => {
  test('is cut off after the write timeout and not before', async () => {
    const clock = createFakeClock()
    const served = await observe({
      clock,
      agents: [createLoudAgent(24, pieces)],
      limits: { writeTimeoutSeconds: 30 },
    })
    await ask(served, method)
    await untilFull(served)
    clock.advance(29_000)
    expect(served.sockets[0]?.destroyed).toBe(false)
    clock.advance(10_000)
    expect(served.sockets[0]?.destroyed).toBe(true)
    const page = await (await fetch(`${served.url}/metrics`)).text()
    expect(page).toMatch(/stream_watchers 0/)
  })

  test('holds no more than a few pieces at the server’s end', async () => {
    const served = await observe({ agents: [createLoudAgent(24, pieces)] })
    await ask(served, method)
    await untilFull(served)
    expect(served.sockets[0]?.writableLength).toBeLessThan(mib / 2)
  })

  test('is not one who takes a little now and then: it gets everything', async () => {
    const clock = createFakeClock()
    const served = await observe({
      clock,
      agents: [createLoudAgent(24, pieces)],
      limits: { writeTimeoutSeconds: 30 },
    })
    const { socket } = await ask(served, method)
    let letters = 0
    socket.on('data', (chunk) => {
      letters += String(chunk).match(firstByte)?.length ?? 0
    })
    socket.pause()
    for (;;) {
      const written = await untilStill(served)
      const [own] = served.sockets
      if (!own?.writableLength) break
      clock.advance(20_000)
      socket.resume()
      while (own.bytesWritten === written && own.writableLength > 0) await new Promise(setImmediate)
      socket.pause()
    }
    socket.resume()
    while (letters < 12 * mib) await new Promise(setImmediate)
    expect(letters).toBe(12 * mib)
  })
})
