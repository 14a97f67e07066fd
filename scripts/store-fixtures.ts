/**
 * Writes a store of the newest schema to test/fixtures/store, as a SQLite file and as SQL of PostgreSQL, each with what is
 * in it as JSON. A test opens the stores of all schemas that ever were, so those that are there stay as they are.
 *
 *   npm run store-fixtures
 */
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { createStoreKeeper } from '../src/store/copy.ts'
import type { StoreKeeper } from '../src/store/keeper.ts'
import { databaseMigrations } from '../src/store/postgres/schema.ts'
import { openConnection } from '../src/store/sqlite/driver.ts'
import { migrations } from '../src/store/sqlite/schema.ts'
import { contentsOf, fillStore } from '../test/store/kept.ts'
import { startPostgres } from '../test/support/postgres-server.ts'

const folder = join(import.meta.dirname, '../test/fixtures/store')
const schema = 'corral'

await writeFile()
await writeDatabase()

async function writeFile(): Promise<void> {
  const name = `schema-${migrations.length}`
  const home = mkdtempSync(join(tmpdir(), 'corral-fixture-'))
  const path = join(home, 'store.db')
  try {
    if (!isMissing(`${name}.db`)) return
    await fill(createStoreKeeper(path))
    const db = await openConnection(path)
    // The path of this machine is nobody else's; whoever opens the file writes their own.
    db.prepare('PRAGMA secure_delete = ON').get()
    db.exec('DELETE FROM home')
    db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all()
    db.close()
    copyFileSync(path, join(folder, `${name}.db`))
    await describe(name, createStoreKeeper(path))
  } finally {
    rmSync(home, { recursive: true })
  }
}

async function writeDatabase(): Promise<void> {
  const name = `postgres-${databaseMigrations.length}`
  if (!isMissing(`${name}.sql`)) return
  const server = await startPostgres()
  const client = new Client({ connectionString: server.url })
  try {
    const keeper = createStoreKeeper(server.url, { schema })
    await fill(keeper)
    await client.connect()
    writeFileSync(join(folder, `${name}.sql`), await dump(client))
    await describe(name, keeper)
  } finally {
    await client.end()
    await server.stop()
  }
}

function isMissing(file: string): boolean {
  const isThere = existsSync(join(folder, file))
  console.log(`${file} ${isThere ? 'is there' : 'is written'}`)
  return !isThere
}

async function fill(keeper: StoreKeeper): Promise<void> {
  const store = await keeper.open()
  await fillStore(store)
  await store.close()
}

async function describe(name: string, keeper: StoreKeeper): Promise<void> {
  const text = `${JSON.stringify(await contentsOf(keeper))}\n`
  writeFileSync(join(folder, `${name}.generated.json`), text)
}

/** The schema as SQL that makes it again, with `{s}` for its name: how its tables are made, and their rows. */
async function dump(client: Client): Promise<string> {
  const statements = [
    'CREATE SCHEMA {s};',
    'CREATE TABLE {s}.meta (schema int NOT NULL, oldest_reader int NOT NULL);',
  ]
  statements.push(...databaseMigrations.map(({ sql }) => sql.trim()))
  const tables = await client.query(
    `SELECT relname, array_agg(attname::text ORDER BY attnum) AS columns,
       max(attname::text) FILTER (WHERE attidentity <> '') AS identity
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND attnum > 0
     WHERE relnamespace = $1::regnamespace AND relkind = 'r' GROUP BY relname ORDER BY relname`,
    [schema],
  )
  for (const { relname, columns, identity } of tables.rows) {
    const values = columns.map((column: string) => `quote_nullable(${column}::text)`).join(`, `)
    const { rows } = await client.query(
      `SELECT concat_ws(', ', ${values}) AS row FROM ${schema}.${relname} ORDER BY 1`,
    )
    const head = `INSERT INTO {s}.${relname} (${columns.join(', ')}) OVERRIDING SYSTEM VALUE VALUES`
    for (const { row } of rows) statements.push(`${head} (${row});`)
    if (identity && rows.length > 0)
      statements.push(
        `SELECT setval(pg_get_serial_sequence('{s}.${relname}', '${identity}'), (SELECT max(${identity}) FROM {s}.${relname}));`,
      )
  }
  return `${statements.join('\n')}\n`
}
