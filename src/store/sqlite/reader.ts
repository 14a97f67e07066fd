import { A2AError } from '../../protocol/errors.ts'
import type { Store } from '../store.ts'
import { type DriverName, openConnection, type Row } from './driver.ts'
import { type SqliteFault, toFault, toStoreError } from './faults.ts'
import type { Query } from './list.ts'
import { createLists } from './lists.ts'
import { createQueries } from './queries.ts'
import { type StartedThread, startThread } from './thread.ts'
import { createWebhookLists } from './webhook-lists.ts'

/** The reading half of the store. A read sees every commit that was answered before it began. */
export type StoreReader = Omit<Store, 'commit' | 'health'>

/** How a reader is opened. */
interface ReaderOptions {
  readonly driver?: DriverName | undefined
  /** Told of a read that failed. */
  failed?(fault: SqliteFault): void
}

/**
 * Reads on the calling thread: in WAL mode a reader waits for nobody, and a task that is looked up by its key costs less
 * than the way to another thread and back. Only what may take long goes to a thread of its own, from the first time on.
 */
export async function openReader(path: string, options: ReaderOptions = {}): Promise<StoreReader> {
  const db = await openConnection(path, options.driver)
  db.exec('PRAGMA query_only = ON')
  db.prepare('PRAGMA busy_timeout = 1000').get()
  const queries = createQueries(db)
  const long = createLongReads(path, options.driver)
  const lists = createLists({ db, toTask: queries.toTask, elsewhere: long.query })
  const webhooks = createWebhookLists(long.query)
  let closed = false

  function reading<A extends unknown[], T>(
    query: (...args: A) => T | Promise<T>,
  ): (...args: A) => Promise<T> {
    return async (...args) => {
      if (closed) throw new A2AError('unavailable', 'The store is closed')
      try {
        return await query(...args)
      } catch (error) {
        const fault = toFault(error)
        options.failed?.(fault)
        throw toStoreError('read', fault)
      }
    }
  }

  return {
    get: reading(queries.get),
    records: reading(queries.records),
    list: reading(lists.list),
    listAll: reading(lists.listAll),
    claim: reading(queries.claim),
    contextValues: reading(queries.contextValues),
    findByKey: reading(queries.findByKey),
    pushConfigs: reading(queries.pushConfigs),
    claimDeliveries: reading(queries.claimDeliveries),
    webhooks: reading(webhooks.webhooks),
    deadLetters: reading((limit, scope) =>
      scope === undefined ? queries.deadLetters(limit) : webhooks.deadLettersOf(scope, limit),
    ),
    async close() {
      if (closed) return
      closed = true
      await long.close()
      db.close()
    },
  }
}

interface LongReads {
  query(query: Query): Promise<readonly Row[]>
  close(): Promise<void>
}

/** A thread for reads that may take long; started with the first of them. */
function createLongReads(path: string, driver: DriverName | undefined): LongReads {
  let thread: StartedThread | undefined
  return {
    async query(query) {
      thread ??= startThread({ type: 'read', path, driver })
      const answer = await thread.ask({ type: 'query', ...query })
      if ('ok' in answer) return answer.ok as readonly Row[] // what the worker answers to a query
      throw Object.assign(new Error(answer.fault.message), { errcode: answer.fault.code })
    },
    async close() {
      await thread?.ask({ type: 'close' })
      await thread?.ended()
    },
  }
}
