import { parseUrl } from '../network/url.ts'
import { A2AError } from '../protocol/errors.ts'
import { type Clock, toTimestamp } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import { backoffMs, wait } from '../shared/retry.ts'
import type { DeadLetter, PushConfigRecord, Store, Write } from '../store/store.ts'
import type { AttemptMemory } from './attempts.ts'
import type { Deliver, DeliveryOutcome, EncodeWebhook, WebhookPayload } from './deliver.ts'
import type { FreePlace } from './hosts.ts'
import { findConfig, findNext, type Pending, taskWith, type WebhookKey } from './pending.ts'
import type { PrincipalOf } from './principals.ts'
import { persist, type RetryPolicy } from './retry.ts'
import type { Slots } from './slots.ts'

/** What the delivery queue of a webhook works with. */
export interface DeliveryContext {
  readonly store: Store
  readonly deliver: Deliver
  readonly encode: EncodeWebhook
  readonly slots: Slots
  readonly principalOf: PrincipalOf
  readonly retry: RetryPolicy
  readonly clock: Clock
  readonly log: Logger
  readonly memory: AttemptMemory
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
 * Delivers in order what one webhook has not seen, and returns when it has seen everything, or is gone, or is another
 * replica's by now.
 * Rejects when a signal fires or the store fails. The config is read again before every attempt, so a change or a
 * deletion counts at once; nothing but the count of attempts is kept in memory.
 */
export async function finishDeliveries(
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

/** How one delivery of a webhook ended. */
interface Settled {
  readonly key: WebhookKey
  readonly trial: Trial
  readonly outcome: DeliveryOutcome
}

/**
 * Moves the cursor behind an event that was delivered or given up; what was given up is kept as a dead letter. False where
 * the webhook is no longer there, or no longer ours: among replicas, one that has seen everything is nobody's, and whoever
 * stores the next event agrees with the others on who delivers it.
 */
async function isSettled(
  context: DeliveryContext,
  settled: Settled,
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

function toCursor({ key, trial, outcome }: Settled, clock: Clock): Write {
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
