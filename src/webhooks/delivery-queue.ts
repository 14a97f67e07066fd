import { A2AError } from '../protocol/errors.ts'
import { isTerminal } from '../protocol/task.ts'
import type { StreamResponse, Task, TaskState } from '../protocol/types.ts'
import { backoffMs, myTurn, wait } from '../shared/async.ts'
import { type Clock, toTimestamp } from '../shared/clock.ts'
import { isLongerThan } from '../shared/json.ts'
import type { Logger } from '../shared/log.ts'
import { parseUrl } from '../shared/text.ts'
import { foldRecords } from '../store/documents.ts'
import type {
  DeadLetter,
  LogRecord,
  PushConfigRecord,
  Store,
  StoredTask,
  Write,
} from '../store/store.ts'
import { type DeliveryOutcome, persist, type WebhookPayload } from './deliver.ts'
import type { FreePlace } from './delivery-slots.ts'
import type { DeliveryContext } from './webhooks.ts'

/** Which webhook: its delivery queue is found by this. */
interface WebhookKey {
  readonly taskId: string
  readonly id: string
}

/** How a delivery queue is ended. */
interface DeliverySignals {
  /** Begin nothing more. */
  readonly stop: AbortSignal
  /** Break off the attempt under way, too. */
  readonly kill: AbortSignal
}

/** Stops one piece of work. */
interface WorkSwitch {
  readonly stop: AbortController
  readonly kill: AbortController
}

/** The delivery queue of one webhook. */
interface DeliveryQueue {
  /** The log may have grown since the queue looked. */
  again: boolean
  off: WorkSwitch | undefined
}

/** The work under way: one delivery queue per webhook that is behind, and single attempts beside them. */
export class DeliveryQueues {
  readonly #context: DeliveryContext
  readonly #ask: (taskId: string) => void
  readonly #queues = new Map<string, DeliveryQueue>()
  readonly #running = new Map<WorkSwitch, Promise<unknown>>()
  /** For each claim under way, the queues that have ended since it was made. */
  readonly #claims = new Set<Set<string>>()
  #closed = false

  /**
   * @param ask Where replicas share the store, a webhook whose queue was through while it was woken or claimed is not sure
   * to be this replica's any more: this finds out, and wakes it.
   */
  constructor(context: DeliveryContext, ask: (taskId: string) => void) {
    this.#context = context
    this.#ask = ask
  }

