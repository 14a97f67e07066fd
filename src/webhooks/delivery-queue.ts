import { parseUrl } from '../network/url.ts'
import { A2AError } from '../protocol/errors.ts'
import { type Clock, toTimestamp } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import { backoffMs, wait } from '../shared/retry.ts'
import type { DeadLetter, PushConfigRecord, Store } from '../store/store.ts'
import type { Deliver, DeliveryOutcome, EncodeWebhook, WebhookPayload } from './deliver.ts'
import { findConfig, findNext, type Pending, taskWith, type WebhookKey } from './pending.ts'
import { persist, type RetryPolicy } from './retry.ts'
import type { Slots } from './slots.ts'

/** What the delivery queue of a webhook works with. */
export interface DeliveryContext {
  readonly store: Store
  readonly deliver: Deliver
  readonly encode: EncodeWebhook
  readonly slots: Slots
  readonly retry: RetryPolicy
  readonly clock: Clock
  readonly log: Logger
  /** A number in [0, 1). */
  readonly random: () => number
}

/** How a delivery queue is ended. */
export interface DeliverySignals {
  /** Begin nothing more. */
  readonly stop: AbortSignal
  /** Break off the attempt under way, too. */
  readonly kill: AbortSignal
}

/** A delivery that is being tried. */
interface Trial {
  /** The first event that it tells of: a pile of chunks that grows between attempts is still the same delivery. */
  readonly first: number
  readonly seq: number
  /** By the clock's `elapsed`. */
  readonly since: number
  readonly attempts: number
}

/**
 * Delivers in order what one webhook has not seen, and returns when it has seen everything or is gone.
 * Rejects when a signal fires or the store fails. The config is read again before every attempt, so a change or a
 * deletion counts at once; nothing but the count of attempts is kept in memory.
 */
async function finishDeliveries(
  context: DeliveryContext,
  key: WebhookKey,
  signals: DeliverySignals,
): Promise<void> {
  let last: Trial | undefined
  for (;;) {
    const step = await tryNext(context, key, signals)
    if (!step) return
    const { outcome, ...told } = step
    const trial = nextTrial(last, told, context.clock.elapsed())
    last = trial
    const delayMs = nextDelay(context, trial, outcome)
    if (outcome.kind !== 'delivered') report(context.log, { key, trial, outcome, delayMs })
    if (delayMs !== undefined) await wait(context.clock, delayMs, signals.stop)
    else await persist(context, signals.stop, () => settle(context, trial, { key, outcome }))
  }
}

/** Attempts a given-up delivery once more; what is delivered leaves the list of dead letters. */
export async function redriveLetter(
  context: DeliveryContext,
  id: string,
  { stop, kill }: DeliverySignals,
): Promise<DeliveryOutcome> {
  const pending = await findLetter(context.store, id)
  const free = await context.slots.take(hostOf(pending.record), stop)
  try {
    const outcome = await attempt(context, pending, kill)
    if (outcome.kind === 'delivered') await context.store.commit([{ type: 'deleteDeadLetter', id }])
    return outcome
  } finally {
    free()
  }
}

/** From which event to which a delivery tells. */
type Told = Pick<Trial, 'first' | 'seq'>

/** Reads the next event only when there is a place for its host: who waits for a place holds no event in memory. */
async function tryNext(
  context: DeliveryContext,
  key: WebhookKey,
  { stop, kill }: DeliverySignals,
): Promise<(Told & { readonly outcome: DeliveryOutcome }) | undefined> {
  const config = await findConfig(context.store, key)
  if (!config) return undefined
  const free = await context.slots.take(hostOf(config), stop)
  try {
    const pending = await findNext(context.store, key)
    if (!pending) return undefined
    const { since: first, entry } = pending
    return { first, seq: entry.seq, outcome: await attempt(context, pending, kill) }
  } finally {
    free()
  }
}

/** Attempts one delivery. The caller holds a place for its host. */
async function attempt(
  { store, deliver, encode, log }: DeliveryContext,
  pending: Pending,
  kill: AbortSignal,
): Promise<DeliveryOutcome> {
  const { record, entry } = pending
  const task = await taskWith(store, pending)
  let payload: WebhookPayload
  try {
    payload = encode(record, entry.event, task)
  } catch (error) {
    log.error({ error, taskId: record.taskId, dialect: record.dialect }, 'webhook not encoded')
    return { kind: 'refused', reason: 'The event could not be encoded' }
  }
  return deliver({ record, seq: entry.seq, payload }, kill)
}

/** One more attempt at the same delivery, or the first at another. */
function nextTrial(trial: Trial | undefined, told: Told, now: number): Trial {
  if (trial?.first !== told.first) return { ...told, since: now, attempts: 1 }
  return { ...trial, ...told, attempts: trial.attempts + 1 }
}

