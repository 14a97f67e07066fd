import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { Worker } from 'node:worker_threads'
import { A2AError } from '../../protocol/errors.ts'
import type { StoreHealth, Write, WriteResult } from '../store.ts'
import type { CommitEvents } from '../upkeep.ts'
import {
  type DriverName,
  type FileRequest,
  isDamage,
  openConnection,
  type Query,
  reasonOf,
  type SqliteFault,
  toStoreError,
} from './driver.ts'
import type { MigrationProgress, OpenOptions } from './open.ts'
import { toRow, type WriteRow } from './rows.ts'
import type { TrimRequest } from './trim.ts'

/** What a thread is started for. */
export type ThreadTask =
  | { readonly type: 'write'; readonly options: OpenOptions }
  | ({ readonly type: 'read' } & FileRequest)
  | ({ readonly type: 'check' } & FileRequest)
  | ({ readonly type: 'backup' } & BackupRequest)

/** What a writing thread is asked, and a reading one. */
export type Request =
  | { readonly type: 'commit'; readonly rows: readonly WriteRow[] }
  | ({ readonly type: 'trim' } & TrimRequest)
  | { readonly type: 'probe' }
  | ({ readonly type: 'query' } & Query)
  | { readonly type: 'close' }

/** What a writing thread says of the file that it has opened. */
export interface WriterState {
  /** Whether all of it was found to be sound. */
  readonly checked: boolean
}

/** What a writing thread says before its first answer, while it migrates. */
export interface ThreadProgress {
  readonly progress: MigrationProgress
}

/** What it answers. */
export type ThreadAnswer = { readonly ok: unknown } | { readonly fault: SqliteFault }

/** A thread as the main one sees it. */
export interface Thread {
  /** Asks; answers come in the order of the questions. */
  ask(request: Request): Promise<ThreadAnswer>
  /** Waits until the thread is gone. */
  ended(): Promise<void>
}

/** A thread that was just started. */
export interface StartedThread extends Thread {
  /** Whether it could do, or begin, what it was started for. */
  readonly first: Promise<ThreadAnswer>
  /** Ends one that works in the background, once its call into SQLite has returned. */
  stop(): Promise<void>
}

const gone: ThreadAnswer = { fault: { code: 0, message: 'the thread has stopped' } }

/** How a thread is started. */
interface ThreadOptions {
  /** One that works in the background does not keep the process alive. */
  readonly background?: boolean
  /** Called before each step of migrating a large file. */
  progress?(step: MigrationProgress): void
}

/** Starts a thread. */
export function startThread(
  task: ThreadTask,
  { background = false, progress }: ThreadOptions = {},
): StartedThread {
  const worker = createWorker(task)
  const waiting: ((answer: ThreadAnswer) => void)[] = []
  let running = true
  let isStopping = false
  const next = (): Promise<ThreadAnswer> =>
    new Promise((resolve) => {
      waiting.push(resolve)
      if (!background) worker.ref()
    })
  const ended = new Promise<void>((resolve) => {
    const stop = (error?: Error): void => {
      running = false
      const answer = error ? { fault: { code: 0, message: error.message } } : gone
      for (const resolveOne of waiting.splice(0)) resolveOne(answer)
      resolve()
    }
    worker.once('error', stop)
    worker.once('exit', () => stop())
  })
  worker.on('message', (answer: ThreadAnswer | ThreadProgress) => {
    if ('progress' in answer) return progress?.(answer.progress)
    waiting.shift()?.(answer)
    // An idle store does not keep its process alive; one that is writing or closing does.
    if (waiting.length === 0 && !isStopping) worker.unref()
  })
  if (background) worker.unref()
  return {
    first: next(),
    async ask(request) {
      if (!running) return gone
      worker.postMessage(request)
      return next()
    },
    ended() {
      worker.ref()
      return ended
    },
    // Never `terminate`: a driver that returns into a thread which is being ended aborts the whole process.
    stop() {
      isStopping = true
      worker.postMessage({ type: 'close' } satisfies Request)
      worker.ref()
      return ended
    },
  }
}

/**
 * The worker beside this file: JavaScript as published, TypeScript where the sources run. As published it takes none of
 * the process's options: it needs none, and with some, such as `--input-type`, no thread starts.
 */
function createWorker(task: ThreadTask): Worker {
  if (import.meta.url.endsWith('.ts'))
    return new Worker(new URL('./worker.ts', import.meta.url), { workerData: task })
  return new Worker(new URL('./worker.js', import.meta.url), { workerData: task, execArgv: [] })
}

