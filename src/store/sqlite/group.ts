import { A2AError } from '../../protocol/errors.ts'
import type { StoreHealth, Write, WriteResult } from '../store.ts'
import { isDamage, reasonOf, type SqliteFault, toStoreError } from './faults.ts'
import { toRow, type WriteRow } from './rows.ts'
import type { Thread } from './thread.ts'

/** Commits in groups: one transaction, and one sync, for all that arrived while the last one ran. */
interface Group {
  commit(writes: readonly Write[]): Promise<readonly WriteResult[]>
  health(): StoreHealth
  /** The file takes writes again. */
  recovered(): void
  /** The file takes no more writes, for good: what is written to a damaged one may be lost. */
  damaged(reason: string): void
  /** Resolves when nothing waits and nothing runs. */
  idle(): Promise<void>
}

/** What the group tells its owner. */
export interface GroupEvents {
  /** A transaction is on disk; so many writes were in it. */
  committed(writes: number): void
  /** A transaction failed. */
  failed(): void
}

/** Writes that may wait for the disk; beyond it a commit is refused, so a slow disk cannot eat the memory. */
const maxWaiting = 20_000

interface Waiting {
  readonly rows: readonly WriteRow[]
  resolve(results: readonly WriteResult[]): void
  reject(error: A2AError): void
}

/** Groups commits on their way to the writing thread. */
export function createGroup(thread: Thread, events: GroupEvents, maxTaskBytes: number): Group {
  let waiting: Waiting[] = []
  let waitingRows = 0
  let running: Promise<void> | undefined
  let health: StoreHealth = { writable: true }
  let damage: string | undefined

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting
      waiting = []
      waitingRows = 0
      const rows = group.flatMap((one) => one.rows)
      const answer = await thread.ask({ type: 'commit', rows })
      if ('fault' in answer) fail(group, answer.fault)
      else succeed(group, answer.ok as readonly WriteResult[]) // what the worker answers to a commit
    }
    running = undefined
  }

  function succeed(group: readonly Waiting[], results: readonly WriteResult[]): void {
    healthy()
    let from = 0
    for (const { rows, resolve } of group) {
      resolve(results.slice(from, from + rows.length))
      from += rows.length
    }
    events.committed(results.length)
  }

  function healthy(): void {
    if (damage === undefined && !health.writable) health = { writable: true }
  }

  function damaged(reason: string): void {
    damage ??= reason
    health = unwritable(damage)
  }

  function fail(group: readonly Waiting[], fault: SqliteFault): void {
    if (isDamage(fault)) damaged(reasonOf(fault))
    else if (damage === undefined) health = unwritable(reasonOf(fault))
    const error = toStoreError('write', fault)
    for (const { reject } of group) reject(error)
    events.failed()
  }

  return {
    commit(writes) {
      if (waitingRows > 0 && waitingRows + writes.length > maxWaiting)
        return Promise.reject(new A2AError('unavailable', 'The task store is overloaded'))
      if (damage !== undefined)
        return Promise.reject(
          new A2AError('unavailable', 'The task store cannot write: the file is damaged'),
        )
      return new Promise((resolve, reject) => {
        waiting.push({ rows: writes.map((write) => toRow(write, maxTaskBytes)), resolve, reject })
        waitingRows += writes.length
        running ??= run()
      })
    },
    health: () => health,
    recovered: healthy,
    damaged,
    idle: async () => running,
  }
}

function unwritable(reason: string): StoreHealth {
  return { writable: false, reason: `The task store cannot write: ${reason}` }
}