/** How long to wait for the next attempt; undefined where there is none. */
function nextDelay(
  context: DeliveryContext,
  trial: Trial,
  outcome: DeliveryOutcome,
): number | undefined {
  const { retry, clock, random } = context
  if (outcome.kind !== 'retry' || trial.attempts >= retry.maxAttempts) return undefined
  const { firstDelayMs: baseMs, maxDelayMs: maxMs } = retry
  const own = backoffMs(trial.attempts, { baseMs, maxMs, random })
  const delayMs = Math.max(own, outcome.afterMs ?? 0)
  return clock.elapsed() + delayMs > trial.since + retry.deadlineMs ? undefined : delayMs
}

/** Moves the cursor behind an event that was delivered or given up; what was given up is kept as a dead letter. */
async function settle(
  { store, clock }: DeliveryContext,
  { seq, attempts }: Trial,
  { key: { taskId, id }, outcome }: { readonly key: WebhookKey; readonly outcome: DeliveryOutcome },
): Promise<void> {
  const cursor = { type: 'cursor', taskId, id, cursor: seq } as const
  if (outcome.kind === 'delivered') {
    await store.commit([cursor])
    return
  }
  const deadLetter: DeadLetter = {
    id: `${taskId}:${id}:${seq}`,
    taskId,
    configId: id,
    seq,
    attempts,
    reason: outcome.reason,
    at: toTimestamp(clock.now()),
  }
  await store.commit([{ ...cursor, deadLetter }])
}

/** Tells the operator, without the URL: it may hold a secret. */
function report(
  log: Logger,
  failure: {
    readonly key: WebhookKey
    readonly trial: Trial
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

/** The host and port that a webhook's places are counted by. */
function hostOf({ config }: PushConfigRecord): string {
  return parseUrl(config.url)?.host ?? ''
}

async function findLetter(store: Store, id: string): Promise<Pending> {
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

/** The work under way: one delivery queue per webhook that is behind, and single attempts beside them. */
interface DeliveryQueues {
  /** Has a webhook's queue look at the log, now or once more when it is through. */
  wake(key: WebhookKey): void
  /** Breaks a webhook's queue off. */
  end(key: WebhookKey): void
  /** Does something that `close` can end. */
  run<T>(work: (signals: DeliverySignals) => Promise<T>): Promise<T>
  /** Begins nothing more, and breaks off what does not end within the grace. */
  close(graceMs: number): Promise<void>
}

interface Switch {
  readonly stop: AbortController
  readonly kill: AbortController
}

interface Queue {
  /** The log may have grown since the queue looked. */
  again: boolean
  off: Switch | undefined
}

/** Makes the set of queues, all of them idle. */
export function createDeliveryQueues(context: DeliveryContext): DeliveryQueues {
  const { clock } = context
  const queues = new Map<string, Queue>()
  const running = new Map<Switch, Promise<unknown>>()
  let closed = false

  function begin<T>(work: (signals: DeliverySignals) => Promise<T>): [Switch, Promise<T>] {
    const off = { stop: new AbortController(), kill: new AbortController() }
    if (closed) off.stop.abort()
    const promise = work({ stop: off.stop.signal, kill: off.kill.signal })
    const ended = promise.finally(() => running.delete(off))
    running.set(off, ended)
    return [off, ended]
  }

  async function serve(key: WebhookKey, queue: Queue, signals: DeliverySignals): Promise<void> {
    do {
      queue.again = false
      await persist(context, signals.stop, () => finishDeliveries(context, key, signals))
    } while (queue.again && !signals.stop.aborted)
    if (queues.get(nameOf(key)) === queue) queues.delete(nameOf(key))
  }

  return {
    wake(key) {
      const queue = queues.get(nameOf(key))
      if (queue) queue.again = true
      if (queue || closed) return
      const fresh: Queue = { again: false, off: undefined }
      queues.set(nameOf(key), fresh)
      const [off, ended] = begin((signals) => serve(key, fresh, signals))
      fresh.off = off
      ended.catch((error) => context.log.error({ error }, 'webhook delivery queue ended'))
    },
    end(key) {
      const queue = queues.get(nameOf(key))
      queues.delete(nameOf(key))
      queue?.off?.stop.abort()
      queue?.off?.kill.abort()
    },
    run: (work) => begin(work)[1],
    async close(graceMs) {
      closed = true
      for (const { stop } of running.keys()) stop.abort()
      const cancel = clock.after(graceMs, () => {
        for (const { kill } of running.keys()) kill.abort()
      })
      await Promise.allSettled(running.values())
      cancel()
    },
  }
}

function nameOf({ taskId, id }: WebhookKey): string {
  return JSON.stringify([taskId, id])
}
