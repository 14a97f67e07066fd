import { Worker } from 'node:worker_threads'
import type { BackupRequest } from './backup.ts'
import type { FileRequest } from './driver.ts'
import type { SqliteFault } from './faults.ts'
import type { Query } from './list.ts'
import type { OpenOptions } from './open.ts'
import type { WriteRow } from './rows.ts'
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
  | { readonly type: 'fillContexts' }
  | ({ readonly type: 'query' } & Query)
  | { readonly type: 'close' }

/** What a writing thread says of the file that it has opened. */
export interface WriterState {
  /** Whether all of it was found to be sound. */
  readonly checked: boolean
  /** Whether tasks are still to be brought in by context. */
  readonly filling: boolean
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
  /** Ends it, whatever it is at. */
  stop(): Promise<void>
}

const gone: ThreadAnswer = { fault: { code: 0, message: 'the thread has stopped' } }

/** Starts a thread. One that works in the background does not keep the process alive. */
export function startThread(task: ThreadTask, background = false): StartedThread {
  const worker = createWorker(task)
  const waiting: ((answer: ThreadAnswer) => void)[] = []
  let running = true
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
  worker.on('message', (answer: ThreadAnswer) => {
    waiting.shift()?.(answer)
    // An idle store does not keep its process alive; one that is writing does.
    if (waiting.length === 0) worker.unref()
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
    async stop() {
      await worker.terminate()
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
