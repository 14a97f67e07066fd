import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { textOf } from '../../src/protocol/task.ts'
import { bearer, type ServerOptions } from '../../src/server/index.ts'
import { createDeferred } from '../../src/shared/async.ts'
import type { Logger } from '../../src/shared/log.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store, StoreHealth } from '../../src/store/store.ts'
import { createFakeClock, type FakeClock } from '../../src/testing/index.ts'
import { get, type Posted, post, serve } from '../acceptance/serve.ts'

const asks = defineAgent({ id: 'asks', name: 'Asks' }, async function* (message, turn) {
  const isEnough = textOf(message.parts) === 'enough'
  yield turn.status(isEnough ? 'TASK_STATE_COMPLETED' : 'TASK_STATE_INPUT_REQUIRED')
})

/** A memory store whose commits a test holds up, and whose health it sets. */
function createSlowStore() {
  const memory = createMemoryStore()
  let gate: Promise<void> | undefined
  let reached = createDeferred<void>()
  let health: StoreHealth = { writable: true }
  const store: Store = {
    ...memory,
    async commit(writes) {
      if (gate) reached.resolve()
      await gate
      return memory.commit(writes)
    },
    health: () => health,
  }
  return {
    store,
    hold(): () => void {
      const held = createDeferred<void>()
      gate = held.promise
      reached = createDeferred<void>()
      return held.resolve
    },
    /** Resolves when a commit is held up. */
    isHolding: () => reached.promise,
    setHealth(next: StoreHealth): void {
      health = next
    },
  }
}

/** A clock whose timers a test lets run late. */
function createLateClock(): FakeClock & { late(ms: number): void } {
  const clock = createFakeClock()
  let behind = 0
  return {
    ...clock,
    elapsed: () => clock.elapsed() + behind,
    late(ms) {
      behind += ms
      clock.advance(100)
    },
  }
}

async function open(options: Partial<ServerOptions>) {
  const warnings: [object, string][] = []
  const nothing = (): void => {}
  const warn = (fields: object, message: string): void => void warnings.push([fields, message])
  const logger: Logger = { debug: nothing, info: nothing, warn, error: warn }
  const auth = { authenticators: [bearer({ tokens: { t: 'ann' } })] }
  const { url } = await serve({ agents: [asks], auth, logger, ...options })
  return { url, warnings }
}

const known = { authorization: 'Bearer t' }
const v1 = { ...known, 'a2a-version': '1.0' }
const text = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }

function rpc(url: string, method: string, params: object, headers = v1): Promise<Posted> {
  return post(url, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), headers)
}

/** A new task by every door. */
const doors: Readonly<Record<string, (url: string) => Promise<Posted>>> = {
  'JSON-RPC 1.0': (url) => rpc(url, 'SendMessage', { message: text }),
  'a stream of JSON-RPC 1.0': (url) => rpc(url, 'SendStreamingMessage', { message: text }),
  'JSON-RPC 0.3': (url) => {
    const message = { messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }
    return post(
      url,
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }),
      known,
    )
  },
  REST: (url) => post(`${url}/message:send`, JSON.stringify({ message: text }), v1),
  'chat completions': (url) =>
    post(
      `${url}/v1/chat/completions`,
      JSON.stringify({ model: 'asks', messages: [{ role: 'user', content: 'hi' }] }),
      known,
    ),
  MCP: (url) =>
    post(
      `${url}/mcp`,
      JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'asks', arguments: { message: 'hi' } },
      }),
      { ...known, accept: 'application/json, text/event-stream' },
    ),
}

