import { afterEach, beforeEach, expect, it } from 'vitest'
import { LongLists } from '../../../src/store/postgres/reader.ts'
import { scopeColumn } from '../../../src/store/postgres/rows.ts'
import { cutting } from '../../../src/store/postgres/schema.ts'
import { openPostgresStore, type PostgresStore } from '../../../src/store/postgres/store.ts'
import { sampleEvery, uncounted } from '../../../src/store/spans.ts'
import { at, scope, write } from '../../contracts/store/samples.ts'
import { describePostgres, usePostgres } from '../../support/postgres.ts'

const contextId = 'long'
const column = scopeColumn(scope)

describePostgres('the counts of long lists in PostgreSQL', () => {
  const database = usePostgres()
  let store: PostgresStore
  let schema: string
  beforeEach(async () => {
    schema = database.newSchema()
    store = await open()
    await store.commit([write('first', { contextId, second: 0 })])
  })
  afterEach(() => store.close())

  const open = () => openPostgresStore({ url: database.url, schema, logger: false })

  /** Adds tasks as a release does that knows nothing of spans, one a second. */
  async function addTasks(count: number): Promise<void> {
    const columns = `version, snapshot_version, generation, busy, scope, agent, tenant, principal, context_id, state, build, snapshot`
    await database.query(
      `INSERT INTO ${schema}.task (id, timestamp, ${columns})
       SELECT 'old ' || i, to_char($1::timestamptz AT TIME ZONE 'UTC' + i * interval '1 second',
         'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), ${columns}
       FROM ${schema}.task, generate_series(1, $2::int) i WHERE id = 'first'`,
      [at(0), count],
    )
    await database.query(`UPDATE ${schema}.total SET tasks = tasks + $1`, [count])
  }

  const listsCounted = () =>
    database.query(
      `SELECT list, count(DISTINCT since)::int AS spans, sum(tasks)::int AS tasks FROM ${schema}.span
       WHERE since <> '' GROUP BY list ORDER BY list`,
    )

  /** Entries of the indexes, and rows of the table, that this connection has read; for use in a transaction. */
  async function rowsRead(): Promise<number> {
    const [row] = await database.query(
      `SELECT sum(pg_stat_get_xact_tuples_returned(c.oid))::int AS rows FROM pg_class c
       WHERE c.oid = $1::regclass OR c.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = $1::regclass)`,
      [`${schema}.task`],
    )
    return Number(row?.rows)
  }

  async function expectExact(): Promise<void> {
    for (const filter of [{}, { contextId }])
      for (const timestampAfter of [
        undefined,
        at(0),
        at(500),
        at(15_000),
        at(30_000),
        at(44_000),
      ]) {
        const [row] = await database.query(
          `SELECT count(*)::int AS total FROM ${schema}.task WHERE timestamp >= $1`,
          [timestampAfter ?? ''],
        )
        const moment = timestampAfter === undefined ? {} : { timestampAfter }
        const { total } = await store.list({ scope, limit: 1, ...filter, ...moment })
        expect([filter, moment, total]).toEqual([filter, moment, row?.total])
      }
  }

  it('are made of 20,000 tasks in a transaction, and are exact in between', async () => {
    await addTasks(45_000)
    const counted: unknown[] = []
    for (let round = 0; round < 3; round++)
      for (const list of ['', `:${contextId}`]) {
        const [row] = await database.query(cutting(schema).text, [column, list])
        counted.push(row?.more)
        await expectExact()
        // Below the oldest span, in the first piece, and after the newest task.
        const seconds = [100 + round, 40_000 + round, 50_000 + round]
        await store.commit(
          seconds.map((second) => write(`${round}${list}${second}`, { contextId, second })),
        )
        const id = `old ${round === 0 ? 45_000 : 10 + round}`
        await store.commit([
          write(id, { contextId, second: 43_000, state: 'TASK_STATE_FAILED', expectedVersion: 1 }),
          { type: 'deleteTask', id: `old ${1_000 + round}` },
          { type: 'deleteTask', id: `old ${44_000 + round}` },
        ])
        await expectExact()
      }
    expect(counted).toEqual([true, true, true, true, false, false])
  })

  it('are made by reading each task of a piece twice, however long the list is', async () => {
    await addTasks(60_000)
    for (const list of ['', `:${contextId}`]) {
      await database.query('BEGIN')
      const before = await rowsRead()
      await database.query(cutting(schema).text, [column, list])
      const read = (await rowsRead()) - before
      await database.query('COMMIT')
      expect(read).toBeGreaterThan(39_000)
      expect(read).toBeLessThan(40_000 + 2 * uncounted)
    }
  })

  it('are added up by groups in a very long list, and stay exact as its tasks come and go', async () => {
    await addTasks(45_000)
    const cut = async () => {
      for (const list of ['', `:${contextId}`])
        while ((await database.query(cutting(schema).text, [column, list]))[0]?.more === true);
    }
    const starts = () =>
      database.query(
        `SELECT list, array_agg(DISTINCT since ORDER BY since) AS starts FROM ${schema}.span WHERE list LIKE '^%'
         GROUP BY list ORDER BY list`,
      )
    await cut()
    expect(await starts()).toMatchObject([
      { list: '^', starts: { length: 3 } },
      { list: `^:${contextId}`, starts: { length: 3 } },
    ])
    await expectExact()
    // A list from the first group on reads no span of the others.
    const spoil = (by: number) =>
      database.query(
        `UPDATE ${schema}.span SET tasks = tasks + $1 WHERE list NOT LIKE '^%' AND since > $2`,
        [by, at(30_000)],
      )
    await spoil(1_000)
    for (const filter of [{}, { contextId }]) {
      const { total } = await store.list({ scope, limit: 1, timestampAfter: at(1), ...filter })
      expect(total).toBe(45_000)
    }
    await spoil(-1_000)
    await database.query(`DELETE FROM ${schema}.task WHERE timestamp BETWEEN $1 AND $2`, [
      at(2),
      at(40_000),
    ])
    await database.query(`UPDATE ${schema}.total SET tasks = tasks - 39999`)
    await expectExact()
    await cut()
    expect(await starts()).toMatchObject([{ starts: { length: 2 } }, { starts: { length: 2 } }])
    await expectExact()
    await store.commit(
      [1, 20_000, 39_000, 50_000].map((second) => write(`new ${second}`, { contextId, second })),
    )
    await expectExact()
  })

  it('are completed where nothing is older than the last piece', async () => {
    await addTasks(19_999)
    const cut = () => database.query(cutting(schema).text, [column, `:${contextId}`])
    expect(await cut()).toEqual([{ more: true }])
    expect(await cut()).toEqual([{ more: false }])
    await expectExact()
    await store.commit([write('older', { contextId, second: -5 })])
    await expectExact()
  })

  it('are made at the start where a process left them, though a writer has the lock for a while', async () => {
    await addTasks(2 * uncounted)
    await database.query('BEGIN')
    await database.query(`UPDATE ${schema}.task SET state = 'TASK_STATE_FAILED' WHERE id = 'old 1'`)
    const opening = open()
    setTimeout(() => void database.query('COMMIT'), 500)
    await (await opening).close()
    const tasks = 2 * uncounted + 1
    expect(await listsCounted()).toEqual([
      { list: '', spans: 5, tasks },
      { list: `:${contextId}`, spans: 5, tasks },
    ])
    await expectExact()
  })

  it('are completed at the start where a process was killed after a piece', async () => {
    await addTasks(21_000)
    await database.query(cutting(schema).text, [column, `:${contextId}`])
    await (await open()).close()
    expect(await listsCounted()).toMatchObject([{ tasks: 21_001 }, { tasks: 21_001 }])
    await expectExact()
  })

  it.each([
    ['57014', 2],
    ['55P03', 4],
  ])('are tried again after the error %s only where a lock was the reason', async (code, calls) => {
    let asked = 0
    const run = async () => {
      asked += 1
      throw Object.assign(new Error('broken off'), { code, severity: 'ERROR' })
    }
    const lists = new LongLists({ run }, { schema, channel: schema, lockClass: 1 })
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < sampleEvery; i++) lists.writing(column, contextId)
      await lists.cut()
    }
    expect(asked).toBe(calls)
  })
})
