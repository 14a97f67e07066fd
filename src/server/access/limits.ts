import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { A2AError } from '../../protocol/errors.ts'
import {
  type Call,
  type OperationName,
  operations,
  principalOf,
} from '../../protocol/operations.ts'
import { checkOptions } from '../../shared/options.ts'
import { optionsOf, type Rows, row } from '../../shared/rows.ts'

/**
 * How much is too much, in every direction that a caller can make a server grow. Each has a default, named first; then
 * what happens beyond it.
 */
export interface LimitOptions {
  /** Requests per window and client; unlimited if absent. */
  readonly requests?: number
  /** The window of `requests`; 60 s if absent. */
  readonly windowSeconds?: number
  /** The largest body; 10 MiB. Beyond it: 413. */
  readonly maxBodyBytes?: number
  /** Bodies that are being read, all together; 64 MiB, at most 1/16 of the heap. Beyond it: 503 before more is read. */
  readonly maxInflightBodyBytes?: number
  /** Messages that wait or run, all together, one principal a quarter; 128 MiB, at most 1/8 of the heap. Beyond it: 503. */
  readonly maxQueuedBytes?: number
  /** Messages of one principal that wait for a slot; 1,000. Beyond it: 429. */
  readonly maxWaitingPerPrincipal?: number
  /** Turns at once over all agents, one principal half; 2,048. Beyond it a message waits. */
  readonly maxConcurrentTurns?: number
  /** Open connections; 10,000. Beyond it the address that holds most loses one. */
  readonly maxConnections?: number
  /** What one task may hold; 32 MiB. Beyond it the task fails. */
  readonly maxTaskBytes?: number
  /** Events that one task may have; 100,000. Beyond it the task fails. */
  readonly maxTaskEvents?: number
  /** What all tasks that run hold together, one principal half; 512 MiB, at most 1/8 of the heap. Beyond it the task that grows fails. */
  readonly maxLiveBytes?: number
  /** Replies above 64 KiB that their readers have not taken, one client a quarter; 256 MiB, at most 1/8 of the heap. Beyond it: 503. */
  readonly maxUnreadBytes?: number
  /** Push configs of one task; 10. Beyond it: `invalidParams`. */
  readonly maxPushConfigs?: number
  /** The values that one context keeps; 256 KiB. Beyond it the step fails. */
  readonly maxContextBytes?: number
  /** Finished tasks in the memory store, in shares; 256 MiB, at most 1/4 of the heap. Beyond it a principal's oldest go. */
  readonly memoryStoreBytes?: number
  /** How long a reader may take nothing of what is written to it; 60. Then its connection is cut. */
  readonly writeTimeoutSeconds?: number
  /** How deep the JSON of a request may nest; 64. Beyond it: `invalidParams`. */
  readonly maxDepth?: number
  /** Parts of one message; 1,000. Beyond it: `invalidParams`. */
  readonly maxParts?: number
  /** Keys in a request's metadata, nested ones too; 1,000. Beyond it: `invalidParams`. */
  readonly maxMetadataKeys?: number
  /**
   * How long the oldest commit may wait before new tasks are rejected, in milliseconds; 1,000 where replicas share the
   * store, else 0, which means no limit. Beyond it: 503 with `Retry-After`, for new tasks alone.
   */
  readonly maxCommitWaitMs?: number
  /**
   * How late the event loop may be, three times in a row, before new tasks are rejected, in milliseconds; 250 where
   * replicas share the store, else 0, which means no limit. Beyond it: 503 with `Retry-After`, for new tasks alone.
   */
  readonly maxLoopLagMs?: number
}

/** The limits of a server, each with its value. */
export type Limits = Readonly<Required<Omit<LimitOptions, 'requests' | 'windowSeconds'>>>

/** What a server's options say of limits, by the old names and the new ones. */
interface LimitSources {
  readonly limits?: LimitOptions
  readonly concurrency?: number
  readonly rateLimit?: RateLimitOptions
  readonly maxBodyBytes?: number
  /** The task store; one that replicas share has a feed. */
  readonly store?: { readonly feed?: object }
}

const mib = 1024 * 1024

