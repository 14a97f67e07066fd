import { within } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'
import type { ClusterFacts } from '../store/feed.ts'
import type { Store } from '../store/store.ts'

/** How the replicas stand; undefined where one process has the store to itself, or the store does not answer now. */
export type ReadCluster = () => Promise<ClusterFacts | undefined>

/** Whoever asks: the store is asked no more often than this. */
const maxAgeMs = 1_000
/** A page that is asked for by a machine does not wait for a database that is away. */
const maxWaitMs = 2_000

/** Reads how the replicas stand, for pages; an answer stands for a while, for everyone. */
export function createClusterReader({ feed }: Store, clock: Clock): ReadCluster {
  let asked: { readonly at: number; readonly facts: Promise<ClusterFacts | undefined> } | undefined
  return async () => {
    if (!feed) return undefined
    if (!asked || clock.elapsed() - asked.at >= maxAgeMs)
      asked = { at: clock.elapsed(), facts: feed.facts().catch(() => undefined) }
    let found: ClusterFacts | undefined
    const facts = asked.facts.then((answer) => {
      found = answer
    })
    await within(clock, maxWaitMs, [facts])
    return found
  }
}
