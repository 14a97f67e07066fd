import { describe, expect, test } from 'vitest'
import { A2AClient } from '../../src/client/index.ts'
import { idempotencyExtension } from '../../src/protocol/extensions.ts'
import type { StreamResponse } from '../../src/protocol/types.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { Raw, type RpcCall, serveAgent, streamOf } from './agent.ts'

const ids = { taskId: 't1', contextId: 'c1' }
const working = { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_WORKING' } }
const completed = { statusUpdate: { ...ids, status: { state: 'TASK_STATE_COMPLETED' } } }
const knowsKeys = { capabilities: { streaming: true, extensions: [{ uri: idempotencyExtension }] } }
const streams = { capabilities: { streaming: true } }

function chunk(text: string): object {
  const artifact = { artifactId: 'a', parts: [{ text }] }
  return { artifactUpdate: { ...ids, artifact, append: true } }
}

/** Headers of a stream and nothing else, then the end; broken off or not. */
function empty(end: 'broken' | 'whole'): Raw {
  return new Raw((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(': hello\n\n', () => (end === 'broken' ? response.destroy() : response.end()))
  })
}

async function collect(events: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const seen: StreamResponse[] = []
  for await (const event of events) seen.push(event)
  return seen
}

describe('a message whose stream is cut before its first event', () => {
  test.each(['broken', 'whole'] as const)(
    'is sent again with its key where the card declares idempotency (%s)',
    async (end) => {
      const clock = createFakeClock()
      const replies = [
        () => empty(end),
        (call: RpcCall) => streamOf(call, [{ task: working }, completed]),
      ]
      const agent = await serveAgent(
        { SendStreamingMessage: (call) => replies.shift()?.(call) },
        knowsKeys,
      )
      const client = new A2AClient({ serverUrl: agent.url, clock, random: () => 1 })
      const seen = collect(client.sendAndFollow('hi'))
      await clock.elapse(250)
      expect(await seen).toEqual([{ task: working }, completed])
      const keys = agent.calls.map(({ headers }) => headers['idempotency-key'])
      expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/)
      expect(keys[1]).toBe(keys[0])
      expect(agent.calls[1]?.params).toEqual(agent.calls[0]?.params)
    },
  )

  test('is answered by `run` all the same', async () => {
    const clock = createFakeClock()
    const answer = { message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'hello' }] } }
    const replies = [() => empty('broken'), (call: RpcCall) => streamOf(call, [answer])]
    const agent = await serveAgent(
      { SendStreamingMessage: (call) => replies.shift()?.(call) },
      knowsKeys,
    )
    const client = new A2AClient({ serverUrl: agent.url, clock, random: () => 1 })
    const text = client.run('hi', { idempotencyKey: 'mine' })
    await clock.elapse(250)
    expect(await text).toBe('hello')
    expect(agent.calls.map(({ headers }) => headers['idempotency-key'])).toEqual(['mine', 'mine'])
  })

  test.each(['broken', 'whole'] as const)(
    'is not sent again where nobody says that it is safe (%s)',
    async (end) => {
      const agent = await serveAgent({ SendStreamingMessage: () => empty(end) }, streams)
      const client = new A2AClient(agent.url)
      await expect(client.run('hi')).rejects.toMatchObject({ code: 'unavailable' })
      expect(agent.calls).toHaveLength(1)
    },
  )

  test('is given up after five more tries', async () => {
    const clock = createFakeClock()
    const agent = await serveAgent({ SendStreamingMessage: () => empty('broken') }, knowsKeys)
    const client = new A2AClient({ serverUrl: agent.url, clock, random: () => 1 })
    const failed = expect(client.run('hi')).rejects.toMatchObject({ code: 'unavailable' })
    for (const ms of [250, 500, 1_000, 2_000, 4_000]) await clock.elapse(ms)
    await failed
    expect(agent.calls).toHaveLength(6)
  })
})

