import { Client } from 'pg'
import { describe, expect, it, onTestFinished, test } from 'vitest'
import { type Clock, systemClock } from '../../../src/shared/clock.ts'
import {
  connectDatabase,
  type DatabaseConnection,
  namesIn,
  type SqlStatement,
} from '../../../src/store/postgres/connection.ts'
import { createReaders, DatabaseLink } from '../../../src/store/postgres/links.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { describePostgres, usePostgres } from '../../support/postgres.ts'

/** A statement that gets no answer until its connection is destroyed. */
const hang = 'hang'

/** How a connection answers a statement. */
type Answer = typeof hang | Error | undefined

/** The connections that a link has opened, by the number of their backend. */
interface Opened {
  readonly link: DatabaseLink
  readonly opened: readonly number[]
  /** The backends whose transactions the link has asked the database to end. */
  readonly ended: readonly number[]
}

interface OpenOptions {
  /** Rejects where the connection with this number cannot be opened. */
  connect?(backend: number): Promise<void>
  answer(backend: number, isEnd: boolean): Answer
  readonly clock?: Clock
  readonly answerMs?: number
}

function openLink({ connect, answer, clock = systemClock, answerMs }: OpenOptions): Opened {
  const opened: number[] = []
  const ended: number[] = []
  const target = { url: '', tls: undefined, statementTimeoutMs: 1_000, name: 'test', clock }
  async function open(): Promise<DatabaseConnection> {
    const backend = opened.push(opened.length + 1)
    await connect?.(backend)
    return createConnection(backend, ({ text, values = [] }) => {
      const isEnd = text.includes('pg_terminate_backend')
      if (isEnd) ended.push(Number(values[0]))
      return answer(backend, isEnd)
    })
  }
  const link = new DatabaseLink({ ...target, connect: open }, answerMs)
  onTestFinished(() => link.close())
  return { link, opened, ended }
}

function createConnection(
  backend: number,
  answer: (statement: SqlStatement) => Answer,
): DatabaseConnection {
  let fail: ((error: Error) => void) | undefined
  return {
    backend,
    async query(statement) {
      const given = answer(statement)
      if (given === hang) return new Promise((_, reject) => (fail = reject))
      if (given) throw given
      return [{ backend }]
    },
    queryAll: async () => [],
    close: async () => {},
    destroy: (reason = new Error('The connection is closed')) => fail?.(reason),
  }
}

function sqlError(code: string): Error {
  return Object.assign(new Error(code), { code, severity: 'ERROR' })
}

const statement: SqlStatement = { text: 'SELECT 1' }

/** Runs a statement that is given up after a moment, as a commit is. */
async function runBriefly(link: DatabaseLink): Promise<unknown> {
  const cancel = systemClock.after(50, () => void link.reset())
  return link
    .query(statement)
    .catch((error: unknown) => error)
    .finally(cancel)
}

test('statements of one kind that wait for a connection delay no other kind', async () => {
  const order: string[] = []
  const connect = async () =>
    createConnection(1, ({ name = '' }) => {
      order.push(name)
      return undefined
    })
  const target = { url: '', tls: undefined, statementTimeoutMs: 1_000, name: 'test' }
  const readers = createReaders({ ...target, clock: systemClock, connect }, 1)
  onTestFinished(() => readers.close())
  const names = ['list', 'list', 'list', 'list', 'get', 'get', 'count']
  await Promise.all(names.map((name) => readers.read({ name, text: 'SELECT 1' })))
  expect(order).toEqual(['list', 'list', 'get', 'count', 'list', 'get', 'list'])
})

