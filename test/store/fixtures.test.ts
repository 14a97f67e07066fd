import { copyFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createStoreKeeper } from '../../src/store/copy.ts'
import { databaseMigrations } from '../../src/store/postgres/schema.ts'
import { type Connection, openConnection } from '../../src/store/sqlite/driver.ts'
import { migrate, migrations } from '../../src/store/sqlite/schema.ts'
import { describePostgres, queryPostgres, usePostgres } from '../support/postgres.ts'
import { contentsOf } from './kept.ts'
import { useFolder } from './sqlite/folder.ts'

const folder = join(import.meta.dirname, '../fixtures/store')
const files = readdirSync(folder)

function versionsTo(newest: number): readonly number[] {
  return Array.from({ length: newest }, (_, i) => i + 1)
}

function read(file: string): string {
  return readFileSync(join(folder, file), 'utf8')
}

function tablesOf(db: Connection): readonly unknown[] {
  return db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name').all()
}

/** What was in a store when its file was written. */
function contents(name: string): unknown {
  return JSON.parse(read(`${name}.generated.json`))
}

test('there is a store of every schema that ever was; npm run store-fixtures writes the newest', () => {
  const wanted = [
    ...versionsTo(migrations.length).map((version) => `schema-${version}.db`),
    ...versionsTo(databaseMigrations.length).map((version) => `postgres-${version}.sql`),
  ]
  expect(files.filter((file) => !file.endsWith('.json')).sort()).toEqual(wanted.sort())
})

describe('a SQLite file', () => {
  const { path } = useFolder()

  test.each(versionsTo(migrations.length).slice(1))(
    'of schema %i is made today as it was made then',
    async (version) => {
      const db = await openConnection(path('new.db'))
      migrate(db, migrations.slice(0, version))
      const made = tablesOf(db)
      db.close()
      copyFileSync(join(folder, `schema-${version}.db`), path('old.db'))
      const old = await openConnection(path('old.db'))
      expect(made).toEqual(tablesOf(old))
      old.close()
    },
  )

  // What becomes of one of the first schema, migration.test.ts sees in its own rows.
  test.each(versionsTo(migrations.length).slice(1))(
    'of schema %i is opened, brought to the newest, and holds what was put in',
    async (version) => {
      copyFileSync(join(folder, `schema-${version}.db`), path('t.db'))
      const keeper = createStoreKeeper(path('t.db'))
      expect(await keeper.facts()).toMatchObject({ schema: version })
      expect(await contentsOf(keeper)).toMatchObject(contents(`schema-${version}`) as object) // an object
      expect(await keeper.facts()).toMatchObject({ schema: migrations.length })
    },
  )
})

describePostgres('a PostgreSQL database', () => {
  const database = usePostgres()

  test('is made today as it was made then, in every schema', () => {
    for (const [i, { sql }] of databaseMigrations.entries())
      expect(read(`postgres-${i + 1}.sql`)).toContain(sql.trim())
  })

  test.each(versionsTo(databaseMigrations.length))(
    'of schema %i is opened, brought to the newest, and holds what was put in',
    async (version) => {
      const schema = database.newSchema()
      await queryPostgres(read(`postgres-${version}.sql`).replaceAll('{s}', schema))
      const keeper = createStoreKeeper(database.url, { schema })
      expect(await keeper.facts()).toMatchObject({ schema: version })
      expect(await contentsOf(keeper)).toMatchObject(contents(`postgres-${version}`) as object) // an object
      expect(await keeper.facts()).toMatchObject({ schema: databaseMigrations.length })
    },
  )
})
