import cluster, { type Worker } from 'node:cluster'
import { createDeferred } from '../shared/async.ts'
import { systemClock } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'

/** What a worker says once it serves: what a single process would have written to stdout. */
interface Ready {
  readonly ready: string
}

/** How workers are run. */
interface WorkersOptions {
  readonly count: number
  readonly logger: Logger
  /** Called once, when all serve, with what the first to serve has to say. */
  served(words: string): void
}

/** The number of this process where it is a worker. Its line to the one that started it does not keep it from ending. */
export function workerNumber(): number | undefined {
  if (cluster.isWorker) process.channel?.unref()
  return cluster.worker?.id
}

/** Tells the process that started this one that it serves. */
export function tellServed(words: string): void {
  process.send?.({ ready: words } satisfies Ready)
}

/** How soon one that died is replaced; twice as long each time while they die young. */
const firstDelayMs = 100
const maxDelayMs = 5_000
/** One that lived for longer has not died of how it was started. */
const youngMs = 10_000

/**
 * Runs the same command in so many processes, which share its port: connections go round between them. One that dies is
 * replaced. A signal ends all of them gracefully, a later one at once. Resolves with the exit code once all have ended;
 * where one cannot even start, the others are ended too, and its code is the result.
 */
export function runWorkers(options: WorkersOptions): Promise<number> {
  return new Workers(options).run()
}

class Workers {
  readonly #options: WorkersOptions
  readonly #done = createDeferred<number>()
  readonly #living = new Set<Worker>()
  readonly #serving = new Set<Worker>()
  #words: string | undefined
  #isTold = false
  #ending: number | undefined
  #delayMs = firstDelayMs
  #callOff: (() => void)[] = []

  constructor(options: WorkersOptions) {
    this.#options = options
  }

  async run(): Promise<number> {
    const { count, logger } = this.#options
    const onSignal = (signal: NodeJS.Signals): void => this.#end(signal, 0)
    process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
    for (let i = 0; i < count; i++) this.#start()
    logger.info({ workers: count }, 'Starting workers')
    try {
      return await this.#done.promise
    } finally {
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
    }
  }

  #start(): void {
    const worker = cluster.fork()
    const startedAt = systemClock.elapsed()
    this.#living.add(worker)
    worker.on('message', (message: Ready) => this.#ready(worker, message.ready))
    worker.on('exit', (code, signal) => {
      this.#living.delete(worker)
      const served = this.#serving.delete(worker)
      if (this.#ending === undefined) {
        this.#options.logger.warn({ worker: worker.id, code, signal }, 'A worker has ended')
        if (!this.#isTold && !served) this.#end('SIGTERM', code || 2)
        else this.#replace(systemClock.elapsed() - startedAt)
      }
      // One that a later signal ended at once.
      if (this.#ending === 0 && code) this.#ending = code
      if (this.#ending !== undefined && this.#living.size === 0) this.#done.resolve(this.#ending)
    })
  }

  #ready(worker: Worker, words: string): void {
    this.#serving.add(worker)
    this.#words ??= words
    if (this.#isTold || this.#serving.size < this.#options.count) return
    this.#isTold = true
    this.#options.served(this.#words)
  }

  #replace(livedMs: number): void {
    this.#delayMs = livedMs < youngMs ? Math.min(this.#delayMs * 2, maxDelayMs) : firstDelayMs
    const callOff = systemClock.after(this.#delayMs, () => {
      this.#callOff = this.#callOff.filter((one) => one !== callOff)
      this.#start()
    })
    this.#callOff.push(callOff)
  }

  /** Passes a signal on; each process knows what a first and a later one mean. */
  #end(signal: NodeJS.Signals, code: number): void {
    if (this.#ending === undefined)
      this.#options.logger.info({ signal, workers: this.#living.size }, 'Stopping the workers')
    this.#ending ??= code
    for (const callOff of this.#callOff.splice(0)) callOff()
    for (const worker of this.#living) worker.process.kill(signal)
    if (this.#living.size === 0) this.#done.resolve(this.#ending)
  }
}