/** The share of the heap that may be used for what grows in bytes. */
const heapShares: Partial<Record<keyof Limits, number>> = {
  maxInflightBodyBytes: 1 / 16,
  maxQueuedBytes: 1 / 8,
  maxLiveBytes: 1 / 8,
  maxUnreadBytes: 1 / 8,
  memoryStoreBytes: 1 / 4,
}

/** `[server.limits]`. */
export const limitRows: Rows<LimitOptions, Exclude<keyof LimitOptions, 'requests'>> = {
  requests: row.count(
    { examples: [600] },
    'Requests of one caller per `window_seconds`; beyond it 429 with `Retry-After`. No limit if absent.',
  ),
  windowSeconds: row.count(
    { default: 60, examples: [10] },
    'The window of `requests`, in seconds.',
  ),
  maxBodyBytes: row.count(
    { default: 10 * mib, examples: [1_048_576] },
    'The largest body of a request, in bytes; beyond it 413.',
  ),
  maxConcurrentTurns: row.count(
    { default: 2_048, examples: [256] },
    'Turns of agents at once, of one caller half as many; beyond it a task waits as SUBMITTED. A turn that waits for a remote agent, a model or an MCP tool does not count.',
  ),
  maxWaitingPerPrincipal: row.count(
    { default: 1_000, examples: [100] },
    'Messages of one caller that wait for their turn; beyond it 429.',
  ),
  maxConnections: row.count(
    { default: 10_000, examples: [2000] },
    'Open connections; beyond it the address that holds most loses its longest idle one, else its oldest stream.',
  ),
  maxTaskBytes: row.count(
    { default: 32 * mib, examples: [8_388_608] },
    'What one task may hold, in bytes; beyond it the task is FAILED.',
  ),
  maxTaskEvents: row.count(
    { default: 100_000, examples: [10_000] },
    'Events that one task may have; beyond it the task is FAILED.',
  ),
  maxPushConfigs: row.count(
    { default: 10, examples: [3] },
    'Webhooks of one task; beyond it the request is refused.',
  ),
  maxContextBytes: row.count(
    { default: 256 * 1024, examples: [65_536] },
    'The values that one context keeps, in bytes; beyond it the step fails.',
  ),
  maxDepth: row.count(
    { default: 64, examples: [32] },
    'How deep the JSON of a request may nest; beyond it the request is refused.',
  ),
  maxParts: row.count(
    { default: 1_000, examples: [100] },
    'Parts of one message; beyond it the request is refused.',
  ),
  maxMetadataKeys: row.count(
    { default: 1_000, examples: [100] },
    'Keys in the metadata of a request, nested ones too; beyond it it is refused.',
  ),
  maxCommitWaitMs: row.count(
    { min: 0, default: 1_000, examples: [5000, 0] },
    'How long the oldest commit may wait, in milliseconds, before new tasks get 503 with `Retry-After`; 0 for no limit. The default holds where replicas share the store; with others it is 0.',
  ),
  maxLoopLagMs: row.count(
    { min: 0, default: 250, examples: [1000, 0] },
    'How late the event loop may be, three times in a row, in milliseconds, before new tasks get 503 with `Retry-After`; 0 for no limit. The default holds where replicas share the store; with others it is 0.',
  ),
  writeTimeoutSeconds: row.count(
    { default: 60, examples: [30] },
    'How long a reader may take nothing of its reply, in seconds; then its connection is cut.',
  ),
  maxInflightBodyBytes: row.count(
    { default: 64 * mib, examples: [33_554_432] },
    'Bodies that are being read, all together, in bytes, at most 1/16 of the heap; beyond it 503 before more is read.',
  ),
  maxQueuedBytes: row.count(
    { default: 128 * mib, examples: [67_108_864] },
    'Messages that wait or run, all together, in bytes, at most 1/8 of the heap, of one caller a quarter; beyond it 503.',
  ),
  maxLiveBytes: row.count(
    { default: 512 * mib, examples: [134_217_728] },
    'What all tasks that run hold together, in bytes, at most 1/8 of the heap, of one caller half; beyond it the task that grows is FAILED.',
  ),
  maxUnreadBytes: row.count(
    { default: 256 * mib, examples: [67_108_864] },
    'Replies above 64 KiB that their readers have not taken, in bytes, at most 1/8 of the heap, of one caller a quarter; beyond it 503, and streams are cut off.',
  ),
  memoryStoreBytes: row.count(
    { default: 256 * mib, examples: [67_108_864] },
    'Tasks that `store = "memory"` keeps, in bytes, at most 1/4 of the heap; beyond it the oldest of whoever keeps most go.',
  ),
}

