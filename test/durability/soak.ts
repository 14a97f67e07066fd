import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { request } from 'undici'
import { type Caller, createCaller } from './caller.ts'
import { createHooks } from './hooks.ts'
import { createLedger } from './ledger.ts'
import { createServerProcess, type ServerProcess } from './process.ts'
import { createRandom } from './random.ts'
import { work } from './workload.ts'

/** How long, and on which store. */
export interface SoakOptions {
  readonly minutes: number
  readonly store: 'sqlite' | 'memory'
  /** Answers before the first look, once everything is full; 5,000 if absent. */
  readonly warmUp?: number
  /** Told of each sample. */
  readonly progress?: ((sample: Sample) => void) | undefined
}

/** What the server held at one moment, with nothing to do. */
export interface Sample {
  readonly minute: number
  readonly heapMb: number
}

/** What the server held at rest. */
export interface Rest {
  /** Active handles of each kind, as Node counts them. */
  readonly handles: Readonly<Record<string, number>>
  /** Open files and sockets of the process by their kind or name. */
  readonly files: Readonly<Record<string, number>>
  /** Listeners of the process. */
  readonly listeners: number
  /** Signals that something may listen to. */
  readonly signals: number
}

/** What became of the heap, and of what was open, from the end of the warm-up to the end. */
export interface SoakReport {
  readonly store: SoakOptions['store']
  readonly minutes: number
  readonly requests: number
  readonly samples: readonly Sample[]
  /** By least squares. */
  readonly slopeMbPerMinute: number
  readonly before: Rest
  readonly after: Rest
}

const spurtMs = 20_000
const callers = 8
/** A task that waits for its user goes after this long, as those that have ended do. */
const maxWaitingMs = 10_000
/** The store keeps this many, which the warm-up makes many times over. */
const maxTasks = 1_000
/** Enough to have done everything often. */
const enough = 5_000
/**
 * What fills everything that remembers the last so many: webhooks, ten thousand tasks without any, in a table that grows
 * a last time at 16,384; each remote agent, a thousand contexts and sends.
 */
const fill: Readonly<Record<string, number>> = { stream: 17_000, outing: 1_100, distant: 1_100 }
/**
 * Compiled code comes and goes by megabytes, by the pace of the last minute and by the collections that each look makes.
 * It is V8's to bound, and what we hold would not be seen beside it: the compiler is off, and bytecode stays.
 */
const nodeOptions = ['--expose-gc', '--no-opt', '--no-maglev', '--no-flush-bytecode']

