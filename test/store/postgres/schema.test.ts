import { expect, it } from 'vitest'
import {
  connectDatabase,
  type DatabaseConnection,
  namesIn,
} from '../../../src/store/postgres/connection.ts'
import { databaseMigrations, migrateDatabase } from '../../../src/store/postgres/schema.ts'
import { describePostgres, usePostgres } from '../../support/postgres.ts'

describePostgres('the schema in PostgreSQL', () => {
  const database = usePostgres()

  async function withConnections<T>(
    count: number,
    work: (connections: readonly DatabaseConnection[]) => Promise<T>,
  ): Promise<T> {
    const options = { url: database.url, tls: undefined, statementTimeoutMs: 5_000, name: 'test' }
    const connections = await Promise.all(
      Array.from({ length: count }, () => connectDatabase(options)),
    )
    try {
      return await work(connections)
    } finally {
      await Promise.all(connections.map((one) => one.close()))
    }
  }

  const metaOf = (schema: string) => database.query(`SELECT * FROM ${schema}.meta`)

  it('is made once, however many replicas start together', async () => {
    const schema = database.newSchema()
    const names = namesIn(schema)
    await withConnections(6, (all) => Promise.all(all.map((one) => migrateDatabase(one, names))))
    expect(await metaOf(schema)).toEqual([{ schema: databaseMigrations.length, oldest_reader: 1 }])
  })

  it('is brought from each version to the next, and a step that fails leaves the old one', async () => {
    const schema = database.newSchema()
    const names = namesIn(schema)
    const more = { oldestReader: 1, sql: 'ALTER TABLE {s}.task ADD COLUMN extra int' }
    const bad = { oldestReader: 1, sql: 'ALTER TABLE {s}.task ADD COLUMN other int; SELECT 1/0' }
    await withConnections(1, async ([one]) => {
      if (!one) throw new Error('no connection')
      await migrateDatabase(one, names)
      await expect(
        migrateDatabase(one, names, undefined, [...databaseMigrations, more, bad]),
      ).rejects.toThrow('division')
      expect(await metaOf(schema)).toEqual([
        { schema: databaseMigrations.length, oldest_reader: 1 },
      ])
      await migrateDatabase(one, names, undefined, [...databaseMigrations, more])
      expect(await metaOf(schema)).toEqual([
        { schema: databaseMigrations.length + 1, oldest_reader: 1 },
      ])
    })
  })

  it('that is newer is used as long as it is meant for us, and refused from then on', async () => {
    const schema = database.newSchema()
    const names = namesIn(schema)
    const known = databaseMigrations.length
    await withConnections(1, async ([one]) => {
      if (!one) throw new Error('no connection')
      await migrateDatabase(one, names)
      await database.query(`UPDATE ${schema}.meta SET schema = 99, oldest_reader = ${known}`)
      await migrateDatabase(one, names)
      await database.query(`UPDATE ${schema}.meta SET oldest_reader = 98`)
      await expect(migrateDatabase(one, names)).rejects.toThrow(
        `the database has schema 99, which needs version 98; this version of Corral knows ${known}: use a newer one`,
      )
      expect(await metaOf(schema)).toEqual([{ schema: 99, oldest_reader: 98 }])
    })
  })

  it('has a name that needs no quotes', () => {
    for (const name of ['', 'Corral', 'a b', 'a;b', '1a', 'a'.repeat(41)])
      expect(() => namesIn(name)).toThrow('is not a name of at most 40 small letters')
    expect(namesIn('corral')).toEqual({ schema: 'corral', channel: 'corral', lockClass: 4207 })
    expect(namesIn('other').lockClass).not.toBe(4207)
  })
})
