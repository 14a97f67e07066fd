import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { anonymous } from '../../src/protocol/operations.ts'
import type { Task } from '../../src/protocol/types.ts'
import { createServer, type Server, toFetch } from '../../src/server/index.ts'
import { createDeferred } from '../../src/shared/async.ts'
import type { Clock } from '../../src/shared/clock.ts'
import { rpc, serveAgent, text } from './sockets.ts'

/** An agent that tells when it has begun and when it was called off, and waits before each of its words. */
function createPatientAgent() {
  const [begun, first, last] = [
    createDeferred<void>(),
    createDeferred<void>(),
    createDeferred<void>(),
  ]
  const cancelled = createDeferred<string>()
  const agent = defineAgent({ name: 'Patient' }, async function* (_, turn) {
    turn.signal.addEventListener('abort', () => cancelled.resolve(turn.signal.reason.code))
    begun.resolve()
    await first.promise
    yield 'so'
    await last.promise
    yield ' be it'
  })
  return { agent, begun: begun.promise, cancelled: cancelled.promise, first, last }
}

/** A clock of real time that counts the timers that are set. */
function createCountingClock(): Clock & { readonly timers: Set<number> } {
  const timers = new Set<number>()
  return {
    timers,
    now: () => Date.now(),
    elapsed: () => performance.now(),
    after(ms, callback) {
      const timer = setTimeout(callback, ms)
      timers.add(ms)
      return () => {
        timers.delete(ms)
        clearTimeout(timer)
      }
    },
  }
}

/** Posts a body on a connection of its own; the returned function closes that. */
function postAndStay(port: number, path: string, body: string): () => void {
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\n`
  const socket = connect(port, '127.0.0.1', () =>
    socket.write(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`),
  )
  socket.on('error', () => {})
  return () => socket.destroy()
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate)
}

const completion = JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] })

describe('a client that leaves', () => {
  test('an OpenAI completion that is not streamed has it cancelled', async () => {
    const { agent, begun, cancelled, first } = createPatientAgent()
    const { listening, server } = await serveAgent({ agents: [agent] })
    first.resolve()
    const leave = postAndStay(listening.port, '/v1/chat/completions', completion)
    await begun
    while ((await listAll(server)).length === 0) await new Promise(setImmediate)
    leave()
    expect(await cancelled).toBe('taskCanceled')
  })

  test('before the agent has said a word has it cancelled at the first', async () => {
    const { agent, begun, cancelled, first } = createPatientAgent()
    const { listening, url } = await serveAgent({ agents: [agent] })
    const leave = postAndStay(listening.port, '/v1/chat/completions', completion)
    await begun
    leave()
    // Whatever answers this has heard of the closed connection before.
    await fetch(`${url}/health`)
    first.resolve()
    expect(await cancelled).toBe('taskCanceled')
  })

  test('a blocking send has nobody wait any more, and its turn go on', async () => {
    const { agent, begun, first, last } = createPatientAgent()
    const clock = createCountingClock()
    const timeouts = { shutdownMs: 0, blockingMs: 123_456 }
    const { listening, server } = await serveAgent({ agents: [agent], clock, timeouts })
    const params = text('hi')
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })
    const leave = postAndStay(listening.port, '/', body)
    await begun
    await until(() => clock.timers.has(123_456))
    leave()
    await until(() => !clock.timers.has(123_456))
    first.resolve()
    last.resolve()
    const tasks = async () => (await listAll(server)).map(({ status }) => status.state)
    while ((await tasks())[0] !== 'TASK_STATE_COMPLETED') await new Promise(setImmediate)
  })

  test('is one connection, not one request: the next is answered as ever', async () => {
    const { url } = await serveAgent()
    for (let i = 0; i < 50; i++) {
      const reply = await fetch(url, rpc('SendMessage', text('hi')))
      expect((await reply.json()).result.task.status.state).toBe('TASK_STATE_COMPLETED')
    }
  })

  test('under fetch has a completion cancelled too', async () => {
    const { agent, begun, cancelled, first } = createPatientAgent()
    const server = await createServer({ agents: [agent], timeouts: { shutdownMs: 0 } })
    const leaving = new AbortController()
    const headers = { 'content-type': 'application/json' }
    const request = new Request('http://a.example/v1/chat/completions', {
      method: 'POST',
      headers,
      body: completion,
      signal: leaving.signal,
    })
    const reply = toFetch(server)(request)
    await begun
    leaving.abort()
    first.resolve()
    expect(await cancelled).toBe('taskCanceled')
    expect((await reply).status).toBeGreaterThanOrEqual(400)
    await server.close()
  })
})

async function listAll(server: Server): Promise<readonly Task[]> {
  const { tasks } = await server.dispatch()('ListTasks', {}, { auth: anonymous })
  return tasks
}
