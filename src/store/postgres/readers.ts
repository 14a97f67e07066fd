import { A2AError } from '../../protocol/errors.ts'
import type { DatabaseConnectionOptions, DatabaseRow, SqlStatement } from './connection.ts'
import { isBroken, sqlStateOf, toDatabaseError } from './faults.ts'
import { DatabaseLink } from './link.ts'

/** Connections that serve whoever asks, each one statement at a time. */
export interface Readers {
  /**
   * Runs a statement that may be run twice: where the connection broke, it is tried again on a new one.
   * @throws A2AError `unavailable` where the database cannot be reached.
   */
  read(statement: SqlStatement): Promise<readonly DatabaseRow[]>
  /** Runs a statement that changes something, once. Rejects with the driver's error. */
  run(statement: SqlStatement): Promise<readonly DatabaseRow[]>
  close(): Promise<void>
}

/** Statements that may wait for a connection; beyond it they are refused, so that a slow database cannot eat the memory. */
const maxWaiting = 10_000
const tries = 3

/** So many connections, made as they are needed. */
export function createReaders(options: DatabaseConnectionOptions, count: number): Readers {
  const links = Array.from({ length: count }, () => new DatabaseLink(options))
  const free = [...links]
  const waiting: ((link: DatabaseLink) => void)[] = []
  let closed = false

  async function take(): Promise<DatabaseLink> {
    if (closed) throw new A2AError('unavailable', 'The store is closed')
    const link = free.pop()
    if (link) return link
    if (waiting.length >= maxWaiting)
      throw new A2AError('unavailable', 'The task store is overloaded')
    return new Promise((resolve) => waiting.push(resolve))
  }

  function giveBack(link: DatabaseLink): void {
    const next = waiting.shift()
    if (next) next(link)
    else free.push(link)
  }

  async function run(statement: SqlStatement): Promise<readonly DatabaseRow[]> {
    const link = await take()
    try {
      return await link.query(statement)
    } finally {
      giveBack(link)
    }
  }

  return {
    run,
    async read(statement) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await run(statement)
        } catch (error) {
          // Nothing is stored under a text that cannot be.
          if (sqlStateOf(error) === '22021') return []
          if (attempt === tries || !isBroken(error)) throw toDatabaseError('read', error)
        }
      }
    },
    async close() {
      if (closed) return
      closed = true
      await Promise.all(links.map((link) => link.close()))
    },
  }
}