describe('a commit that has waited for longer than maxCommitWaitMs', () => {
  const limits = { maxCommitWaitMs: 1_000 }

  test.each(Object.entries(doors))('keeps new tasks out: %s', async (name, send) => {
    const clock = createFakeClock()
    const { store, hold, isHolding } = createSlowStore()
    const { url } = await open({ store, clock, limits })
    const release = hold()
    const first = send(url)
    await isHolding()
    clock.advance(1_001)
    const { status, headers, text } = await send(url)
    expect(text).toContain('The task store is behind')
    // MCP tells of errors in its results.
    if (name !== 'MCP') expect([status, headers.get('retry-after')]).toEqual([503, '1'])
    release()
    await first
    expect((await send(url)).text).not.toContain('The task store is behind')
  })

  test('lets pass what is about tasks that there are', async () => {
    const clock = createFakeClock()
    const { store, hold, isHolding } = createSlowStore()
    const { url } = await open({ store, clock, limits })
    const [one, two] = await Promise.all(
      [1, 2].map(() => rpc(url, 'SendMessage', { message: text })),
    )
    const release = hold()
    const sent = rpc(url, 'SendMessage', { message: text })
    await isHolding()
    clock.advance(1_001)
    const taskId = String(one?.json.result.task.id)
    expect((await rpc(url, 'GetTask', { id: taskId })).status).toBe(200)
    expect((await rpc(url, 'ListTasks', {})).json.result.tasks).toHaveLength(2)
    const answered = rpc(url, 'SendMessage', {
      message: { ...text, taskId, parts: [{ text: 'enough' }] },
    })
    const canceled = rpc(url, 'CancelTask', { id: two?.json.result.task.id })
    release()
    const states = [(await answered).json.result.task.status, (await canceled).json.result.status]
    expect(states.map(({ state }) => state)).toEqual([
      'TASK_STATE_COMPLETED',
      'TASK_STATE_CANCELED',
    ])
    await sent
  })

  test('is 503 at /health with its reason, and one line of the log', async () => {
    const clock = createFakeClock()
    const { store, hold, isHolding } = createSlowStore()
    const { url, warnings } = await open({ store, clock, limits })
    for (let episodes = 1; episodes <= 2; episodes++) {
      const release = hold()
      const sent = rpc(url, 'SendMessage', { message: text })
      await isHolding()
      clock.advance(1_001)
      const reason = expect.stringContaining('a commit has waited for more than 1000 ms')
      expect((await get(`${url}/health`, known)).json).toMatchObject({
        status: 'unhealthy',
        reason,
      })
      expect((await get(`${url}/health`)).json).not.toHaveProperty('reason')
      expect(warnings).toEqual(Array(episodes).fill([{ reason }, 'New tasks are rejected']))
      release()
      await sent
      expect((await get(`${url}/health`)).status).toBe(200)
    }
  })

  test.each([
    ['is of no account where one process has the store to itself', {}],
    ['is of no account where the limit is 0', { limits: { maxCommitWaitMs: 0 } }],
  ])('%s', async (_, options) => {
    const clock = createFakeClock()
    const { store, hold, isHolding } = createSlowStore()
    const { url } = await open({ store, clock, ...options })
    const release = hold()
    const first = rpc(url, 'SendMessage', { message: text })
    await isHolding()
    clock.advance(60_000)
    expect((await get(`${url}/health`)).status).toBe(200)
    release()
    expect((await first).status).toBe(200)
  })
})

describe('a store that cannot write', () => {
  test('keeps new tasks out until it can, with its own words', async () => {
    const { store, setHealth } = createSlowStore()
    const { url, warnings } = await open({ store })
    setHealth({ writable: false, reason: 'The task store cannot write: the disk is full' })
    for (let i = 0; i < 3; i++) {
      const { status, headers, text: said } = (await doors.REST?.(url)) ?? (await get(url))
      expect([status, headers.get('retry-after')]).toEqual([503, '1'])
      expect(said).toContain('The task store cannot write: the disk is full')
    }
    expect(warnings).toHaveLength(1)
    setHealth({ writable: true })
    expect((await doors.REST?.(url))?.status).toBe(200)
  })
})

describe('an event loop that is late', () => {
  const limits = { maxLoopLagMs: 250 }

  test('keeps new tasks out when it is so three times in a row, and no longer than it lasts', async () => {
    const clock = createLateClock()
    const { url, warnings } = await open({ clock, limits })
    const send = () => rpc(url, 'SendMessage', { message: text })
    clock.late(5_000)
    clock.late(251)
    expect((await send()).status).toBe(200)
    clock.late(251)
    const { status, headers, json } = await send()
    expect([status, headers.get('retry-after')]).toEqual([503, '1'])
    expect(json.error.message).toContain('more than 250 ms late')
    expect((await get(`${url}/health`)).status).toBe(503)
    clock.late(251)
    expect(warnings).toEqual([
      [{ reason: expect.stringContaining('event loop') }, 'New tasks are rejected'],
    ])
    clock.late(249)
    expect((await send()).status).toBe(200)
    expect((await get(`${url}/health`)).status).toBe(200)
  })

  test('is not measured where one process has the store to itself and nothing is said', async () => {
    const clock = createLateClock()
    await open({ clock })
    expect(clock.pending()).not.toContain(100)
  })
})
