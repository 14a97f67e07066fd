import { type Clock, systemClock } from './clock.ts'
import { FairQueue } from './fair-share.ts'

/** A promise and the functions that settle it. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  resolve(value: T): void
  reject(reason: unknown): void
}

/** Makes a promise that somebody else settles. An unheard rejection does not end the process. */
export function createDeferred<T>(): Deferred<T> {
  let settle: Pick<Deferred<T>, 'resolve' | 'reject'> | undefined
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject }
  })
  promise.catch(() => {})
  return { promise, ...(settle as Pick<Deferred<T>, 'resolve' | 'reject'>) } // the executor has run
}

/** Whether a value can be iterated with `for await`. */
export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** Whether a value must be waited for, whoever's promise it is. */
export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value
}

/**
 * Calls back after the current tick's microtasks, so that what a burst brings can be handled at once. All that is to be
 * called in a tick shares one immediate, and with it the async context of the first: each costs as much as a small check
 * of a request. The list is the module's own, since a tick is the whole process's.
 */
export function soon(callback: () => void): void {
  if (due.push(callback) === 1) afterTick(callAll)
}

let due: (() => void)[] = []

const afterTick: (callback: () => void) => void =
  typeof setImmediate === 'function' ? setImmediate : (callback) => void setTimeout(callback, 0)

function callAll(): void {
  const callbacks = due
  due = []
  let next = 0
  try {
    while (next < callbacks.length) callbacks[next++]?.()
  } finally {
    // One that throws must not take the others with it.
    for (const left of callbacks.slice(next)) soon(left)
  }
}

/**
 * Resolves when it is the caller's turn to continue work that is long. One caller has its turn in each tick, so that a
 * tick stays short however many wait. The principals take turns, however much work each of them has; the work of one
 * principal is served in the order in which it came.
 * @param principal The caller that the work is for; work of the server itself shares one line.
 */
export function myTurn(principal = ''): Promise<void> {
  return new Promise((resolve) => {
    waiting.add(resolve, principal)
    if (waiting.size === 1) afterTick(letNext)
  })
}

/** The long work that waits for its turn, and what holds all of it back. Both are the module's own, as the tick is. */
const waiting = new FairQueue<() => void>()
const holds: (() => boolean)[] = []

/** Lets no long work continue in a tick in which this says so: the process has something to do that is more urgent. */
export function holdLongWorkWhile(isBusy: () => boolean): void {
  holds.push(isBusy)
}

function letNext(): void {
  if (!holds.some((isBusy) => isBusy())) waiting.take()?.()
  if (waiting.size > 0) afterTick(letNext)
}

/** Long work that can pause: it yields wherever it may, several times in a millisecond. */
export type PausableWork<T> = Generator<undefined, T, undefined>

/** The caller that work in slices is for, and the clock. */
interface SliceOptions {
  /** The caller that the work is for: callers take turns. */
  readonly principal?: string | undefined
  /** The machine's own if absent. */
  readonly clock?: Clock | undefined
}

/** How long one tick is held by long work. */
const sliceMs = 5

/**
 * Does long work in slices of 5 ms, one in a tick, so that other requests are served in between. Work that ends before
 * its first pause is done at once, and its result is returned without a promise.
 */
export function runInSlices<T>(work: PausableWork<T>, options: SliceOptions = {}): T | Promise<T> {
  const first = work.next()
  return first.done ? first.value : continueInSlices(work, options)
}

async function continueInSlices<T>(
  work: PausableWork<T>,
  { principal, clock = systemClock }: SliceOptions,
): Promise<T> {
  while (true) {
    await myTurn(principal)
    const end = clock.elapsed() + sliceMs
    do {
      const next = work.next()
      if (next.done) return next.value
    } while (clock.elapsed() < end)
  }
}

/** Does work that could pause in one piece. */
export function inOnePiece<T>(work: PausableWork<T>): T {
  let next = work.next()
  while (!next.done) next = work.next()
  return next.value
}

/** Resolves when all of the work is done, however it ends, or after so long. */
export async function within(clock: Clock, ms: number, work: Iterable<unknown>): Promise<void> {
  let callOff = (): void => {}
  const late = new Promise<void>((resolve) => {
    callOff = clock.after(ms, resolve)
  })
  await Promise.race([Promise.allSettled(work), late])
  callOff()
}

/** Does work whose signal fires after so long; the work decides what that means. */
export async function withDeadline<T>(
  clock: Clock,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController()
  const callOff = clock.after(ms, () =>
    deadline.abort(new DOMException(`Not done within ${ms} ms`, 'TimeoutError')),
  )
  try {
    return await work(deadline.signal)
  } finally {
    callOff()
  }
}

/** Rejects when the signal fires, with its reason; removes its listener when the work is done. */
export async function withSignal<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  if (signal.aborted) {
    work.catch(() => {}) // nobody waits for it any more; unheard, its failure would end the process
    throw signal.reason
  }
  const left = createDeferred<never>()
  const leave = (): void => left.reject(signal.reason)
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([work, left.promise])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