/** Writes that may wait for the disk; beyond it a commit is refused, so a slow disk cannot eat the memory. */
const maxWaiting = 20_000

interface WaitingRows {
  readonly rows: readonly WriteRow[]
  resolve(results: readonly WriteResult[]): void
  reject(error: A2AError): void
}

/** Commits in groups: one transaction, and one sync, for all that arrived while the last one ran. */
export class CommitGroup {
  readonly #thread: Thread
  readonly #events: CommitEvents
  readonly #maxTaskBytes: number
  #waiting: WaitingRows[] = []
  #waitingRows = 0
  #running: Promise<void> | undefined
  #health: StoreHealth = { writable: true }
  #damage: string | undefined

  constructor(thread: Thread, events: CommitEvents, maxTaskBytes: number) {
    this.#thread = thread
    this.#events = events
    this.#maxTaskBytes = maxTaskBytes
  }

  commit(writes: readonly Write[]): Promise<readonly WriteResult[]> {
    if (this.#waitingRows > 0 && this.#waitingRows + writes.length > maxWaiting)
      return Promise.reject(
        new A2AError('unavailable', 'The task store is overloaded', { why: 'storeDown' }),
      )
    if (this.#damage !== undefined)
      return Promise.reject(
        new A2AError('unavailable', 'The task store cannot write: the file is damaged', {
          why: 'storeDown',
        }),
      )
    return new Promise((resolve, reject) => {
      const rows = writes.map((write) => toRow(write, this.#maxTaskBytes))
      this.#waiting.push({ rows, resolve, reject })
      this.#waitingRows += writes.length
      this.#running ??= this.#run()
    })
  }

  health(): StoreHealth {
    return this.#health
  }

  /** The file takes writes again. */
  recovered(): void {
    if (this.#damage === undefined && !this.#health.writable) this.#health = { writable: true }
  }

  /** The file takes no more writes, for good: what is written to a damaged one may be lost. */
  damaged(reason: string): void {
    this.#damage ??= reason
    this.#health = unwritable(this.#damage)
  }

  /** Resolves when nothing waits and nothing runs. */
  async idle(): Promise<void> {
    return this.#running
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting
      this.#waiting = []
      this.#waitingRows = 0
      const rows = group.flatMap((one) => one.rows)
      const answer = await this.#thread.ask({ type: 'commit', rows })
      if ('fault' in answer) this.#fail(group, answer.fault)
      else this.#succeed(group, answer.ok as readonly WriteResult[]) // what the worker answers to a commit
    }
    this.#running = undefined
  }

  #succeed(group: readonly WaitingRows[], results: readonly WriteResult[]): void {
    this.recovered()
    let from = 0
    for (const { rows, resolve } of group) {
      resolve(results.slice(from, from + rows.length))
      from += rows.length
    }
    this.#events.committed(results.length)
  }

  #fail(group: readonly WaitingRows[], fault: SqliteFault): void {
    if (isDamage(fault)) this.damaged(reasonOf(fault))
    else if (this.#damage === undefined) this.#health = unwritable(reasonOf(fault))
    const error = toStoreError('write', fault)
    for (const { reject } of group) reject(error)
    this.#events.failed()
  }
}

function unwritable(reason: string): StoreHealth {
  return { writable: false, reason: `The task store cannot write: ${reason}` }
}

/** Where a backup comes from and goes to. */
interface BackupRequest {
  readonly path: string
  readonly target: string
  readonly driver: DriverName | undefined
}

/**
 * Copies a store's file as it is at this moment, while others go on writing it. The copy appears under its name only
 * when it is whole and on the disk; a file already there is replaced.
 *
 * @throws Error if the copy would replace the store itself.
 */
export async function backUp({ path, target, driver }: BackupRequest): Promise<void> {
  if (existsSync(target) && realpathSync(target) === realpathSync(path))
    throw new Error('the copy would replace the store itself')
  const partial = `${target}.partial`
  rmSync(partial, { force: true })
  const db = await openConnection(path, driver)
  try {
    db.prepare('VACUUM INTO ?').run(partial)
    // It carries the credentials of webhooks, as the store does.
    chmodSync(partial, 0o600)
    const file = openSync(partial, 'r+')
    try {
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(partial, target)
  } finally {
    db.close()
    rmSync(partial, { force: true })
  }
}
