import { describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import type { ClientReply, HttpSend } from '../../src/bindings/http.ts'
import { connectionLost } from '../../src/client/http.ts'
import { A2AClient, createWebhookReceiver, JsonRpcTransport } from '../../src/client/index.ts'
import { createHttp } from '../../src/client/node.ts'
import { textOf } from '../../src/protocol/task.ts'
import type { StreamResponse } from '../../src/protocol/types.ts'
import { createServer, listen, type Server } from '../../src/server/index.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { serve } from './serve.ts'

const chunks = Array.from({ length: 40 }, (_, n) => `${n} `)

/** Our own server: it counts, in chunks, and knows how often it was asked. */
async function serveCounter(): Promise<{ url: string; server: Server; asked: () => number }> {
  let asked = 0
  const agent = defineAgent(
    { id: 'counter', name: 'Counter', description: 'Counts' },
    async function* () {
      asked += 1
      for (const chunk of chunks) yield chunk
    },
  )
  const pushNotifications = { guard: { allow: ['*'], allowHttp: true } }
  const server = await createServer({ agents: [agent], pushNotifications })
  const listening = await listen(server, { port: 0 })
  onTestFinished(async () => {
    await listening.close()
  })
  return { url: listening.url, server, asked: () => asked }
}

/** Breaks streams in the middle of their first piece, `times` times. */
function breaking(times: number): { send: HttpSend; broken: () => number } {
  const { send } = createHttp()
  let broken = 0
  async function* cut(reply: ClientReply, url: string): AsyncGenerator<Uint8Array> {
    for await (const chunk of reply.chunks()) {
      broken += 1
      yield chunk.subarray(0, Math.ceil(chunk.length / 3))
      throw connectionLost(url, undefined)
    }
  }
  return {
    broken: () => broken,
    send: async (request) => {
      const reply = await send(request)
      const isStream = reply.headers['content-type']?.startsWith('text/event-stream')
      if (!isStream || broken >= times) return reply
      return { ...reply, chunks: () => cut(reply, request.url) }
    },
  }
}

function textsOf(events: readonly StreamResponse[]): string {
  return events
    .map((event) => {
      if ('artifactUpdate' in event) return textOf(event.artifactUpdate.artifact.parts)
      return 'task' in event
        ? (event.task.artifacts ?? []).map((a) => textOf(a.parts)).join('')
        : ''
    })
    .join('')
}

describe('our own server', () => {
  test.each([
    ['JSONRPC', '1.0'],
    ['HTTP+JSON', '1.0'],
    ['JSONRPC', '0.3'],
    ['HTTP+JSON', '0.3'],
  ])('is found and called over %s %s', async (binding, version) => {
    const { url } = await serveCounter()
    const client = new A2AClient({ serverUrl: url, bindings: [binding], versions: [version] })
    expect(await client.run('count')).toBe(chunks.join(''))
    expect(await client.sendMessage('count')).toMatchObject({
      task: { status: { state: 'TASK_STATE_COMPLETED' } },
    })
  })

  test('AT-9 is called at /rpc as RANCH is, or in another dialect that is named', async () => {
    const { url } = await serveCounter()
    const ranch = new A2AClient(new JsonRpcTransport(`${url}/rpc`))
    expect(await ranch.sendMessage('Hello')).toMatchObject({ message: { role: 'ROLE_AGENT' } })
    expect((await ranch.fetchAgentCard()).name).toBe('Counter')
    const current = new A2AClient(new JsonRpcTransport(`${url}/rpc`, { dialect: '1.0' }))
    expect(await current.sendMessage('Hello')).toMatchObject({ task: { artifacts: [{}] } })
  })

  test('is called without HTTP', async () => {
    const { server } = await serveCounter()
    expect(await new A2AClient({ dispatch: server.dispatch() }).run('count')).toBe(chunks.join(''))
  })

  test('tells an answer that is data alone as JSON, to whoever runs it and to models as a tool', async () => {
    const counter = defineAgent({ name: 'Counter' }, async function* () {
      yield { data: { count: 3 } }
    })
    const listening = await listen(await createServer({ agents: [counter] }), { port: 0 })
    onTestFinished(() => listening.close())
    const client = new A2AClient(listening.url)
    expect(await client.run('count')).toBe('{"count":3}')
    expect(await (await client.asTool()).run({ message: 'count' })).toBe('{"count":3}')
  })

  test('gives every event once and in order over a stream that breaks', async () => {
    const { url, asked } = await serveCounter()
    const { send, broken } = breaking(3)
    const client = new A2AClient({ serverUrl: url, send, random: () => 0 })
    const events: StreamResponse[] = []
    for await (const event of client.sendAndFollow('count')) events.push(event)
    expect(textsOf(events)).toBe(chunks.join(''))
    expect(events.at(-1)).toMatchObject({
      statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } },
    })
    expect(broken()).toBe(3)
    expect(asked()).toBe(1)
  })

  test('C-31 runs a repeated send once, since its card declares idempotency', async () => {
    const { url, asked } = await serveCounter()
    const inner = createHttp().send
    let lost = false
    const send: HttpSend = async (request) => {
      const reply = await inner(request)
      if (request.method !== 'POST' || lost) return reply
      lost = true
      await reply.text()
      throw connectionLost(request.url, undefined)
    }
    const client = new A2AClient({ serverUrl: url, send, retry: { baseMs: 1 } })
    expect(await client.sendMessage('count')).toMatchObject({
      task: { status: { state: 'TASK_STATE_COMPLETED' } },
    })
    expect(asked()).toBe(1)
  })

  test('G016 G018 delivers each event to our receiver, which takes it once', async () => {
    const { url } = await serveCounter()
    const seen: StreamResponse[] = []
    const done = createDeferred<void>()
    const handle = createWebhookReceiver({
      authentication: { scheme: 'Bearer', credentials: 'very-secret' },
      expects: () => true,
      onEvent: (event) => {
        seen.push(event)
        const state = 'statusUpdate' in event && event.statusUpdate.status.state
        if (state === 'TASK_STATE_COMPLETED') done.resolve()
      },
    })
    const hook = await serve(async ({ method, path, headers, body }) => {
      const flat = Object.fromEntries(Object.entries(headers).map(([k, v]) => [k, String(v)]))
      const request = { method, path, query: '', headers: flat, body }
      await handle(request) // as if the first answer had been lost
      return { status: (await handle(request)).status }
    })
    await new A2AClient(url).sendMessage('count', {
      configuration: {
        taskPushNotificationConfig: {
          url: hook.url,
          authentication: { scheme: 'Bearer', credentials: 'very-secret' },
        },
      },
    })
    await done.promise
    expect(textsOf(seen)).toBe(chunks.join(''))
  })
})