/** When failed work is tried again. */
export interface RetryRules {
  /** How often it is tried in all, the first time included; without end if absent. */
  readonly tries?: number
  /**
   * How long to wait before the next try, in milliseconds; undefined where this failure is final. Not asked after the
   * last try.
   * @param failures How often the work has failed so far, from 1.
   */
  delay(error: unknown, failures: number): number | undefined
  readonly clock: Clock
  /**
   * Ends the wait between two tries, with its reason; the work looks at its own signal. One that is costly to make is made
   * when a wait begins.
   */
  readonly signal?: AbortSignal | (() => AbortSignal) | undefined
}

/**
 * Does the work until it succeeds, fails for good or has no tries left; then rejects with its last failure.
 * @param work Told the number of the try, from 1.
 */
export async function retry<T>(
  work: (attempt: number) => Promise<T>,
  rules: RetryRules,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt)
    } catch (error) {
      const isLast = rules.tries !== undefined && attempt >= rules.tries
      const ms = isLast ? undefined : rules.delay(error, attempt)
      if (ms === undefined) throw error
      const { clock, signal } = rules
      await wait(clock, ms, typeof signal === 'function' ? signal() : signal)
    }
  }
}

/** How the wait between tries grows. */
interface Backoff {
  /** The wait after the first failure; doubles with each further one. 250 if absent. */
  readonly baseMs?: number
  /** The longest wait; 30,000 if absent. */
  readonly maxMs?: number
  /** A number in [0, 1); spreads callers that failed together. `Math.random` if absent. */
  readonly random?: () => number
}

/** How long to wait after a number of failures: exponential, at least half of it, the other half at random. */
export function backoffMs(failures: number, backoff: Backoff): number {
  const { baseMs = 250, maxMs = 30_000, random = Math.random } = backoff
  const whole = Math.min(maxMs, baseMs * 2 ** Math.max(0, failures - 1))
  return Math.round(whole / 2 + (whole / 2) * random())
}

/**
 * How long a peer asks us to wait: `Retry-After` in seconds, fractions allowed, or as a date (RFC 9110 §10.2.3).
 * Undefined where the header is missing or neither of these; 0 where the moment is past.
 * @param nowMs Milliseconds since the epoch, for a date.
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d{1,15}(\.\d{1,9})?$/.test(text)) return Math.round(Number(text) * 1_000)
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs)
}

/** Waits, unless the signal fires first: then it rejects with the signal's reason and leaves no timer behind. */
export async function wait(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  const done = createDeferred<void>()
  const cancel = clock.after(ms, () => done.resolve())
  try {
    await withSignal(done.promise, signal)
  } finally {
    cancel()
  }
}

type AbortListener = (reason: unknown) => void

/** When a linked signal fires by itself. */
export interface Deadline {
  readonly clock: Clock
  readonly ms: number | undefined
  /** The error to fire with when the time is over. */
  reason(): Error
}

/** A signal that also fires when its parent does and, where it has a deadline, when that passes. */
export class LinkedSignal {
  readonly #parent: AbortSignal | LinkedSignal
  #controller: AbortController | undefined
  #listeners: Set<AbortListener> | undefined
  #stopFollowing: (() => void) | undefined
  /** Why it has fired by itself, once it has. */
  #fired: { readonly reason: unknown } | undefined
  readonly #stopTimer: (() => void) | undefined

  constructor(parent: AbortSignal | LinkedSignal, deadline?: Deadline) {
    this.#parent = parent
    if (deadline?.ms !== undefined)
      this.#stopTimer = deadline.clock.after(deadline.ms, () => this.abort(deadline.reason()))
  }

  /** Created on first use: most local members never look at it, and a controller is not free. */
  get signal(): AbortSignal {
    this.#controller ??= this.#createController()
    return this.#controller.signal
  }

  get aborted(): boolean {
    return this.#fired !== undefined || this.#parent.aborted
  }

  throwIfAborted(): void {
    if (this.#fired) throw this.#fired.reason
    this.#parent.throwIfAborted()
  }

  abort(reason: unknown): void {
    // The first reason counts, also where the signal was not created yet.
    if (!this.#parent.aborted) this.#fired ??= { reason }
    this.#controller?.abort(reason)
    for (const listener of this.#listeners ?? []) listener(reason)
  }

  /** Calls the listener with the reason when it fires, without creating the signal; returns what removes it. */
  onAbort(listener: AbortListener): () => void {
    this.#listeners ??= new Set()
    const listeners = this.#listeners
    listeners.add(listener)
    this.#follow()
    return () => void listeners.delete(listener)
  }

  /** Stops following the parent and the timer. */
  release(): void {
    this.#stopFollowing?.()
    this.#stopTimer?.()
  }

  #createController(): AbortController {
    const controller = new AbortController()
    const parent = this.#parent
    if (this.#fired) controller.abort(this.#fired.reason)
    else if (parent.aborted) controller.abort(signalOf(parent).reason)
    else this.#follow()
    return controller
  }

  /** Fires when the parent does, from now on. Before the first signal or listener there is no one to notify. */
  #follow(): void {
    this.#stopFollowing ??= listenTo(this.#parent, (reason) => this.abort(reason))
  }
}

function signalOf(parent: AbortSignal | LinkedSignal): AbortSignal {
  return 'signal' in parent ? parent.signal : parent
}

function listenTo(parent: AbortSignal | LinkedSignal, listener: AbortListener): () => void {
  if ('onAbort' in parent) return parent.onAbort(listener)
  const heard = (): void => listener(parent.reason)
  parent.addEventListener('abort', heard, { once: true })
  return () => parent.removeEventListener('abort', heard)
}
