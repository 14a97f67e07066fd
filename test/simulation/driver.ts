import { createDeferred, withDeadline, withSignal } from '../../src/shared/async.ts'
import type {
  ConnectionEvents,
  DatabaseConnection,
  DatabaseRow,
} from '../../src/store/postgres/connection.ts'
import type { Database, Note } from './database.ts'
import type { Connection, Link } from './network.ts'
import { type Client, toWork } from './statements.ts'
import type { VirtualProcess } from './world.ts'

/** What connections of a process are made with. */
export interface DriverOptions {
  readonly process: VirtualProcess
  readonly link: Link
  readonly database: Database
  /** How long it may take to connect. */
  readonly connectTimeoutMs: number
  /** How long the driver waits for an answer: longer than the database works on a statement. */
  readonly answerTimeoutMs: number
}

/** Opens connections to the simulated database, as the driver of the real one does; `kind` is for people. */
export type Connect = (kind: string, events?: ConnectionEvents) => Promise<DatabaseConnection>

/** Makes the driver of a process. */
export function createDriver(options: DriverOptions): Connect {
  const { process, link, connectTimeoutMs } = options
  return async (kind, events = {}) => {
    const opening = link.connect(kind)
    try {
      const connection = await withDeadline(process.clock, connectTimeoutMs, (signal) =>
        withSignal(opening, signal),
      )
      connection.onBroken(() => events.ended?.())
      return toConnection(options, connection, events)
    } catch (error) {
      void opening.then((late) => late.close()).catch(() => {}) // it came too late
      throw error
    }
  }
}

function toConnection(
  { process, database, answerTimeoutMs }: DriverOptions,
  connection: Connection,
  events: ConnectionEvents,
): DatabaseConnection {
  const client: Client = {
    tell: (note) => connection.push(note.kind, () => events.notice?.('', toPayload(note))),
    onGone: (callback) => connection.onGone(callback),
  }

  async function query(statement: Parameters<DatabaseConnection['query']>[0]) {
    const answer = connection.call(toWork(database, statement, client))
    const late = createDeferred<readonly DatabaseRow[]>()
    const stop = process.clock.after(answerTimeoutMs, () =>
      late.reject(new Error('The database did not answer in time')),
    )
    try {
      return await Promise.race([answer, late.promise])
    } finally {
      stop()
    }
  }

  return {
    backend: connection.backend,
    query,
    async queryAll(statements) {
      const answers = await Promise.allSettled(statements.map(query))
      return answers.map((answer) => {
        if (answer.status === 'rejected') throw answer.reason
        return answer.value
      })
    },
    close: async () => connection.close(),
    destroy: () => connection.close(),
  }
}

/** A notice as the real database sends it. */
function toPayload(note: Note): string {
  switch (note.kind) {
    case 'grown':
      return JSON.stringify({ grown: [[note.taskId, note.version]] })
    case 'mail':
      return JSON.stringify({ mail: [note.taskId, note.agent] })
    case 'deliveries':
      return JSON.stringify({ deliveries: note.taskId })
    case 'orphans':
      return JSON.stringify({ orphans: true })
  }
}
