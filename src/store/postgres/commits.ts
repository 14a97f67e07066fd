import { A2AError } from '../../protocol/errors.ts'
import type { Clock } from '../../shared/clock.ts'
import { backoffMs, wait } from '../../shared/retry.ts'
import type { StoreHealth, WriteResult } from '../store.ts'
import type { CommitGroup } from './commit.ts'
import { databaseReason, isBroken, isCollision, toDatabaseError } from './faults.ts'
import type { WriteLine } from './lines.ts'
import { type WaitingCommit, WaitingCommits } from './waiting.ts'

/** Commits in groups: one statement, and one sync of the database, for all that arrived while the last one ran. */
export interface Commits {
  commit(lines: readonly WriteLine[]): Promise<readonly WriteResult[]>
  /** Does something else on the writing connection, between two groups. */
  between<T>(work: () => Promise<T>): Promise<T>
  health(): StoreHealth
  /** The database takes writes again. */
  recovered(): void
  /** Gives up what cannot be written now, and resolves when nothing waits and nothing runs. */
  close(): Promise<void>
}

/** What groups are written with, and what is told of them. */
interface CommitsOptions {
  readonly write: CommitGroup
  /** The number of this process's registration. */
  replica(): number
  readonly clock: Clock
  /** How long commits are tried again while the database cannot be reached. */
  readonly timeoutMs: number
  committed(writes: number): void
  failed(): void
}

/** Groups commits on their way to the database. */
export function createCommits(options: CommitsOptions): Commits {
  const waiting = new WaitingCommits()
  const closing = new AbortController()
  let running: Promise<void> | undefined
  let health: StoreHealth = { writable: true }
  const write = createPersistentWrite(options, {
    signal: closing.signal,
    failed(error) {
      health = unwritable(error)
      options.failed()
    },
  })

  async function run(): Promise<void> {
    while (!waiting.isEmpty) {
      const group = waiting.next()
      try {
        const [first] = group
        if (first?.work) await first.work()
        else succeed(group, await write(group.flatMap(({ lines }) => lines)))
      } catch (error) {
        fail(group, error)
      }
    }
    running = undefined
  }

  function succeed(group: readonly WaitingCommit[], results: readonly WriteResult[]): void {
    recovered()
    let from = 0
    for (const { lines, resolve } of group) {
      resolve(group.length === 1 ? results : results.slice(from, from + lines.length))
      from += lines.length
    }
    options.committed(results.length)
  }

  function recovered(): void {
    if (!health.writable) health = { writable: true }
  }

  function fail(group: readonly WaitingCommit[], error: unknown): void {
    for (const { reject } of group) reject(toDatabaseError('write', error))
    if (group[0]?.work !== undefined) return
    health = unwritable(error)
    options.failed()
  }

  function add(one: WaitingCommit): void {
    if (!waiting.add(one)) one.reject(new A2AError('unavailable', 'The task store is overloaded'))
    else running ??= run()
  }

  return {
    commit(lines) {
      let bytes = 0
      for (const line of lines) bytes += line.bytes
      return new Promise((resolve, reject) => add({ lines, bytes, resolve, reject }))
    },
    between<T>(work: () => Promise<T>) {
      return new Promise<T>((resolve, reject) => {
        const run = (): Promise<void> => work().then(resolve)
        add({ lines: [], bytes: 0, resolve: () => {}, reject, work: run })
      })
    },
    health: () => health,
    recovered,
    async close() {
      closing.abort(new A2AError('unavailable', 'The store is closed'))
      await running
    },
  }
}

/** How often a group is tried that met another one. */
const maxCollisions = 20

/** How a group is written that the database does not take at once. */
interface Persistence {
  /** Ends the trying. */
  readonly signal: AbortSignal
  failed(error: unknown): void
}

/**
 * Tries the same writes again while the database cannot be reached, as the same replica, so that what was stored and not
 * answered is known again. Once it has been away for so long, each further group is tried once.
 */
function createPersistentWrite(
  { write, replica, clock, timeoutMs }: CommitsOptions,
  { signal, failed }: Persistence,
): (lines: readonly WriteLine[]) => Promise<readonly WriteResult[]> {
  let awaySince: number | undefined
  const isOver = (): boolean => {
    awaySince ??= clock.elapsed()
    return signal.aborted || clock.elapsed() - awaySince >= timeoutMs
  }
  return async (lines) => {
    const number = replica()
    let isRepeated = false
    let collisions = 0
    for (let failures = 1; ; failures++) {
      try {
        const results = await write(lines, { replica: number, isRepeated })
        awaySince = undefined
        return results
      } catch (error) {
        if (isBroken(error)) {
          isRepeated = true
          failed(error)
          if (isOver()) throw error
        } else if (!isCollision(error) || ++collisions > maxCollisions) throw error
        const ms = backoffMs(failures, { baseMs: 20, maxMs: 500, random: Math.random })
        await wait(clock, ms, signal)
      }
    }
  }
}

function unwritable(error: unknown): StoreHealth {
  return { writable: false, reason: `The task store cannot write: ${databaseReason(error)}` }
}
