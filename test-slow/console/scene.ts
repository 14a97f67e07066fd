import type { Browser, BrowserContext, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { type Agent, defineAgent } from '../../src/agents/index.ts'
import { createConsole } from '../../src/console/index.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import { textOf } from '../../src/protocol/task.ts'
import { createServer, listen, type ServerOptions } from '../../src/server/index.ts'
import { wait } from '../../src/shared/async.ts'
import { systemClock } from '../../src/shared/clock.ts'
import { createMemoryStore, type Store } from '../../src/store/index.ts'
import { defineTeam } from '../../src/team/index.ts'

/** A server with a console, and what its agents are told from outside. */
export interface Scene {
  readonly url: string
  readonly store: Store
  /** Lets the members of the studio go on; while it is shut they wait. */
  readonly gate: Gate
  send(agent: string, text: string): Promise<string>
  close(): Promise<void>
}

/** Something to wait at. */
export interface Gate {
  shut(): void
  open(): void
  passed(signal?: AbortSignal): Promise<void>
}

/** Makes a gate that stands open. */
export function createGate(): Gate {
  let waiting: (() => void)[] = []
  let isOpen = true
  return {
    shut() {
      isOpen = false
    },
    open() {
      isOpen = true
      for (const go of waiting) go()
      waiting = []
    },
    passed: (signal) =>
      new Promise((resolve, reject) => {
        if (isOpen) return resolve()
        waiting.push(resolve)
        signal?.addEventListener('abort', () => reject(signal.reason))
      }),
  }
}

/** Starts a server: a studio with a nested team that retries and asks, an agent that streams, one that echoes. */
export async function openScene(options: Partial<ServerOptions> = {}, paceMs = 0): Promise<Scene> {
  const gate = createGate()
  const store = options.store ?? createMemoryStore()
  const server = await createServer({
    agents: [studio(gate, paceMs), streamer(gate), echo(), ...(options.agents ?? [])],
    store,
    console: createConsole({ store: 'memory' }),
    pushNotifications: true,
    logger: false,
    ...without(options, 'agents'),
  })
  const { port, close } = await listen(server, { port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    store,
    gate,
    async send(agent, text) {
      const message = {
        messageId: crypto.randomUUID(),
        role: 'ROLE_USER',
        parts: [{ text }],
      } as const
      const response = await fetch(`${url}/agents/${agent}/v1/rpc`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
        body: JSON.stringify({
          ...{ jsonrpc: '2.0', id: 1, method: 'SendMessage' },
          params: { message, configuration: { returnImmediately: true } },
        }),
      })
      const { result } = await response.json()
      return result.task.id
    },
    async close() {
      gate.open()
      await close()
    },
  }
}

/** A scene that ends with the test. */
export async function useScene(options: Partial<ServerOptions> = {}): Promise<Scene> {
  const scene = await openScene(options)
  onTestFinished(() => scene.close())
  return scene
}

/** What a page did that it must not do. */
export interface Watched {
  readonly page: Page
  readonly faults: readonly string[]
}

/** Opens a page of the console; errors, breaches of its policy and requests to other origins are kept. */
export async function openPage(
  browser: Browser,
  url: string,
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<Watched & { readonly context: BrowserContext }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options })
  onTestFinished(() => context.close())
  // Longer than a busy machine takes for anything.
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url())
    if (origin !== new URL(url).origin && protocol !== 'data:' && protocol !== 'blob:')
      faults.push(`request to ${request.url()}`)
  })
  await page.goto(url)
  return { page, context, faults }
}

function studio(gate: Gate, paceMs: number): Agent {
  let failures = 0
  const work = async (signal: AbortSignal, times = 1): Promise<void> => {
    await gate.passed(signal)
    if (paceMs > 0) await wait(systemClock, paceMs * times, signal)
  }
  const researcher = defineAgent(
    { id: 'researcher', name: 'Researcher' },
    async (_message, turn) => {
      await work(turn.signal, 2)
      if (failures++ % 2 === 0) throw new A2AError('unavailable', 'The library is closed')
      turn.trace({
        type: 'tool',
        agent: 'researcher',
        tool: 'search',
        round: 0,
        durationMs: 40,
        failed: false,
        arguments: '{"query":"lighthouses"}',
        result: '3 sources',
      })
      return 'Three sources: a keeper’s **log**, a chart of 1868, and a letter.'
    },
  )
  const composer = defineAgent({ id: 'composer', name: 'Composer' }, async (_message, turn) => {
    await work(turn.signal, 3)
    return '## The Lighthouse at the Edge of Maps\n\nNobody had charted the storms before Ines, because nobody had thought that they came back to the same places.'
  })
  const editor = defineAgent({ id: 'editor', name: 'Editor' }, async ({ parts }, turn) => {
    await work(turn.signal)
    return textOf(parts)
  })
  const publisher = defineAgent({ id: 'publisher', name: 'Publisher' }, async ({ parts }, turn) => {
    await work(turn.signal)
    return `${textOf(parts)}\n\n*Published.*`
  })
  const writers = defineTeam({
    id: 'writers',
    name: 'Writing team',
    description: 'Writes and reviews',
    agents: { composer, editor },
    scheduler: { type: 'workflow', steps: [{ agentId: 'composer' }, { agentId: 'editor' }] },
  })
  return defineTeam({
    id: 'studio',
    name: 'Studio',
    description: 'Researches, writes, asks and publishes',
    agents: { researcher, writers, publisher },
    scheduler: {
      type: 'workflow',
      steps: [
        { agentId: 'researcher', maxRetries: 1 },
        { agentId: 'writers' },
        { approval: { question: 'Publish?' } },
        { agentId: 'publisher' },
      ],
    },
  })
}

/** Streams as many chunks as it is told, the gate between them where it is shut. */
function streamer(gate: Gate): Agent {
  return defineAgent({ id: 'streamer', name: 'Streamer' }, async function* ({ parts }, turn) {
    const count = Number(/\d+/.exec(textOf(parts))?.[0] ?? 3)
    for (let i = 1; i <= count; i++) {
      if (i === Math.ceil(count / 2)) await gate.passed(turn.signal)
      yield turn.artifact(
        { artifactId: 'a', name: 'response', parts: [{ text: `w${i} ` }] },
        { append: i > 1, lastChunk: i === count },
      )
    }
    yield turn.status('TASK_STATE_COMPLETED')
  })
}

function echo(): Agent {
  return defineAgent({ id: 'echo', name: 'Echo' }, ({ parts }) => `You said: ${textOf(parts)}`)
}

function without<T extends object, K extends keyof T>(value: T, key: K): Omit<T, K> {
  const { [key]: _, ...rest } = value
  return rest
}
