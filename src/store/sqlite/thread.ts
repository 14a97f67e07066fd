import { createRequire } from 'node:module'
import { Worker, type WorkerOptions } from 'node:worker_threads'
import type { BackupRequest } from './backup.ts'
import type { SqliteFault } from './faults.ts'
import type { OpenOptions } from './open.ts'
import type { WriteRow } from './rows.ts'
import type { TrimRequest } from './trim.ts'

/** What a thread is started for. */
export type ThreadTask =
  | { readonly type: 'serve'; readonly options: OpenOptions }
  | ({ readonly type: 'backup' } & BackupRequest)

/** What the writing thread is asked. */
export type Request =
  | { readonly type: 'commit'; readonly rows: readonly WriteRow[] }
  | ({ readonly type: 'trim' } & TrimRequest)
  | { readonly type: 'probe' }
  | { readonly type: 'indexContexts' }
  | { readonly type: 'close' }

/** What it answers. */
export type Answer = { readonly ok: unknown } | { readonly fault: SqliteFault }

/** The writing thread as the main one sees it. */
export interface Thread {
  /** Asks; answers come in the order of the questions. */
  ask(request: Request): Promise<Answer>
  /** Waits until the thread is gone. */
  ended(): Promise<void>
}

const gone: Answer = { fault: { code: 0, message: 'the writing thread has stopped' } }

/** Starts a thread and waits for its first answer: whether it could do, or begin, what it was started for. */
export async function startThread(
  task: ThreadTask,
): Promise<{ readonly thread: Thread; readonly first: Answer }> {
  const worker = createWorker(task)
  const waiting: ((answer: Answer) => void)[] = []
  let running = true
  const next = (): Promise<Answer> =>
    new Promise((resolve) => {
      waiting.push(resolve)
      worker.ref()
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
  worker.on('message', (answer: Answer) => {
    waiting.shift()?.(answer)
    // An idle store does not keep its process alive; one that is writing does.
    if (waiting.length === 0) worker.unref()
  })
  const thread: Thread = {
    async ask(request) {
      if (!running) return gone
      worker.postMessage(request)
      return next()
    },
    ended() {
      worker.ref()
      return ended
    },
  }
  return { thread, first: await next() }
}

/**
 * The worker beside this file. From `dist` it is JavaScript. From the sources it is TypeScript, which newer versions of
 * Node run as it is; on older ones tsx, which then is what runs or tests the sources, translates it.
 */
function createWorker(task: ThreadTask): Worker {
  // Node 22 warns that its SQLite is experimental; once, by the reading connection, is enough.
  const options: WorkerOptions = { workerData: task, execArgv: ['--no-warnings'] }
  const isSource = import.meta.url.endsWith('.ts')
  const url = new URL(isSource ? './worker.ts' : './worker.js', import.meta.url)
  if (!isSource || Reflect.get(process.features, 'typescript')) return new Worker(url, options)
  const tsx = createRequire(import.meta.url)
    .resolve('tsx/esm/api')
    .replace(/cjs$/, 'mjs')
  const load = `import(${JSON.stringify(tsx)}).then(({ register }) => (register(), import(${JSON.stringify(url.href)})))`
  return new Worker(load, { ...options, eval: true })
}
