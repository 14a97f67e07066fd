import { encodeFrame, heartbeat, streamHeaders } from '../bindings/sse.ts'
import { A2AError } from '../protocol/errors.ts'
import type { ConsoleHost } from '../server/options.ts'
import type { Clock } from '../shared/clock.ts'
import type { LogRecord } from '../store/store.ts'
import type { TaskChange } from './api.ts'
import { type ApiCall, type ApiHandler, inSlices, type Viewer } from './call.ts'
import type { TaskReader } from './facts.ts'
import { toListedTask } from './tasks.ts'

const maxStreams = 100
const maxStreamsEach = 20

/** Makes the handler of `events`: tells each page of the tasks that it may see when their state changes. */
export function createChangeStreams(
  host: ConsoleHost,
  reader: TaskReader,
): { readonly handle: ApiHandler; close(): void } {
  const open = new Set<ChangeStream>()
  const changed = createGathering(host, tell)
  let stopListening: (() => void) | undefined

  /** Reads a changed task once, for all pages that show it. */
  async function tell(taskId: string): Promise<void> {
    const stored = await host.store.get(taskId, undefined, { light: true })
    if (!stored) return
    for (const stream of [...open])
      if (stream.viewer.sees(stored.head)) {
        const task = await toListedTask(stored, stream.viewer, reader)
        stream.add({ task, version: stored.version })
      }
  }

  /** Hears of what is stored here, and by other replicas. */
  function listen(): () => void {
    const stopHere = host.onStored((taskId, records) => {
      if (records.some(isChange)) changed.add(taskId)
    })
    const stopReplicas = watchReplicas(host, changed.add)
    return () => {
      stopHere()
      stopReplicas()
      changed.clear()
    }
  }

  function leave(stream: ChangeStream): void {
    open.delete(stream)
    if (open.size > 0) return
    stopListening?.()
    stopListening = undefined
  }

  return {
    handle(call: ApiCall) {
      const own = [...open].filter((one) => one.principal === call.principal).length
      if (open.size >= maxStreams || own >= maxStreamsEach)
        throw new A2AError('unavailable', 'Too many consoles are open', { retryAfterSeconds: 5 })
      const stream = new ChangeStream(call, host.clock, leave)
      open.add(stream)
      stopListening ??= listen()
      call.request.signal?.addEventListener('abort', () => void stream.return(), { once: true })
      return { status: 200, headers: streamHeaders, body: stream }
    },
    close() {
      for (const stream of [...open]) void stream.return()
    },
  }
}

const maxChanges = 200
const heartbeatMs = 15_000

/** One page's stream: holds what has changed until the page has taken the last. */
class ChangeStream implements AsyncIterableIterator<string> {
  readonly principal: string
  readonly viewer: Viewer
  readonly #clock: Clock
  readonly #leave: (stream: ChangeStream) => void
  readonly #changes = new Map<string, TaskChange>()
  #first = true
  #isOver = false
  #wake: (() => void) | undefined

  constructor({ viewer, principal }: ApiCall, clock: Clock, leave: (stream: ChangeStream) => void) {
    this.viewer = viewer
    this.principal = principal
    this.#clock = clock
    this.#leave = leave
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** The last change of a task counts; beyond the bound the oldest is forgotten. */
  add(change: TaskChange): void {
    this.#changes.delete(change.task.id)
    this.#changes.set(change.task.id, change)
    if (this.#changes.size > maxChanges) forgetOldest(this.#changes)
    this.#wake?.()
  }

  async next(): Promise<IteratorResult<string>> {
    // The headers go out at once.
    if (this.#first) {
      this.#first = false
      return { done: false, value: heartbeat }
    }
    if (this.#changes.size === 0 && !this.#isOver) await this.#awaitChange()
    if (this.#isOver) return { done: true, value: undefined }
    let value = ''
    for (const change of this.#changes.values())
      value += encodeFrame({ data: JSON.stringify(change) })
    this.#changes.clear()
    return { done: false, value: value || heartbeat }
  }

  async return(): Promise<IteratorResult<string>> {
    this.#isOver = true
    this.#leave(this)
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
      const callOff = this.#clock.after(heartbeatMs, go)
      this.#wake = go
    })
  }
}

function forgetOldest(some: Set<string> | Map<string, unknown>): void {
  const [oldest = ''] = some.keys()
  some.delete(oldest)
}

/** Changes are published this often at most, and so many at once; a page that has missed some asks for its list again. */
const gatherMs = 250

const maxGathered = 2_000

/** Beyond the bound the oldest is forgotten: the newest change of a task is published anyway. */
function createGathering({ clock, logger }: ConsoleHost, tell: (taskId: string) => Promise<void>) {
  const gathered = new Set<string>()
  let isUnderway = false

  async function tellAll(): Promise<void> {
    const ids = [...gathered]
    gathered.clear()
    try {
      await inSlices(ids, tell)
    } catch (err) {
      logger.debug({ err }, 'The console cannot tell of changes')
    }
    isUnderway = false
    if (gathered.size > 0) tellLater()
  }

  function tellLater(): void {
    if (isUnderway) return
    isUnderway = true
    clock.after(gatherMs, () => void tellAll())
  }

  return {
    add(taskId: string): void {
      gathered.add(taskId)
      if (gathered.size > maxGathered) forgetOldest(gathered)
      tellLater()
    },
    clear: (): void => gathered.clear(),
  }
}

/** Lists do not show the words of an answer that grows. */
function isChange(record: LogRecord): boolean {
  return record.kind === 'event' && !('artifactUpdate' in record.event)
}

const maxLooked = 50

/** How often the newest tasks are looked at, and how many of them. */
const lookMs = 2_000

/**
 * Reports tasks that other replicas have changed, while a page listens: the newest are looked at from time to time.
 * Where one process has the store to itself there is nothing to look for.
 */
function watchReplicas(
  { store, clock, logger }: Pick<ConsoleHost, 'store' | 'clock' | 'logger'>,
  changed: (taskId: string) => void,
): () => void {
  let known: ReadonlyMap<string, string> | undefined
  let isOver = false
  let callOff = (): void => {}

  async function look(): Promise<void> {
    const { tasks } = await store.listAll({ limit: maxLooked, light: true, counted: false })
    const seen = new Map(tasks.map(({ head }) => [head.id, `${head.timestamp} ${head.state}`]))
    if (known) for (const [id, mark] of seen) if (known.get(id) !== mark) changed(id)
    known = seen
  }

  function lookLater(): void {
    if (isOver) return
    callOff = clock.after(lookMs, () => {
      look()
        .catch((err: unknown) => logger.debug({ err }, 'The console cannot look for changes'))
        .finally(lookLater)
    })
  }

  if (store.feed) lookLater()
  return () => {
    isOver = true
    callOff()
  }
}
