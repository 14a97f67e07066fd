import { Socket } from 'node:net'
import type { ConnectionOptions as TlsOptions } from 'node:tls'
import type { Client } from 'pg'
import { A2AError } from '../../protocol/errors.ts'
import { toDriverTarget } from './tls.ts'

/** A statement. One with a name is parsed once per connection. */
export interface SqlStatement {
  readonly name?: string
  readonly text: string
  readonly values?: unknown[]
}

/** A row of an answer. Numbers beyond 32 bits come as text. */
export type DatabaseRow = Readonly<Record<string, unknown>>

/** One connection to the database. It takes one statement at a time. */
export interface DatabaseConnection {
  query(statement: SqlStatement): Promise<readonly DatabaseRow[]>
  /** Says farewell, and waits for it; `destroy` for one that does not answer. */
  close(): Promise<void>
  destroy(): void
}

/** How connections are made. */
export interface DatabaseConnectionOptions {
  readonly url: string
  readonly tls: boolean | TlsOptions | undefined
  /** The longest that a statement may take; the database ends it. */
  readonly statementTimeoutMs: number
  /** What the database shows in its list of connections. */
  readonly name: string
}

/** What a connection is told besides its answers. */
export interface ConnectionEvents {
  /** Somebody sent a notice on a channel that this connection listens on. */
  notice?(channel: string, payload: string): void
  /** The connection is gone, whoever ended it. */
  ended?(): void
}

const connectTimeoutMs = 5_000
/** How much longer than the database we wait for an answer: then it is the way that is broken. */
const graceMs = 2_000

/**
 * Connects to the database.
 *
 * @throws Error of the driver, or A2AError `unavailable` where the driver is not installed.
 */
export async function connectDatabase(
  options: DatabaseConnectionOptions,
  events: ConnectionEvents = {},
): Promise<DatabaseConnection> {
  const { statementTimeoutMs, name } = options
  const { Client } = await loadDriver()
  const socket = new Socket()
  const client = new Client({
    ...toDriverTarget(options),
    application_name: name,
    keepAlive: true,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: statementTimeoutMs + graceMs,
    stream: () => socket,
  })
  // Whoever waits for an answer learns of it there; without a listener it would end the process.
  client.on('error', () => {})
  client.on('end', () => events.ended?.())
  client.on('notification', ({ channel, payload = '' }) => events.notice?.(channel, payload))
  try {
    await client.connect()
    // Not as a parameter of the start, which poolers refuse. Tables grow under plans that were made for small ones.
    await client.query(
      `SET statement_timeout = ${Math.round(statementTimeoutMs)}; SET enable_seqscan = off;
       SET enable_hashjoin = off; SET enable_mergejoin = off; SET plan_cache_mode = force_generic_plan`,
    )
  } catch (error) {
    socket.destroy()
    throw error
  }
  return toConnection(client, socket)
}

function toConnection(client: Client, socket: Socket): DatabaseConnection {
  return {
    query: async (statement) => (await client.query<Record<string, unknown>>(statement)).rows,
    async close() {
      await client.end().catch(() => {})
      socket.destroy()
    },
    destroy: () => socket.destroy(),
  }
}

/** The driver is an optional peer: who keeps tasks elsewhere does not need it. */
async function loadDriver(): Promise<typeof import('pg')> {
  try {
    return await import('pg')
  } catch (error) {
    throw new A2AError(
      'unavailable',
      'A store in PostgreSQL needs the package pg: npm install pg',
      { cause: error },
    )
  }
}
