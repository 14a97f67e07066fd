import type { Store } from '../../../src/store/store.ts'
import type { Follower } from '../ledger.ts'
import type { Point } from './moments.ts'

/** How a replica is struck: it dies, it is paused for longer than its lease, or it is asked to stop. */
export const blows = ['SIGKILL', 'SIGSTOP', 'SIGTERM'] as const

/** A signal. */
export type Blow = (typeof blows)[number]

/** One replica struck, and who could see it. */
export interface Strike {
  readonly blow: Blow
  readonly point: Point
  readonly at: number
  /** Streams that other replicas held, of tasks that the struck one ran. */
  readonly streams: readonly { readonly follower: Follower; readonly connection: number }[]
}

/** Some durations in milliseconds. */
export interface Durations {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** How long after a blow others went on, by the kind of blow: over tasks that were taken over for the first time. */
export interface Takeovers {
  /** Until another replica had the task. */
  readonly claims: Readonly<Record<Blow, Durations>>
  /** Until a stream that another replica holds told what that one did. */
  readonly takeovers: Readonly<Record<Blow, Durations>>
}

/** Measures how long it took others to go on. */
export async function measureTakeovers(
  store: Pick<Store, 'records'>,
  strikes: readonly Strike[],
): Promise<Takeovers> {
  const all: (Pause & { readonly blow: Blow })[] = []
  for (const { blow, at, streams } of strikes)
    for (const { follower, connection } of streams) {
      const pause = await pauseOf(store, { follower, connection, at })
      if (pause) all.push({ ...pause, blow })
    }
  const by = (blow: Blow, what: keyof Pause): Durations =>
    sum(all.filter((one) => one.blow === blow).map((one) => one[what]))
  const each = (what: keyof Pause): Record<Blow, Durations> => ({
    SIGKILL: by('SIGKILL', what),
    SIGSTOP: by('SIGSTOP', what),
    SIGTERM: by('SIGTERM', what),
  })
  return { claims: each('claimMs'), takeovers: each('eventMs') }
}

interface Pause {
  readonly claimMs: number
  readonly eventMs: number
}

/** From the blow to the claim, and to the first event after it; undefined where this task is no example. */
async function pauseOf(
  store: Pick<Store, 'records'>,
  { follower, connection, at }: Strike['streams'][number] & { readonly at: number },
): Promise<Pause | undefined> {
  const records = await store.records(follower.id, 0)
  const claim = records.find(({ kind }) => kind === 'claim')
  // The database tells whole milliseconds.
  if (claim?.kind !== 'claim' || Date.parse(claim.at) + 1 < at) return undefined
  const heard = follower.heard[follower.seen.findIndex(({ seq }) => seq > claim.seq)]
  if (heard?.connection !== connection) return undefined
  return { claimMs: Date.parse(claim.at) - at, eventMs: heard.at - at }
}

/** The middle, the worst but one in a hundred, and the worst of some durations. */
export function sum(durations: readonly number[]): Durations {
  const sorted = durations.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? 0
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) }
}
