import { attemptMsOf } from '../../src/store/postgres/connection.ts'
import type { Disturbances } from './audit-streams.ts'
import { type Database, isLiving, type Row } from './database.ts'
import type { Ledger } from './ledger.ts'
import { type Replica, timing } from './replica.ts'
import type { VirtualProcess, World } from './world.ts'

/** Checks that work which can continue does so within a lease and a margin. */
export interface Liveness {
  /** Something has happened. */
  look(): void
  /** A replica has lost its registration. */
  lost(process: VirtualProcess, reason: string): void
  /** A foreign client has a task's row until then. */
  locked(taskId: string, until: number): void
  /** Says which reads took too long. */
  audit(): void
}

/** What liveness is judged by. */
export interface LivenessOptions {
  readonly world: World
  readonly database: Database
  readonly ledger: Ledger
  /** When whole processes were paused, dead, cut off or without a session: nothing is expected of them then. */
  readonly outages: Disturbances
  replicas(): readonly Replica[]
}

/** What it takes beyond a lease: a few looks and round trips on a network that is slow now and then. */
const marginMs = 1_000

/** A second look may meet a connection that fell silent, as the first did. */
const silentMs = attemptMsOf(timing.leaseMs)

/** Watches a world. */
export function createLiveness(options: LivenessOptions): Liveness {
  const { world, database, ledger, outages, replicas } = options
  const orphans = new Map<string, Orphan>()
  const readySince = new Map<string, number>()
  const foreign = new Map<string, number>()

  /** A statement that is slow in this run may come twice or three times on the way. */
  const patience = (): number => marginMs + 3 * (database.slow?.ms ?? 0)

  function noteReady(): void {
    for (const { process, ready } of replicas())
      if (!ready) readySince.delete(process.name)
      else if (!readySince.has(process.name)) readySince.set(process.name, world.now())
  }

  /** A replica that was there all the time, and could have taken the task. */
  function healthySince({ build }: Row, since: number): Replica | undefined {
    return replicas().find(
      (one) =>
        one.ready &&
        one.build === build &&
        (readySince.get(one.process.name) ?? Number.POSITIVE_INFINITY) <= since &&
        !outages.between(one.process.name, since, world.now()),
    )
  }

  /** Nothing stays without a replica while there is one. */
  function lookAtOrphan(row: Row): void {
    const { id, replica } = row
    if (replica === undefined || isLiving(database, replica)) return void orphans.delete(id)
    const known = orphans.get(id)
    if (known?.replica !== replica) return void orphans.set(id, { replica, since: world.now() })
    const since = Math.max(known.since, foreign.get(id) ?? 0)
    if (world.now() - since <= patience() + silentMs) return
    const idle = healthySince(row, since)
    if (idle)
      ledger.violate(
        `task ${id} was without a replica for ${Math.round(world.now() - since)} ms, though ${idle.process.name} was there`,
      )
  }

  /** A replica that cannot write gives its lease up, so that others continue its tasks. */
  function lookAtCommits({ process, store }: Replica): void {
    if (!process.alive || process.pausedUntil > world.now()) return
    const { oldestCommitMs = 0 } = store.health()
    const since = world.now() - oldestCommitMs
    if (oldestCommitMs <= timing.leaseMs + marginMs || !isLiving(database, store.feed.replica))
      return
    if (outages.between(process.name, since, world.now())) return
    ledger.violate(
      `a commit of ${process.name} has waited for ${Math.round(oldestCommitMs)} ms, while its lease held`,
    )
  }

  return {
    look() {
      noteReady()
      for (const row of database.rows.values()) lookAtOrphan(row)
      for (const replica of replicas()) lookAtCommits(replica)
    },
    lost({ name }, reason) {
      if (!outages.between(name, world.now() - 2 * timing.leaseMs, world.now()))
        ledger.violate(`${name} lost its registration for no reason: ${reason}`)
    },
    locked: (taskId, until) => void foreign.set(taskId, until),
    audit() {
      for (const { process, taskId, from, to = world.now() } of ledger.reads)
        if (to - from > timing.leaseMs + patience() && !outages.between(process, from, to))
          ledger.violate(`${process} took ${Math.round(to - from)} ms to read task ${taskId}`)
    },
  }
}

interface Orphan {
  readonly replica: number
  readonly since: number
}
