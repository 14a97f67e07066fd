import { existsSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { A2AError } from '../../protocol/errors.ts'
import { systemClock } from '../../shared/clock.ts'
import { toDeadLetter, toStateCounts } from '../documents.ts'
import type { PruneLimits, StoredContext, StoreFacts, StoreKeeper } from '../keeper.ts'
import { copyBytes } from '../size-limits.ts'
import type { DeadLetter } from '../store.ts'
import {
  type Connection,
  openConnection,
  openReading,
  reasonOf,
  toFault,
  toOpenError,
  toStoreError,
} from './driver.ts'
import { lookAt } from './open.ts'
import { migrations, pragma } from './schema.ts'
import { openSqliteStore } from './store.ts'
import { startThread } from './thread.ts'
import { limitsAt } from './trim.ts'

/** Looks after a store's file. What only reads may be done while a server writes the file. */
export function createFileKeeper(path: string): StoreKeeper {
  return {
    name: path,
    facts: () => reading(path, factsOf),
    contexts: () => reading(path, (db) => (hasValues(db) ? contextsOf(db) : [])),
    deadLetters: () => readDeadLetters(path),
    async migrate() {
      const from = await reading(path, schemaOf)
      const store = await openSqliteStore(path)
      await store.close()
      return { from, to: migrations.length }
    },
    prune: (limits) => prune(path, limits),
    cluster: async () => undefined,
    open: () => openSqliteStore(path, { maxTaskBytes: copyBytes }),
  }
}

async function reading<T>(path: string, read: (db: Connection) => T): Promise<T> {
  mustBeStore(path)
  const db = await openReading(path, undefined, 5_000)
  try {
    return read(db)
  } finally {
    db.close()
  }
}

function schemaOf(db: Connection): number {
  return pragma(db, 'user_version')
}

function factsOf(db: Connection): StoreFacts {
  const states = db.prepare('SELECT state, sum(tasks) AS tasks FROM total GROUP BY state').all()
  const [tasks = {}] = db
    .prepare(
      'SELECT count(*) AS tasks, sum(version) AS records, count(idempotency_key) AS keys FROM task',
    )
    .all()
  return {
    kind: 'sqlite',
    schema: schemaOf(db),
    knownSchema: migrations.length,
    bytes: pragma(db, 'page_count') * pragma(db, 'page_size'),
    states: toStateCounts(states),
    counts: {
      tasks: Number(tasks.tasks),
      records: Number(tasks.records),
      keys: Number(tasks.keys),
      contextValues: hasValues(db) ? rowsIn(db, 'context_value') : 0,
      webhooks: rowsIn(db, 'push'),
      deadLetters: rowsIn(db, 'dead_letter'),
    },
  }
}

function rowsIn(db: Connection, table: string): number {
  return Number(db.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.rows)
}

/** The first schema had no values of contexts. */
function hasValues(db: Connection): boolean {
  return schemaOf(db) > 1
}

function contextsOf(db: Connection): readonly StoredContext[] {
  const rows = db
    .prepare(
      `SELECT DISTINCT agent, tenant, owner, context_id FROM context_value JOIN scope ON scope.id = context_value.scope`,
    )
    .all()
  return rows.map(({ agent, tenant, owner, context_id }) => ({
    scope: { agent: String(agent), tenant: String(tenant), owner: String(owner) },
    contextId: String(context_id),
  }))
}

/** Takes the file for itself: a server that uses it drops by its own `[server.retention]`. */
async function prune(path: string, limits: PruneLimits): Promise<number> {
  const before = await reading(path, (db) => rowsIn(db, 'task'))
  const options = { path, driver: undefined, synchronous: 'FULL', maxPages: undefined } as const
  const thread = startThread({ type: 'write', options })
  const first = await thread.first
  if ('fault' in first) throw toOpenError(path, first.fault)
  try {
    // The options of a store have `maxBytes` too; a keeper drops by the other limits alone.
    const { maxPages: _, ...floors } = limitsAt(systemClock.now(), limits)
    const request = { type: 'trim', ...floors, maxPages: undefined } as const
    for (let more = true; more; ) {
      const answer = await thread.ask(request)
      if ('fault' in answer) throw toStoreError('write', answer.fault)
      more = answer.ok === true
    }
  } finally {
    await thread.ask({ type: 'close' })
    await thread.ended()
  }
  return before - (await reading(path, (db) => rowsIn(db, 'task')))
}

/**
 * Copies a store's file as it is at this moment, also while a server writes it. The copy appears under its name only
 * when it is whole; a file already there is replaced.
 *
 * @throws A2AError `unavailable` that names the file and the reason.
 */
export async function backupSqliteStore(path: string, target: string): Promise<void> {
  mustBeStore(path)
  if (!existsSync(dirname(target)))
    throw new A2AError('unavailable', `There is no directory ${dirname(target)}`)
  if (existsSync(target) && realpathSync(target) === realpathSync(path))
    throw new A2AError('unavailable', `${target} is the task store itself`)
  const first = await startThread({ type: 'backup', path, target, driver: undefined }).first
  if ('fault' in first)
    throw new A2AError(
      'unavailable',
      `Cannot back up the task store ${path}: ${reasonOf(first.fault)}`,
    )
}

/**
 * Lists the webhook deliveries that were given up, newest first, also while a server writes the file.
 * @throws A2AError `unavailable` that names the file and the reason.
 */
export async function readDeadLetters(path: string): Promise<readonly DeadLetter[]> {
  mustBeStore(path)
  const db = await openConnection(path)
  try {
    db.exec('PRAGMA query_only = ON')
    const letters = db.prepare('SELECT letter FROM dead_letter ORDER BY number DESC').all()
    return letters.map(toDeadLetter)
  } finally {
    db.close()
  }
}

/**
 * Opening a file that is not there would make one, and opening another program's could change it.
 * @throws A2AError `unavailable` that names the file.
 */
function mustBeStore(path: string): void {
  if (!existsSync(path) || !statSync(path).isFile())
    throw new A2AError('unavailable', `There is no task store ${path}`)
  try {
    if (lookAt(path).isNew) throw new Error('the file is empty')
  } catch (error) {
    throw new A2AError('unavailable', `${path} is no task store: ${reasonOf(toFault(error))}`, {
      cause: error,
    })
  }
}