/** An agent whose every subscription brings one event and dies. */
function serveDying() {
  let seq = 1
  return serveAgent(
    {
      SubscribeToTask: (call) => {
        const events = seq === 1 ? [{ task: working }] : [chunk(`${seq} `)]
        return streamOf(call, events, { first: seq++, drop: true })
      },
    },
    streams,
  )
}

describe('a peer that brings one event and dies each time', () => {
  test('is asked again after longer and longer pauses, and given up with a reason', async () => {
    const clock = createFakeClock()
    const agent = await serveDying()
    const client = new A2AClient({ serverUrl: agent.url, clock, random: () => 1 })
    const seen: StreamResponse[] = []
    const following = (async () => {
      for await (const event of client.follow('t1', { maxBreaks: 9 })) seen.push(event)
    })()
    const failed = expect(following).rejects.toMatchObject({
      code: 'unavailable',
      message: 'The stream broke 10 times in a row',
    })
    for (const ms of [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
      await clock.elapse(ms)
    await failed
    expect(seen).toHaveLength(10)
  })

  test('is asked at most thirty times more by default', async () => {
    const clock = createFakeClock()
    const agent = await serveDying()
    const client = new A2AClient({ serverUrl: agent.url, clock, random: () => 1 })
    const failed = expect(collect(client.follow('t1'))).rejects.toThrow('31 times in a row')
    for (let pause = 250, n = 1; n <= 30; n++, pause *= 2)
      await clock.elapse(Math.min(pause, 30_000))
    await failed
    expect(agent.calls).toHaveLength(31)
  })

  test('is sound again once a stream has stood for a while', async () => {
    const clock = createFakeClock()
    let opened = 0
    const agent = await serveAgent(
      {
        SubscribeToTask: (call) => {
          opened += 1
          const first = opened
          if (opened === 4) return streamOf(call, [completed], { first })
          // The second one stands for five seconds.
          if (opened === 2) clock.advance(5_000)
          return streamOf(call, [opened === 1 ? { task: working } : chunk('x')], {
            first,
            drop: true,
          })
        },
      },
      streams,
    )
    const client = new A2AClient({ serverUrl: agent.url, clock, random: () => 1 })
    const seen = collect(client.follow('t1', { maxBreaks: 2 }))
    for (const ms of [250, 250, 500]) await clock.elapse(ms)
    expect((await seen).at(-1)).toEqual(completed)
  })
})

describe('a peer that says when to come back', () => {
  /** One event, then when to come back, then the end. */
  function goingAway(call: RpcCall, ms: number): Raw {
    return new Raw((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const data = JSON.stringify({ jsonrpc: '2.0', id: call.id, result: { task: working } })
      response.end(`id: 1\ndata: ${data}\n\nretry: ${ms}\n\n`)
    })
  }

  test.each([
    [2_000, 2_000],
    [3_600_000, 60_000],
    [10, 250],
  ])('by retry: %i is asked after %i ms', async (asked, waited) => {
    const clock = createFakeClock()
    const replies = [
      (call: RpcCall) => goingAway(call, asked),
      (call: RpcCall) => streamOf(call, [completed], { first: 2 }),
    ]
    const agent = await serveAgent({ SubscribeToTask: (call) => replies.shift()?.(call) }, streams)
    const client = new A2AClient({ serverUrl: agent.url, clock, random: () => 1 })
    const seen = collect(client.follow('t1'))
    await clock.elapse(waited)
    expect(await seen).toEqual([{ task: working }, completed])
  })

  test('by Retry-After is asked then', async () => {
    const clock = createFakeClock()
    const replies = [
      () => new Raw({ status: 503, headers: { 'retry-after': '7' } }),
      (call: RpcCall) => streamOf(call, [{ task: working }, completed]),
    ]
    const agent = await serveAgent({ SubscribeToTask: (call) => replies.shift()?.(call) }, streams)
    const client = new A2AClient({ serverUrl: agent.url, clock, random: () => 1 })
    const seen = collect(client.follow('t1'))
    await clock.elapse(7_000)
    expect(await seen).toEqual([{ task: working }, completed])
  })
})