/**
 * Keeps a server busy with everything it can do (teams, streams, cancels, conversations, webhooks, remote members) and
 * watches what it holds. Before the first look everything that has a bound is full; each look comes while the server
 * rests, with as many tasks in its store as at every other.
 */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { minutes, store, warmUp = enough, progress } = options
  const folder = await mkdtemp(join(tmpdir(), 'corral-soak-'))
  const effects = join(folder, 'effects.log')
  const file = store === 'sqlite' ? { file: join(folder, 'tasks.db') } : {}
  const limits = { maxTasks, maxWaitingMs }
  const remote = createServerProcess({ effects, store: limits })
  await remote.start()
  const setup = { ...file, effects, store: limits, remote: remote.url() }
  const server = createServerProcess(setup, nodeOptions)
  const load = await createLoad(server, effects)
  try {
    await server.start()
    await fillUp(server)
    await load.until((requests) => requests > warmUp)
    const before = await restOf(server)
    const [samples, began] = [[] as Sample[], Date.now()]
    while (Date.now() - began < minutes * 60_000) {
      await load.until((_requests, ms) => ms > spurtMs)
      const { heapBytes } = await vitalsOf(server)
      samples.push({ minute: (Date.now() - began) / 60_000, heapMb: heapBytes / 1e6 })
      progress?.(samples.at(-1) as Sample) // just pushed
    }
    const after = await restOf(server)
    const requests = load.requests()
    return { store, minutes, requests, samples, slopeMbPerMinute: slope(samples), before, after }
  } finally {
    await load.close()
    await server.kill()
    await remote.kill()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Callers that work until there is enough, and then leave no connection behind. */
interface Load {
  until(isEnough: (requests: number, ms: number) => boolean): Promise<void>
  requests(): number
  close(): Promise<void>
}

async function createLoad(server: ServerProcess, effects: string): Promise<Load> {
  const random = createRandom(1)
  const ledger = createLedger(() => {})
  const hooks = await createHooks(createRandom(2), () => {})
  let spurt = 0
  return {
    requests: () => ledger.counts.acknowledged,
    async until(isEnough) {
      const { acknowledged } = ledger.counts
      const began = Date.now()
      const caller = createCaller(server.url)
      const stop = new AbortController()
      const around = { server, caller, hooks, ledger, random, sign: () => {} }
      const numbers = Array.from({ length: callers }, (_, n) => n + callers * spurt)
      spurt++
      const working = numbers.map((number) => work(around, number, stop.signal))
      while (!isEnough(ledger.counts.acknowledged - acknowledged, Date.now() - began))
        await setTimeout(100)
      stop.abort()
      await Promise.all(working)
      await nothingLeft(server)
      // How many still wait for their user depends on the pace: all of them go, as soon as something is stored.
      await setTimeout(maxWaitingMs)
      await sendSmall(caller, 'stream')
      await caller.close()
      ledger.forget(200)
      // Members look for their traces in the file, so it must not grow without end.
      await writeFile(effects, '')
    },
    close: () => hooks.close(),
  }
}

/** Makes many small tasks. */
async function fillUp(server: ServerProcess): Promise<void> {
  const caller = createCaller(server.url)
  const left = Object.entries(fill).flatMap(([agent, count]) =>
    new Array<string>(count).fill(agent),
  )
  const send = async (): Promise<void> => {
    for (let agent = left.pop(); agent; agent = left.pop()) await sendSmall(caller, agent)
  }
  await Promise.all(Array.from({ length: callers * 4 }, send))
  await caller.close()
}

/** A task that has next to nothing to say. */
async function sendSmall(caller: Caller, agent: string): Promise<void> {
  const messageId = crypto.randomUUID()
  const message = { messageId, role: 'ROLE_USER', parts: [{ text: '0' }] }
  await caller.call({ agent, method: 'SendMessage', params: { message } })
}

async function nothingLeft(server: ServerProcess): Promise<void> {
  for (;;) {
    const { tasks, webhooks } = await ask<{ tasks: number; webhooks: number }>(server, '/left')
    if (tasks === 0 && webhooks === 0) return
    await setTimeout(50)
  }
}

/** Servers keep idle connections for 65 seconds, and clients know that. */
const idleMs = 66_000

/** What is held once idle connections have been closed and it stays the same for a while. */
async function restOf(server: ServerProcess): Promise<Rest> {
  await setTimeout(idleMs)
  let last = ''
  for (let same = 0; same < 5; ) {
    await setTimeout(1_000)
    const { heapBytes: _, ...rest } = await vitalsOf(server)
    same = JSON.stringify(rest) === last ? same + 1 : 0
    last = JSON.stringify(rest)
  }
  return JSON.parse(last)
}

type Vitals = Rest & { readonly heapBytes: number }

function vitalsOf(server: ServerProcess): Promise<Vitals> {
  return ask(server, '/vitals')
}

async function ask<T>(server: ServerProcess, path: string): Promise<T> {
  const { body } = await request(`${server.url()}${path}`, { reset: true })
  return (await body.json()) as T // what server.mjs answers there
}

/** The slope of the line that fits the samples best. */
function slope(samples: readonly Sample[]): number {
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(samples.map((s) => s.minute)), mean(samples.map((s) => s.heapMb))]
  const run = samples.reduce((sum, s) => sum + (s.minute - x) ** 2, 0)
  const rise = samples.reduce((sum, s) => sum + (s.minute - x) * (s.heapMb - y), 0)
  return run === 0 ? 0 : rise / run
}
