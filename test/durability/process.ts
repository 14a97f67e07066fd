import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createDeferred, type Deferred } from '../../src/shared/async.ts'
import type { PostgresStoreOptions } from '../../src/store/postgres/store.ts'
import type { SqliteStoreOptions } from '../../src/store/sqlite/store.ts'
import type { RetryPolicy } from '../../src/webhooks/deliver.ts'

/** What server.mjs is told. */
export interface ServerSetup {
  /** The store's file; without one tasks are kept in memory. */
  readonly file?: string
  /** Where the members of the team leave a trace of each time they run. */
  readonly effects: string
  readonly shutdownMs?: number
  readonly store?: Omit<SqliteStoreOptions, 'clock'>
  readonly retry?: Partial<RetryPolicy>
  /** How long a webhook may take to answer. */
  readonly timeoutMs?: number
  /** Gives up root's rights before the file is opened. */
  readonly asNobody?: boolean
  /** Where another such server answers, for teams with remote members. */
  readonly remote?: string
  /** The database that it shares with others, instead of a file. */
  readonly postgres?: Pick<PostgresStoreOptions, 'url' | 'schema' | 'leaseMs' | 'beatMs'>
}

/** Who hears what a server process has to say. */
export interface ServerListener {
  /** What its agents tell of their work. */
  told(message: unknown): void
  /** What it writes to stderr. */
  said(text: string): void
}

/** A real server in a process of its own, that can die and come back on the same file and port. */
export interface ServerProcess {
  /** Where it answers, once it has been up. */
  url(): string
  /** Resolves when it listens; at once if it does. */
  up(): Promise<void>
  /** @throws Error with what it wrote to stderr, if it ends before it listens. */
  start(): Promise<void>
  /** Begins to start, and dies before or shortly after it listens. */
  startAndKill(afterMs: number): Promise<void>
  /** Ends it at once, as a power cut would. */
  kill(): Promise<void>
  /** Stops it in its tracks, as a machine that is paused does, until `resume`. */
  pause(): void
  resume(): void
  /** Resolves when the process that runs is gone, whoever ended it. */
  gone(): Promise<void>
  /** How often it was killed by something in itself. */
  ownDeaths(): number
  /** Asks it to stop; the exit code, null where a signal ended it. */
  stop(): Promise<number | null>
}

const script = fileURLToPath(new URL('./server.mjs', import.meta.url))

/** Makes a server that is not yet running. */
export function createServerProcess(
  setup: ServerSetup,
  nodeOptions: readonly string[] = [],
  listener?: ServerListener,
): ServerProcess {
  let port = 0
  let child: ChildProcess | undefined
  let listening: Deferred<void> = createDeferred()
  let isUp = false
  let ownDeaths = 0
  let gone: Deferred<void> = createDeferred()

  function leave(): void {
    child = undefined
    // Who already waits for it to come up goes on waiting.
    if (isUp) listening = createDeferred()
    isUp = false
  }

  function launch(): { readonly child: ChildProcess; errors(): string } {
    const words = [...nodeOptions, script, JSON.stringify({ ...setup, port })]
    const ears = listener ? (['ipc'] as const) : []
    const started = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe', ...ears] })
    let errors = ''
    started.stderr?.on('data', (chunk) => {
      errors += chunk
      listener?.said(String(chunk))
    })
    if (listener) started.on('message', (message) => listener.told(message))
    child = started
    gone = createDeferred()
    const { resolve } = gone
    started.once('exit', (_code, signal) => {
      if (child === started) {
        leave()
        if (signal === 'SIGKILL') ownDeaths++
      }
      resolve()
    })
    return { child: started, errors: () => errors }
  }

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    const running = child
    if (!running) return null
    leave()
    const ended = once(running, 'exit')
    running.kill(signal)
    if (running.exitCode === null && running.signalCode === null) await ended
    return running.exitCode
  }

  /** The port may be lent to an outgoing connection while the server is down: then it is tried again. */
  async function start(tries = 50): Promise<void> {
    const { child: started, errors } = launch()
    const found = await portOf(started)
    if (found !== undefined && child === started) {
      port = found
      isUp = true
      listening.resolve()
      return
    }
    if (tries > 0 && errors().includes('already in use')) return start(tries - 1)
    throw new Error(errors())
  }

  return {
    url: () => `http://127.0.0.1:${port}`,
    up: () => listening.promise,
    start: () => start(),
    async startAndKill(afterMs) {
      launch()
      await new Promise((resolve) => setTimeout(resolve, afterMs))
      await end('SIGKILL')
    },
    async kill() {
      await end('SIGKILL')
    },
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    gone: () => gone.promise,
    ownDeaths: () => ownDeaths,
    stop: () => end('SIGTERM'),
  }
}

/** The port that a process says it listens on; undefined if it ends before. */
async function portOf(child: ChildProcess): Promise<number | undefined> {
  let output = ''
  for await (const chunk of child.stdout ?? []) {
    output += chunk
    const said = /^listening (\d+)$/m.exec(output)
    if (said) return Number(said[1])
  }
  return undefined
}
