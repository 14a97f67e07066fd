import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { fromTaskStore } from '../../src/store/custom.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { InMemoryTaskStore } from '../../src/store/task-store.ts'
import { drivers } from '../store/sqlite/drivers.ts'
import { hasPostgres, newSchemaName, postgresUrl, queryPostgres } from '../support/postgres.ts'

/** A store by its name, opened for one test. */
type NamedStore = readonly [name: string, open: () => Promise<Store>]

/** Every store; a further one takes its place here. */
export const stores: readonly NamedStore[] = [
  ['memory', async () => kept(createMemoryStore())],
  ['custom', async () => kept(fromTaskStore(new InMemoryTaskStore()))],
  ...drivers.map((driver): NamedStore => [`SQLite by ${driver}`, () => openFile(driver)]),
  ...(hasPostgres ? [['PostgreSQL', openDatabase] satisfies NamedStore] : []),
]

async function openFile(driver: (typeof drivers)[number]): Promise<Store> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-security-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  // A sync to disk per commit costs time and shows nothing here.
  return kept(await openSqliteStore(join(folder, 'tasks.db'), { driver, synchronous: 'NORMAL' }))
}

async function openDatabase(): Promise<Store> {
  const schema = newSchemaName()
  onTestFinished(() => queryPostgres(`DROP SCHEMA IF EXISTS ${schema} CASCADE`))
  return kept(await openPostgresStore({ url: await postgresUrl(), schema, logger: false }))
}

function kept(store: Store): Store {
  onTestFinished(() => store.close())
  return store
}
