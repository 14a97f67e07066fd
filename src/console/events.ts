import { encodeFrame, heartbeat, streamHeaders } from '../bindings/sse.ts'
import { A2AError } from '../protocol/errors.ts'
import type { ConsoleHost } from '../server/console.ts'
import type { LogRecord } from '../store/store.ts'
import type { TaskChange } from './api.ts'
import type { ApiCall, ApiHandler } from './call.ts'
import { watchElsewhere } from './elsewhere.ts'
import type { ReadFacts } from './facts.ts'
import { toListedTask } from './listed-task.ts'
import type { Viewer } from './viewer.ts'

/** Changes are told this often at most, so many at once; a page that has missed some asks for its list again. */
const gatherMs = 250
const maxChanges = 200
const maxStreams = 100
const maxStreamsEach = 20
const heartbeatMs = 15_000

/** Streams of changed tasks. */
interface ChangeStreams {
  readonly handle: ApiHandler
  /** Ends all of them. */
  close(): void
}

/** Makes the handler of `events`: tells each page of the tasks that it may see when their state changes. */
export function createChangeStreams(host: ConsoleHost, readFacts: ReadFacts): ChangeStreams {
  const open = new Set<ChangeStream>()
  let stopListening: (() => void) | undefined

  const onStored = (taskId: string, records: readonly LogRecord[]): void => {
    if (records.some(isChange)) for (const stream of open) stream.add(taskId)
  }

  /** Hears of what is stored here, and by other replicas. */
  function listen(): () => void {
    const stopHere = host.onStored(onStored)
    const stopElsewhere = watchElsewhere(host, (taskId) => {
      for (const stream of open) stream.add(taskId)
    })
    return () => {
      stopHere()
      stopElsewhere()
    }
  }

  function leave(stream: ChangeStream): void {
    open.delete(stream)
    if (open.size > 0) return
    stopListening?.()
    stopListening = undefined
  }

  return {
    handle({ viewer, principal, request }: ApiCall) {
      const own = [...open].filter((one) => one.principal === principal).length
      if (open.size >= maxStreams || own >= maxStreamsEach)
        throw new A2AError('unavailable', 'Too many consoles are open', { retryAfterSeconds: 5 })
      const around = { host, viewer, principal, readFacts }
      const stream = new ChangeStream({ ...around, leave: () => leave(stream) })
      open.add(stream)
      stopListening ??= listen()
      request.signal?.addEventListener('abort', () => void stream.return(), { once: true })
      return { status: 200, headers: streamHeaders, body: stream }
    },
    close() {
      for (const stream of [...open]) void stream.return()
    },
  }
}

/** Words of an answer that grows are none of the list's business. */
function isChange(record: LogRecord): boolean {
  return record.kind === 'event' && !('artifactUpdate' in record.event)
}

interface StreamDeps {
  readonly host: ConsoleHost
  readonly viewer: Viewer
  readonly principal: string
  readonly readFacts: ReadFacts
  leave(): void
}

/** One page's stream: gathers what changes, and tells it when the page has taken the last. */
class ChangeStream implements AsyncIterableIterator<string> {
  readonly #deps: StreamDeps
  readonly #changed = new Set<string>()
  #first = true
  #isOver = false
  #wake: (() => void) | undefined

  constructor(deps: StreamDeps) {
    this.#deps = deps
  }

  get principal(): string {
    return this.#deps.principal
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** Beyond the bound the oldest is forgotten: the newest change of a task is told anyway. */
  add(taskId: string): void {
    this.#changed.add(taskId)
    if (this.#changed.size > maxChanges) {
      const [oldest = ''] = this.#changed
      this.#changed.delete(oldest)
    }
    this.#wake?.()
  }

  async next(): Promise<IteratorResult<string>> {
    // The headers go out at once.
    if (this.#first) {
      this.#first = false
      return { done: false, value: heartbeat }
    }
    while (!this.#isOver) {
      if (this.#changed.size === 0) await this.#awaitChange()
      if (this.#isOver) break
      if (this.#changed.size === 0) return { done: false, value: heartbeat }
      await this.#gather()
      const value = await this.#tell()
      if (value !== '') return { done: false, value }
    }
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<string>> {
    this.#isOver = true
    this.#deps.leave()
    this.#wake?.()
    return { done: true, value: undefined }
  }

  /** Waits for a change, but not for ever; the end is one. */
  #awaitChange(): Promise<void> {
    return new Promise((resolve) => {
      const go = (): void => {
        callOff()
        this.#wake = undefined
        resolve()
      }
      const callOff = this.#deps.host.clock.after(heartbeatMs, go)
      this.#wake = go
    })
  }

  /** Lets changes that come together be told together. */
  #gather(): Promise<void> {
    return new Promise((resolve) => {
      this.#deps.host.clock.after(gatherMs, resolve)
    })
  }

  async #tell(): Promise<string> {
    const { host, viewer, readFacts } = this.#deps
    const ids = [...this.#changed]
    this.#changed.clear()
    let text = ''
    for (const id of ids) {
      const stored = await host.store.get(id)
      if (!stored || !viewer.sees(stored.head)) continue
      const task = await toListedTask(stored, viewer, readFacts)
      const change: TaskChange = { task, version: stored.version }
      text += encodeFrame({ data: JSON.stringify(change) })
    }
    return text
  }
}