/** The keys of the limits with what each may be, in the order in which errors name them. */
const { requests, windowSeconds, ...limitKinds } = optionsOf(limitRows, [
  'maxBodyBytes',
  'maxInflightBodyBytes',
  'maxQueuedBytes',
  'maxWaitingPerPrincipal',
  'maxConcurrentTurns',
  'maxConnections',
  'maxTaskBytes',
  'maxTaskEvents',
  'maxLiveBytes',
  'maxUnreadBytes',
  'maxPushConfigs',
  'maxContextBytes',
  'memoryStoreBytes',
  'writeTimeoutSeconds',
])

/** The limits that hold where nobody sets others; those in bytes are less where the heap is small. */
const limitDefaults: Limits = Object.fromEntries(
  limitNames().map((name) => [name, limitRows[name].default]),
) as Record<keyof Limits, number> // all of its names

function limitNames(): readonly (keyof Limits)[] {
  return Object.keys(limitKinds) as (keyof Limits)[] // its type has no others
}

/**
 * Limits that may be 0, which means no limit. By default they apply only where replicas share the store: a load balancer can
 * send a request that one replica rejects to another. A single process would reject what it can do a moment later.
 */
const sharedOnly: ReadonlySet<keyof Limits> = new Set(['maxCommitWaitMs', 'maxLoopLagMs'])

/**
 * The limits that hold: those that are given, else the defaults, those in bytes within their share of the heap.
 * @throws Error for a number that is none, or where an old name and the new one disagree.
 */
export function resolveLimits(options: LimitSources = {}, heapBytes: number = heapLimit()): Limits {
  const { limits = {}, concurrency, maxBodyBytes } = options
  checkOptions('limits', limits, { ...limitKinds, requests, windowSeconds })
  const given: Record<string, number | undefined> = {
    ...limits,
    maxConcurrentTurns: agreed('concurrency', concurrency, limits.maxConcurrentTurns),
    maxBodyBytes: agreed('maxBodyBytes', maxBodyBytes, limits.maxBodyBytes),
  }
  const resolved: Record<keyof Limits, number> = { ...limitDefaults }
  for (const name of limitNames())
    resolved[name] =
      checked(name, given[name]) ??
      (sharedOnly.has(name) && !options.store?.feed ? 0 : withinHeap(name, heapBytes))
  return resolved
}

/** The rate limit that holds; undefined where nobody set one. @throws Error where the two names disagree. */
export function resolveRateLimit({
  limits = {},
  rateLimit,
}: LimitSources): RateLimitOptions | undefined {
  const requests = agreed('rateLimit.requests', rateLimit?.requests, limits.requests)
  const windowSeconds = agreed(
    'rateLimit.windowSeconds',
    rateLimit?.windowSeconds,
    limits.windowSeconds,
  )
  if (requests === undefined) return undefined
  return windowSeconds === undefined ? { requests } : { requests, windowSeconds }
}

function agreed(
  old: string,
  former: number | undefined,
  given: number | undefined,
): number | undefined {
  if (former !== undefined && given !== undefined && former !== given)
    throw new Error(`${old} says ${former} and limits says ${given}: give one of them`)
  return given ?? former
}

function checked(name: keyof Limits, value: number | undefined): number | undefined {
  if (value === undefined || (Number.isInteger(value) && value > 0)) return value
  if (!sharedOnly.has(name))
    throw new Error(`limits.${name} must be a whole number above 0, not ${value}`)
  if (value === 0) return value
  throw new Error(`limits.${name} must be a whole number, or 0 for no limit, not ${value}`)
}

