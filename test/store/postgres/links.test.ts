import { describe, expect, it, onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../../src/shared/clock.ts'
import type { DatabaseConnection, SqlStatement } from '../../../src/store/postgres/connection.ts'
import { DatabaseLink } from '../../../src/store/postgres/links.ts'

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