describe('a link', () => {
  it('connects again after the database rejected the user', async () => {
    const { link, opened } = openLink({
      async connect(backend) {
        if (backend === 1) throw sqlError('28P01')
      },
      answer: () => undefined,
    })
    await expect(link.query(statement)).rejects.toThrow('28P01')
    expect(await link.query(statement)).toEqual([{ backend: 2 }])
    expect(opened).toEqual([1, 2])
  })

  it('is used although the database does not let it end a transaction', async () => {
    const { link, ended } = openLink({
      answerMs: 50,
      answer(backend, isEnd) {
        if (isEnd) return sqlError('42501')
        return backend === 1 ? hang : undefined
      },
    })
    await expect(link.query(statement)).rejects.toThrow('gave no answer')
    expect(await link.query(statement)).toEqual([{ backend: 2 }])
    expect(ended).toEqual([1])
  })

  it('ends the transaction later where the next connection cannot be opened', async () => {
    const { link, ended } = openLink({
      async connect(backend) {
        if (backend !== 2) return
        await new Promise((resolve) => systemClock.after(100, () => resolve(undefined)))
        throw new Error('No route')
      },
      answer: (backend) => (backend === 1 ? hang : undefined),
    })
    expect(await runBriefly(link)).toBeInstanceOf(Error)
    expect(await runBriefly(link)).toMatchObject({ message: 'No route' })
    expect(await runBriefly(link)).toEqual([{ backend: 3 }])
    expect(ended).toEqual([1])
  })

  it('does not wait for ever for the end of a transaction, and waits longer each time', async () => {
    const waits: number[] = []
    const clock: Clock = {
      ...systemClock,
      after(ms, callback) {
        waits.push(ms)
        return systemClock.after(ms / 20, callback)
      },
    }
    const { link, ended } = openLink({
      clock,
      answer(backend, isEnd) {
        if (isEnd) return backend < 4 ? hang : undefined
        return backend === 1 ? hang : undefined
      },
    })
    expect(await runBriefly(link)).toBeInstanceOf(Error)
    for (const _ of [2, 3]) await expect(link.query(statement)).rejects.toThrow('gave no answer')
    expect(await link.query(statement)).toEqual([{ backend: 4 }])
    expect(ended).toEqual([1, 1, 1])
    expect(waits).toEqual([1_000, 4_000, 16_000])
  })
})

describePostgres('a link whose backend serves another client by now, as behind a pooler,', () => {
  const database = usePostgres()

  /** Lets a link give up a statement of a backend, and resolves when it has a new connection. */
  async function giveUp(backend: number, name: string): Promise<void> {
    const link = new DatabaseLink(
      {
        ...{ url: database.url, tls: undefined, statementTimeoutMs: 30_000, name },
        connect: async (options) => ({ ...(await connectDatabase(options)), backend }),
      },
      200,
    )
    onTestFinished(() => link.close())
    await expect(link.query({ text: 'SELECT pg_sleep(20)' })).rejects.toThrow('gave no answer')
    expect(await link.query({ text: 'SELECT 1 AS n' })).toEqual([{ n: 1 }])
  }

  it('does not end the migration of another replica', async () => {
    const schema = database.newSchema()
    const { lockClass } = namesIn(schema)
    await database.query('BEGIN')
    await database.query('SELECT pg_advisory_xact_lock($1, 0)', [lockClass])
    const opening = openPostgresStore({ url: database.url, schema, name: schema, logger: false })
    try {
      const waiting = () =>
        database.query('SELECT pid FROM pg_locks WHERE classid = $1 AND NOT granted', [lockClass])
      await expect.poll(waiting).toHaveLength(1)
      const [row] = await waiting()
      await giveUp(Number(row?.pid), schema)
    } finally {
      await database.query('COMMIT')
    }
    await (await opening).close()
  })

  it('does not end a transaction in another database', async () => {
    const other = database.newSchema()
    const url = new URL(database.url)
    url.pathname = other
    await database.query(`CREATE DATABASE ${other}`)
    const client = new Client({ connectionString: url.href, application_name: other })
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query('BEGIN')
      const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
      await giveUp(rows[0]?.pid ?? 0, other)
      await expect(client.query('COMMIT')).resolves.toBeDefined()
    } finally {
      await client.end().catch(() => {})
      await database.query(`DROP DATABASE ${other} WITH (FORCE)`)
    }
  })
})