function withinHeap(name: keyof Limits, heapBytes: number): number {
  const share = heapShares[name]
  return share ? Math.min(limitDefaults[name], Math.floor(heapBytes * share)) : limitDefaults[name]
}

/** The most that the heap may grow to; without bound where the runtime does not tell. */
function heapLimit(): number {
  const v8 = globalThis.process?.getBuiltinModule?.('node:v8')
  return v8?.getHeapStatistics().heap_size_limit ?? Number.POSITIVE_INFINITY
}

/** How much one client may ask for. */
export interface RateLimitOptions {
  /** Requests per window and client. */
  readonly requests: number
  /** The window; 60 s if absent. */
  readonly windowSeconds?: number
}

/** Polls of one task, and pages, that cost nothing, per second: one, and one to spare. */
const freePolls = 2

const maxIdLength = 256

/** Keeps each client within its share. */
export interface RateLimit {
  /** Counts a request. @throws A2AError `rateLimited` when the client has used up its share. */
  count(name: OperationName, request: unknown, call: Call): Promise<void>
  /**
   * Counts a page: a card, what the server serves, how it is. Health has free polls of its own, so that other pages
   * cannot use up those of a probe. @throws A2AError `rateLimited`, as `count` does.
   */
  countPage(call: Call, kind?: 'health'): Promise<void>
  /** The request was about a task that is not there. */
  missed(call: Call): void
  /** The caller's credentials do not hold. @throws A2AError `rateLimited` when its address has used up its share. */
  refused(call: Call): Promise<void>
}

/**
 * Limits each client, by its principal or else its address. Polling a task once per second never counts, however many
 * tasks are polled: only polls beyond that are taken from the client's share. So it is with the server's pages, all of
 * them together: a client that reads the card before it sends pays for the message alone. A client that asks for as many
 * tasks that are not there as the share has requests has no free polls left: it is guessing.
 *
 * @param replicas How many replicas live: requests are spread over them, so each counts its part.
 */
export function createRateLimit(
  options: RateLimitOptions,
  replicas: () => number = () => 1,
): RateLimit {
  const { requests, windowSeconds: duration = limitRows.windowSeconds.default } = options
  const shares = new RateLimiterMemory({ points: requests, duration })
  const misses = new RateLimiterMemory({ points: requests, duration })
  const polls = new RateLimiterMemory({ points: freePolls, duration: 1 })
  let among = 1

  /** Looked at with each request: replicas come and go. */
  function divide(): void {
    const now = replicas()
    if (now === among) return
    among = now
    shares.points = Math.max(1, Math.ceil(requests / Math.max(1, among)))
    misses.points = shares.points
  }

  async function isFree(client: string, name: OperationName, request: unknown): Promise<boolean> {
    if (!operations[name].polls) return false
    const missed = await misses.get(client)
    if (missed && missed.consumedPoints >= misses.points) return false
    const id = typeof request === 'object' && request !== null && 'id' in request ? request.id : ''
    // What is no id, or longer than any of ours, is no poll: it is not worth remembering.
    if (typeof id !== 'string' || id.length > maxIdLength) return false
    return within(polls, `${client}\n${id}`)
  }

  return {
    async count(name, request, call) {
      divide()
      const client = principalOf(call)
      if (!(await isFree(client, name, request))) await take(shares, client)
    },
    async countPage(call, kind) {
      divide()
      const client = principalOf(call)
      if (!(await within(polls, `${client}\n\n${kind ?? 'page'}`))) await take(shares, client)
    },
    missed: (call) => void within(misses, principalOf(call)),
    refused({ client = '' }) {
      divide()
      return take(shares, principalOf({ client }))
    },
  }
}

function within(limiter: RateLimiterMemory, key: string): Promise<boolean> {
  return limiter.consume(key).then(
    () => true,
    () => false,
  )
}

async function take(shares: RateLimiterMemory, client: string): Promise<void> {
  try {
    await shares.consume(client)
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal
    const seconds = Math.max(1, Math.ceil(refusal.msBeforeNext / 1000))
    throw new A2AError('rateLimited', `Too many requests; try again in ${seconds} s`, {
      retryAfterSeconds: seconds,
      requestLimit: shares.points,
    })
  }
}