  /** Has a webhook's queue look at the log, now or once more when it is through. */
  wake(key: WebhookKey): void {
    const queue = this.#queues.get(nameOf(key))
    if (queue) queue.again = true
    if (queue || this.#closed) return
    const fresh: DeliveryQueue = { again: false, off: undefined }
    this.#queues.set(nameOf(key), fresh)
    const [off, ended] = this.#begin((signals) => this.#serve(key, fresh, signals))
    fresh.off = off
    ended.catch((error) => this.#context.log.error({ error }, 'webhook delivery queue ended'))
  }

  /** Claims what no living process delivers, of one task or of all, and wakes its queues; how many webhooks that were. */
  async claim(wanted?: string): Promise<number> {
    const ended = new Set<string>()
    this.#claims.add(ended)
    const claiming = this.#context.store.claimDeliveries(wanted)
    const mine = await claiming.finally(() => this.#claims.delete(ended))
    for (const { taskId, id } of mine)
      if (ended.has(nameOf({ taskId, id }))) this.#ask(taskId)
      else this.wake({ taskId, id })
    return mine.length
  }

  /** Breaks a webhook's queue off. */
  end(key: WebhookKey): void {
    const queue = this.#queues.get(nameOf(key))
    this.#queues.delete(nameOf(key))
    queue?.off?.stop.abort()
    queue?.off?.kill.abort()
  }

  /** Does something that `close` can end. */
  run<T>(work: (signals: DeliverySignals) => Promise<T>): Promise<T> {
    return this.#begin(work)[1]
  }

  /** Begins nothing more, and breaks off what does not end within the grace. */
  async close(graceMs: number): Promise<void> {
    this.#closed = true
    for (const { stop } of this.#running.keys()) stop.abort()
    const cancel = this.#context.clock.after(graceMs, () => {
      for (const { kill } of this.#running.keys()) kill.abort()
    })
    await Promise.allSettled(this.#running.values())
    cancel()
  }

  #begin<T>(work: (signals: DeliverySignals) => Promise<T>): [WorkSwitch, Promise<T>] {
    const off = { stop: new AbortController(), kill: new AbortController() }
    if (this.#closed) off.stop.abort()
    const promise = work({ stop: off.stop.signal, kill: off.kill.signal })
    const ended = promise.finally(() => this.#running.delete(off))
    this.#running.set(off, ended)
    return [off, ended]
  }

  async #serve(key: WebhookKey, queue: DeliveryQueue, signals: DeliverySignals): Promise<void> {
    const { store } = this.#context
    do {
      queue.again = false
      await persist(this.#context, signals.stop, () =>
        finishDeliveries(this.#context, key, signals),
      )
    } while (queue.again && !store.feed && !signals.stop.aborted)
    if (this.#queues.get(nameOf(key)) === queue) this.#queues.delete(nameOf(key))
    for (const ended of this.#claims) ended.add(nameOf(key))
    if (queue.again && !signals.stop.aborted) this.#ask(key.taskId)
  }
}

function nameOf({ taskId, id }: WebhookKey): string {
  return JSON.stringify([taskId, id])
}

/** A delivery that is being tried. */
interface DeliveryTrial {
  /** The first event that it tells of: a pile of chunks that grows between attempts is still the same delivery. */
  readonly first: number
  readonly seq: number
  /** By the clock's `elapsed`. */
  readonly since: number
  readonly attempts: number
}

/**
 * Delivers in order what one webhook has not seen, and returns when it has seen everything, or is gone, or is another
 * replica's by now.
 * Rejects when a signal fires or the store fails. The config is read again before every attempt, so a change or a
 * deletion counts at once; nothing but the count of attempts is kept in memory.
 */
async function finishDeliveries(
  context: DeliveryContext,
  key: WebhookKey,
  signals: DeliverySignals,
): Promise<void> {
  let last: DeliveryTrial | undefined
  for (;;) {
    const step = await tryNext(context, key, signals)
    if (!step) return
    const { outcome, ...events } = step
    // One more attempt at the same delivery, or the first at another.
    const trial: DeliveryTrial =
      last?.first === events.first
        ? { ...last, ...events, attempts: last.attempts + 1 }
        : { ...events, since: context.clock.elapsed(), attempts: 1 }
    last = trial
    const delayMs = nextDelay(context, trial, outcome)
    if (outcome.kind !== 'delivered') report(context.log, { key, trial, outcome, delayMs })
    if (delayMs !== undefined) context.memory.waits(key, delayMs)
    if (delayMs !== undefined) await wait(context.clock, delayMs, signals.stop)
    else if (!(await isSettled(context, { key, trial, outcome }, signals.stop))) return
  }
}

/** Attempts a given-up delivery once more; what is delivered leaves the list of dead letters. */
export async function redriveLetter(
  context: DeliveryContext,
  id: string,
  { stop, kill }: DeliverySignals,
): Promise<DeliveryOutcome> {
  const pending = await findLetter(context.store, id)
  const free = await takePlace(context, pending.record, stop)
  let outcome: DeliveryOutcome | undefined
  try {
    outcome = await attempt(context, pending, kill)
    if (outcome.kind === 'delivered') await context.store.commit([{ type: 'deleteDeadLetter', id }])
    return outcome
  } finally {
    free(answerOf(outcome))
  }
}

/** The first and the last event of a delivery. */
type DeliveredEvents = Pick<DeliveryTrial, 'first' | 'seq'>

/** Reads the next event only when there is a place for its host: a queue that waits for a place holds no event in memory. */
async function tryNext(
  context: DeliveryContext,
  key: WebhookKey,
  { stop, kill }: DeliverySignals,
): Promise<(DeliveredEvents & { readonly outcome: DeliveryOutcome }) | undefined> {
  const config = await findConfig(context.store, key)
  if (!config) return undefined
  const free = await takePlace(context, config, stop)
  let outcome: DeliveryOutcome | undefined
  try {
    const pending = await findNext(context.store, key)
    if (!pending) return undefined
    const { since: first, entry } = pending
    outcome = await attempt(context, pending, kill)
    return { first, seq: entry.seq, outcome }
  } finally {
    free(answerOf(outcome))
  }
}

/** Waits for a place to deliver to a webhook. */
async function takePlace(
  { slots, principalOf }: DeliveryContext,
  { taskId, config }: PushConfigRecord,
  stop: AbortSignal,
): Promise<FreePlace> {
  const principal = await principalOf(taskId)
  return slots.take({ principal, host: parseUrl(config.url)?.host ?? '' }, stop)
}

/** What an attempt says of its host; nothing where there was none, or the host was not there. */
function answerOf(outcome: DeliveryOutcome | undefined): Parameters<FreePlace>[0] {
  if (outcome?.kind === 'delivered') return 'answered'
  return outcome?.kind === 'retry' && outcome.isTimeout ? 'timeout' : undefined
}

/** An event of more characters, as JSON, is written in a tick of its own. The limit is low, since each event is measured up to it. */
const largeEvent = 16 * 1024

/** Attempts one delivery. The caller holds a place for its host. */
async function attempt(
  { store, deliver, encode, log }: DeliveryContext,
  pending: PendingDelivery,
  kill: AbortSignal,
): Promise<DeliveryOutcome> {
  const { record, entry } = pending
  const task = await taskWith(store, pending)
  // A large event was stored, and the caller answered, in this tick.
  if (isLongerThan(entry.event, largeEvent) || isLongerThan(task, largeEvent)) await myTurn()
  let payload: WebhookPayload
  try {
    payload = encode(record, entry.event, task)
  } catch (error) {
    log.error({ error, taskId: record.taskId, dialect: record.dialect }, 'webhook not encoded')
    return { kind: 'refused', reason: 'The event could not be encoded' }
  }
  return deliver({ record, seq: entry.seq, payload }, kill)
}

/** How long to wait for the next attempt; undefined where there is none. */
function nextDelay(
  context: DeliveryContext,
  trial: DeliveryTrial,
  outcome: DeliveryOutcome,
): number | undefined {
  const { retry, clock, random } = context
  if (outcome.kind !== 'retry' || trial.attempts >= retry.maxAttempts) return undefined
  const { firstDelayMs: baseMs, maxDelayMs: maxMs } = retry
  const own = backoffMs(trial.attempts, { baseMs, maxMs, random })
  const delayMs = Math.max(own, outcome.afterMs ?? 0)
  return clock.elapsed() + delayMs > trial.since + retry.deadlineMs ? undefined : delayMs
}

/** How one delivery of a webhook ended. */
interface SettledDelivery {
  readonly key: WebhookKey
  readonly trial: DeliveryTrial
  readonly outcome: DeliveryOutcome
}

/**
 * Moves the cursor behind an event that was delivered or given up; what was given up is kept as a dead letter. False where
 * the webhook is no longer there, or no longer ours: among replicas, one that has seen everything has no owner, and the
 * replica that stores the next event agrees with the others on which of them delivers it.
 */
async function isSettled(
  context: DeliveryContext,
  settled: SettledDelivery,
  stop: AbortSignal,
): Promise<boolean> {
  let isOurs = true
  await persist(context, stop, async () => {
    const [result] = await context.store.commit([toCursor(settled, context.clock)])
    const version = result && 'version' in result ? result.version : undefined
    isOurs = version !== undefined && !(context.store.feed && version <= settled.trial.seq)
  })
  return isOurs
}

function toCursor({ key, trial, outcome }: SettledDelivery, clock: Clock): Write {
  const { taskId, id } = key
  const { seq, attempts } = trial
  const cursor = { type: 'cursor', taskId, id, cursor: seq } as const
  if (outcome.kind === 'delivered') return cursor
  const deadLetter: DeadLetter = {
    id: `${taskId}:${id}:${seq}`,
    taskId,
    configId: id,
    seq,
    attempts,
    reason: outcome.reason,
    at: toTimestamp(clock.now()),
  }
  return { ...cursor, deadLetter }
}

/** Logs it for the operator, without the URL: it may hold a secret. */
function report(
  log: Logger,
  failure: {
    readonly key: WebhookKey
    readonly trial: DeliveryTrial
    readonly outcome: Exclude<DeliveryOutcome, { kind: 'delivered' }>
    readonly delayMs: number | undefined
  },
): void {
  const { key, trial, outcome, delayMs } = failure
  const fields = { taskId: key.taskId, configId: key.id, seq: trial.seq, attempt: trial.attempts }
  if (delayMs === undefined)
    log.warn({ ...fields, reason: outcome.reason }, 'webhook delivery given up')
  else log.info({ ...fields, reason: outcome.reason, delayMs }, 'webhook delivery failed')
}

async function findLetter(store: Store, id: string): Promise<PendingDelivery> {
  const letter = (await store.deadLetters()).find((item) => item.id === id)
  if (!letter) throw new A2AError('invalidParams', `No dead letter ${id}`)
  const { taskId, configId, seq } = letter
  const record = await findConfig(store, { taskId, id: configId })
  const stored = await store.get(taskId)
  if (!record || !stored) throw new A2AError('invalidParams', `The webhook of ${id} is gone`)
  const [entry] = await store.records(taskId, seq - 1, 1)
  if (entry?.kind !== 'event' || entry.seq !== seq)
    throw new A2AError('invalidParams', `The event of ${id} is no longer kept`)
  return { record, entry, since: seq, stored }
}

type EventRecord = Extract<LogRecord, { kind: 'event' }>

/** The next event of a webhook, with all that an attempt needs. */
interface PendingDelivery {
  readonly record: PushConfigRecord
  readonly entry: EventRecord
  /** The first event that this delivery tells of; the entry itself, but where chunks have piled up before it. */
  readonly since: number
  readonly stored: StoredTask
}

/** A webhook as it is stored now. */
async function findConfig(
  store: Store,
  { taskId, id }: WebhookKey,
): Promise<PushConfigRecord | undefined> {
  return (await store.pushConfigs(taskId)).find((config) => config.id === id)
}

const firstPage = 4
const maxPage = 256

/**
 * Finds the next event that a webhook wants. Where each delivery carries the whole task, chunks that have piled up come
 * with the change of state behind them, or with the last of them. Records that it does not want are passed over without a write, except
 * where there are many or the task is finished: then the cursor moves, so that they are not read again and retention
 * does not wait for them.
 */
async function findNext(store: Store, key: WebhookKey): Promise<PendingDelivery | undefined> {
  const record = await findConfig(store, key)
  if (!record) return undefined
  const { taskId } = key
  // Read before the records, so that it holds nothing which they do not tell of.
  const stored = await store.get(taskId, undefined, { light: !needsTask(record) })
  const pile: EventRecord[] = []
  let seen = record.cursor
  for (let limit = firstPage; ; limit = Math.min(limit * 2, maxPage)) {
    const page = await store.records(taskId, seen, limit)
    const complete = pileUp(pile, page, record)
    seen = page.at(-1)?.seq ?? seen
    if (complete || page.length < limit) break
  }
  const [first] = pile
  const entry = pile.at(-1)
  if (stored && first && entry) return { record, entry, since: first.seq, stored }
  await passOver(store, record, seen)
  return undefined
}

/** Takes what the webhook wants from a page; true once the next delivery is complete. */
function pileUp(
  pile: EventRecord[],
  page: readonly LogRecord[],
  record: PushConfigRecord,
): boolean {
  for (const item of page) {
    if (item.kind !== 'event' || !wants(record.events, item.event)) continue
    // Of a pile only its first and its last are needed.
    if (pile.length > 1) pile.pop()
    pile.push(item)
    // In 0.3 a delivery is the task itself.
    const carriesTask = record.dialect === '0.3' || record.dialect === '0.3-rest'
    if (!carriesTask || !('artifactUpdate' in item.event)) return true
  }
  return false
}

/** Whether a delivery tells of more than its event. */
function needsTask({ dialect }: PushConfigRecord): boolean {
  return dialect !== '1.0' && dialect !== '1.0-rc'
}

async function passOver(store: Store, record: PushConfigRecord, seen: number): Promise<void> {
  if (seen === record.cursor) return
  const { taskId, id } = record
  const stored = await store.get(taskId, undefined, { light: true })
  const isWorthIt = seen - record.cursor >= maxPage || (stored && isTerminal(stored.head.state))
  if (isWorthIt) await store.commit([{ type: 'cursor', taskId, id, cursor: seen }])
}

/**
 * The task with this event in it. The snapshot may be older than the event: then what lies between is folded in. It may
 * also be newer: then the event's status stands in it.
 */
async function taskWith(store: Store, { record, stored, entry }: PendingDelivery): Promise<Task> {
  const { seq, event } = entry
  const { taskVersion } = stored
  if ('task' in event) return event.task
  if (!needsTask(record)) return stored.task
  if (seq > taskVersion)
    return foldRecords(
      stored.task,
      await store.records(record.taskId, taskVersion, seq - taskVersion),
    )
  return 'statusUpdate' in event
    ? { ...stored.task, status: event.statusUpdate.status }
    : stored.task
}

/** RANCH's further names for the states that end a task. */
const endings: Partial<Record<TaskState, string>> = {
  TASK_STATE_COMPLETED: 'completed',
  TASK_STATE_FAILED: 'failed',
  TASK_STATE_REJECTED: 'failed',
  TASK_STATE_CANCELED: 'cancelled',
}

/** Whether a webhook wants an event; without a filter it wants all. */
export function wants(filter: readonly string[] | undefined, event: StreamResponse): boolean {
  if (!filter) return true
  return namesOf(event).some((name) => filter.includes(name))
}

/** An ending is a change of status too, so it answers to both names. */
function namesOf(event: StreamResponse): readonly string[] {
  if ('artifactUpdate' in event) return ['artifactAdded']
  if ('message' in event) return []
  const { state } = 'task' in event ? event.task.status : event.statusUpdate.status
  const ending = endings[state]
  return ending ? ['statusChanged', ending] : ['statusChanged']
}

/** One attempt at a delivery, as people are shown it. */
export interface DeliveryAttempt {
  /** When it began. */
  readonly at: string
  /** The number of the event in its task's log. */
  readonly seq: number
  readonly outcome: DeliveryOutcome
  /** The HTTP status, where there was an answer. */
  readonly status?: number
  /** How long it took, in milliseconds. */
  readonly ms: number
}

/** What is remembered of a webhook since the process began. */
export interface DeliveryHistory {
  /** The newest first. */
  readonly attempts: readonly DeliveryAttempt[]
  /** When it is tried again, where it waits for that. */
  readonly nextAt?: string
}

/** So many attempts of so many webhooks; those that were tried longest ago are forgotten first. */
const maxAttempts = 10
const maxWebhooks = 1_000

const nothing: DeliveryHistory = { attempts: [] }

/** Remembers the last attempts of webhooks. */
export class AttemptMemory {
  readonly #clock: Clock
  readonly #known = new Map<string, DeliveryHistory>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  of(key: WebhookKey): DeliveryHistory {
    return this.#known.get(nameOf(key)) ?? nothing
  }

  attempted(key: WebhookKey, attempt: DeliveryAttempt): void {
    this.#keep(key, { attempts: [attempt, ...this.of(key).attempts].slice(0, maxAttempts) })
  }

  /** The webhook is tried again after so long. */
  waits(key: WebhookKey, delayMs: number): void {
    const nextAt = toTimestamp(this.#clock.now() + delayMs)
    this.#keep(key, { ...this.of(key), nextAt })
  }

  #keep(key: WebhookKey, history: DeliveryHistory): void {
    const name = nameOf(key)
    this.#known.delete(name)
    this.#known.set(name, history)
    if (this.#known.size <= maxWebhooks) return
    const [oldest = ''] = this.#known.keys()
    this.#known.delete(oldest)
  }
}
