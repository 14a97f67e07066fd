import { A2AError } from '../../protocol/errors.ts'
import type { Store } from '../store.ts'
import { type DriverName, openConnection } from './driver.ts'
import { toFault, toStoreError } from './faults.ts'
import { createQueries } from './queries.ts'

/** The reading half of the store. A read sees every commit that was answered before it began. */
export type Reader = Omit<Store, 'commit' | 'health'>

/**
 * Reads on the calling thread: in WAL mode a reader waits for nobody, and a task that is looked up by its key costs less
 * than the way to another thread and back.
 */
export async function openReader(path: string, driver?: DriverName): Promise<Reader> {
  const db = await openConnection(path, driver)
  db.exec('PRAGMA query_only = ON')
  db.prepare('PRAGMA busy_timeout = 1000').get()
  const queries = createQueries(db)
  let closed = false

  function reading<A extends unknown[], T>(query: (...args: A) => T): (...args: A) => Promise<T> {
    return async (...args) => {
      if (closed) throw new A2AError('unavailable', 'The store is closed')
      try {
        return query(...args)
      } catch (error) {
        throw toStoreError('read', toFault(error))
      }
    }
  }

  return {
    get: reading(queries.get),
    records: reading(queries.records),
    list: reading(queries.list),
    unfinished: reading(queries.unfinished),
    contextValues: reading(queries.contextValues),
    findByKey: reading(queries.findByKey),
    pushConfigs: reading(queries.pushConfigs),
    pendingDeliveries: reading(queries.pendingDeliveries),
    deadLetters: reading(queries.deadLetters),
    async close() {
      if (!closed) db.close()
      closed = true
    },
  }
}
