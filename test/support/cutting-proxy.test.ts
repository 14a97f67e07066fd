import { Client } from 'pg'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CuttingProxy, isSession, openCuttingProxy } from './cutting-proxy.ts'
import { describePostgres, usePostgres } from './postgres.ts'

describePostgres('the cutting proxy', () => {
  const database = usePostgres()
  let proxy: CuttingProxy
  let clients: Client[] = []

  const open = async (): Promise<Client> => {
    const client = new Client({ connectionString: proxy.url })
    client.on('error', () => {})
    clients.push(client)
    await client.connect()
    return client
  }
  const rows = () => database.query('SELECT n FROM cut_rows ORDER BY n')

  beforeEach(async () => {
    await database.query('CREATE TABLE cut_rows (n int)')
    proxy = await openCuttingProxy(database.url)
  })
  afterEach(async () => {
    await proxy.close()
    await Promise.all(clients.map((client) => client.end().catch(() => {})))
    clients = []
    await database.query('DROP TABLE cut_rows')
  })

  it('lets through what it is not asked to hold, and tells the statements', async () => {
    const client = await open()
    expect((await client.query('SELECT $1::int AS n', [7])).rows).toEqual([{ n: 7 }])
    await client.query('SELECT 1')
    expect(proxy.statements).toEqual(['SELECT $1::int AS n', 'SELECT 1'])
  })

  it('holds requests back until it heals', async () => {
    const client = await open()
    proxy.cut('requests')
    const inserted = client.query('INSERT INTO cut_rows VALUES (1)')
    expect(await rows()).toEqual([])
    proxy.heal()
    await inserted
    expect(await rows()).toEqual([{ n: 1 }])
  })

  it('holds answers back until it heals', async () => {
    const client = await open()
    proxy.cut('answers')
    let isAnswered = false
    const inserted = client.query('INSERT INTO cut_rows VALUES (1)').then(() => {
      isAnswered = true
    })
    while ((await rows()).length === 0);
    expect(isAnswered).toBe(false)
    proxy.heal()
    await inserted
  })

  it('breaks a connection between a commit and its answer', async () => {
    const client = await open()
    const lost = proxy.loseAnswer((statement) => statement === 'COMMIT')
    await client.query('BEGIN')
    await client.query('INSERT INTO cut_rows VALUES ($1)', [1])
    await expect(client.query('COMMIT')).rejects.toThrow()
    await lost
    expect(await rows()).toEqual([{ n: 1 }])
    const again = open()
    proxy.heal()
    expect((await (await again).query('SELECT n FROM cut_rows')).rows).toHaveLength(1)
  })

  it('breaks the connections that are meant, and no others', async () => {
    const [listening, other] = [await open(), await open()]
    await listening.query('LISTEN something')
    proxy.reset(isSession)
    await expect(listening.query('SELECT 1')).rejects.toThrow()
    expect((await other.query('SELECT 1 AS n')).rows).toEqual([{ n: 1 }])
  })

  it('lets nobody in once the process is gone', async () => {
    const client = await open()
    proxy.kill()
    await expect(client.query('SELECT 1')).rejects.toThrow()
    await expect(open()).rejects.toThrow()
  })

  it('is slow where it is asked to be, and loses nothing', async () => {
    const client = await open()
    proxy.slow(5)
    for (let n = 0; n < 3; n++) await client.query('INSERT INTO cut_rows VALUES ($1)', [n])
    expect(await rows()).toHaveLength(3)
  })
})
