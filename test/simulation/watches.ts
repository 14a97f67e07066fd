import type { Database } from './database.ts'
import { setWatching, versionsOf } from './database-replicas.ts'
import type { Connection } from './network.ts'

/** The tasks that a replica watches: named in their rows, so that whoever commits tells. */
export interface Watches {
  add(taskId: string): void
  remove(taskId: string): void
  /** A watched task was said to have grown. */
  grown(taskId: string, version: number): void
  /** Names this replica in all rows again, under its new number. */
  repeat(): void
  /** Looks how far the watched tasks are, for what was never told. */
  compare(): Promise<void>
}

/** What watching needs. */
interface WatchesOptions {
  readonly database: Database
  /** The session, while there is one. */
  session(): { readonly connection: Connection; readonly number: number } | undefined
  grown(taskId: string, version: number): void
}

/** Makes the watches of a replica. What is asked for in one tick goes in one statement. */
export function createWatches({ database, session, grown }: WatchesOptions): Watches {
  /** How far each watched task was last said to be. */
  const told = new Map<string, number>()
  let changes = new Map<string, boolean>()

  function change(taskId: string, isWatching: boolean): void {
    changes.set(taskId, isWatching)
    if (changes.size === 1) queueMicrotask(flush)
  }

  function flush(): void {
    const open = session()
    const due = changes
    changes = new Map()
    if (!open || due.size === 0) return // all are named again when there is a session
    const { connection, number } = open
    const added = [...due].flatMap(([taskId, isWatching]) => (isWatching ? [taskId] : []))
    connection
      .call('watch', () =>
        database.exclusive(async () => {
          setWatching(database, number, due)
          return versionsOf(database, added)
        }),
      )
      .then(
        (versions) => tell(versions, true),
        () => {}, // as above
      )
  }

  function tell(versions: ReadonlyMap<string, number>, always: boolean): void {
    for (const [taskId, version] of versions) {
      const known = told.get(taskId)
      if (known === undefined || (!always && version === known)) continue
      told.set(taskId, version)
      grown(taskId, version)
    }
  }

  return {
    add(taskId) {
      if (told.has(taskId)) return
      told.set(taskId, -1)
      change(taskId, true)
    },
    remove(taskId) {
      if (told.delete(taskId)) change(taskId, false)
    },
    grown(taskId, version) {
      const known = told.get(taskId)
      if (known === undefined || (version !== 0 && version <= known)) return
      told.set(taskId, version)
      grown(taskId, version)
    },
    repeat() {
      for (const taskId of told.keys()) change(taskId, true)
    },
    async compare() {
      const open = session()
      if (!open || told.size === 0) return
      const taskIds = [...told.keys()]
      const read = (): Promise<ReadonlyMap<string, number>> => versionsOf(database, taskIds)
      tell(await open.connection.call('versions', () => database.exclusive(read)), false)
    },
  }
}
