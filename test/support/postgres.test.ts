import { expect, it } from 'vitest'
import { describePostgres, usePostgres } from './postgres.ts'
import { startPostgres } from './postgres-server.ts'

describePostgres('the PostgreSQL of the tests', () => {
  const database = usePostgres()

  it('answers, and gives each file schemas of its own', async () => {
    const [one, other] = [database.newSchema(), database.newSchema()]
    expect(one).not.toBe(other)
    await database.query(`CREATE SCHEMA ${one}`)
    await database.query(`CREATE TABLE ${one}.a (n int)`)
    expect(await database.query(`SELECT count(*)::int AS n FROM ${one}.a`)).toEqual([{ n: 0 }])
  })
})

describePostgres('a PostgreSQL of its own', () => {
  it('is there again after all of its processes were killed, and gone after it was stopped', async () => {
    const { Client } = await import('pg')
    const server = await startPostgres({ durable: true })
    const ask = async (sql: string): Promise<unknown[]> => {
      const client = new Client({ connectionString: server.url })
      await client.connect()
      try {
        return (await client.query(sql)).rows
      } finally {
        await client.end()
      }
    }
    await ask('CREATE TABLE kept AS SELECT 7 AS n')
    await server.restart()
    expect(await ask('SELECT n FROM kept')).toEqual([{ n: 7 }])
    await server.stop()
    await expect(ask('SELECT 1')).rejects.toThrow('ECONNREFUSED')
  })
})
