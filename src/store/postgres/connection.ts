import { Socket } from 'node:net'
import type { ConnectionOptions as TlsOptions } from 'node:tls'
import type { Client } from 'pg'
import { A2AError } from '../../protocol/errors.ts'
import { within } from '../../shared/async.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import { readUrl } from '../../shared/text.ts'

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
  /** The id of the backend that serves it; behind a pooler, of the one that did when it was opened. */
  readonly backend: number
  query(statement: SqlStatement): Promise<readonly DatabaseRow[]>
  /**
   * Sends several statements at once, without waiting for answers in between: so none of them waits, with locks held, for a
   * client that is paused. Rejects with the first error.
   */
  queryAll(statements: readonly SqlStatement[]): Promise<readonly (readonly DatabaseRow[])[]>
  /** Says farewell, and waits for it; `destroy` for one that does not answer. */
  close(): Promise<void>
  /** Closes it at once; its statements reject. */
  destroy(reason?: Error): void
}

/** How connections are made. */
export interface DatabaseConnectionOptions {
  readonly url: string
  readonly tls: boolean | TlsOptions | undefined
  /** The longest that a statement may take; the database ends it. */
  readonly statementTimeoutMs: number
  /** What the database shows in its list of connections. */
  readonly name: string
  /** The lease of a replica, which bounds what a connection of a replica that is gone may hold; the default if absent. */
  readonly leaseMs?: number
  /** How long it may take to connect; 4,000 ms if absent. */
  readonly connectMs?: number
  /** Whether transactions are short: then the database (17 or later) ends one that is open for a whole lease. */
  readonly isBrief?: boolean
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Makes the connections of links; `connectDatabase` if absent. */
  readonly connect?: (options: DatabaseConnectionOptions) => Promise<DatabaseConnection>
}

/** What a connection reports besides its answers. */
export interface ConnectionEvents {
  /** A notice was sent on a channel that this connection listens on. */
  notice?(channel: string, payload: string): void
  /** The connection is gone, whichever side ended it. */
  ended?(): void
}

/** The longest time that connecting may take. */
export const maxConnectMs = 4_000

/** How long one attempt at the database may take, so that the next one still begins within the lease. */
export function attemptMsOf(leaseMs: number = postgresDefaults.leaseMs): number {
  return Math.max(leaseMs / 2, leaseMs - 1_000)
}

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
  const { statementTimeoutMs, name, connectMs = maxConnectMs, clock = systemClock } = options
  const { Client } = await loadDriver()
  const socket = new Socket()
  const client = new Client({
    ...toDriverTarget(options),
    application_name: name,
    keepAlive: true,
    query_timeout: statementTimeoutMs + graceMs,
    pipeline: true,
    stream: () => socket,
  })
  // The pending query rejects with it; without a listener it would end the process.
  client.on('error', () => {})
  client.on('end', () => events.ended?.())
  client.on('notification', ({ channel, payload = '' }) => events.notice?.(channel, payload))
  // The timeout covers the settings too: a network may drop a connection at any message.
  const giveUp = clock.after(connectMs, () => socket.destroy(noAnswer(connectMs)))
  let backend: number
  try {
    await client.connect()
    backend = await applySettings(client, sessionSettings(options))
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    giveUp()
  }
  return toConnection(client, { socket, clock, backend })
}

/** The error of a connection that was closed because no answer came. */
export function noAnswer(ms: number): Error {
  return new Error(`The database gave no answer for ${Math.round(ms)} ms`)
}

/** A setting of PostgreSQL and its value, in the setting's own unit. */
type SessionSetting = readonly [name: string, value: string]

/**
 * What every connection sets. Plans are made once per statement, and never compiled: the compiler takes longer than any of our
 * statements. A client that is paused, cut off or gone holds its row locks no longer than about a lease.
 */
function sessionSettings(
  options: Pick<DatabaseConnectionOptions, 'statementTimeoutMs' | 'leaseMs' | 'isBrief'>,
): readonly SessionSetting[] {
  const { statementTimeoutMs, leaseMs = postgresDefaults.leaseMs, isBrief } = options
  const brief: SessionSetting = ['transaction_timeout', String(Math.round(leaseMs))]
  return [
    ['statement_timeout', String(Math.round(statementTimeoutMs))],
    ['jit', 'off'],
    ['plan_cache_mode', 'force_generic_plan'],
    ['idle_in_transaction_session_timeout', String(Math.round(leaseMs))],
    ['tcp_keepalives_idle', '5'],
    ['tcp_keepalives_interval', '2'],
    ['tcp_keepalives_count', '2'],
    ['tcp_user_timeout', String(Math.round(2 * leaseMs))],
    ['client_connection_check_interval', '1000'],
    ...(isBrief ? [brief] : []),
  ]
}

/**
 * The statements that a person must run once where a connection does not keep its settings, as behind a pooler that shares
 * connections between clients; none where it does.
 */
export async function missingSettings(
  connection: DatabaseConnection,
  options: DatabaseConnectionOptions,
): Promise<readonly string[]> {
  const settings = sessionSettings(options)
  const text = `SELECT quote_ident(current_user) AS role,
    current_setting('plan_cache_mode') = 'force_generic_plan' AND current_setting('jit') = 'off' AS kept`
  const [row] = await connection.query({ text })
  if (row?.kept === true) return []
  return settings.map(([name, value]) => `ALTER ROLE ${row?.role} SET ${name} = '${value}';`)
}

/**
 * Checks that prepared statements stay with their connection. A pooler that shares backends between clients may run one
 * client's statement for another, unless it tracks them. So two clients prepare different statements under one name, and the
 * first runs its own again while the second keeps its backend by a transaction.
 *
 * @throws Error where a client got the other's statement.
 */
export async function checkPrepared(
  first: DatabaseConnection,
  options: DatabaseConnectionOptions,
): Promise<void> {
  const prepared = (n: number): SqlStatement => ({
    name: 'prepared',
    text: `SELECT ${n} AS n, pg_backend_pid() AS backend`,
  })
  const [own] = await first.query(prepared(1))
  const second = await connectDatabase(options)
  try {
    const [, [other] = []] = await second.queryAll([{ text: 'BEGIN' }, prepared(2)])
    // Where both used one backend and each got its own statement, the pooler tracks them; it may have no second backend.
    const [again] = own?.backend === other?.backend ? [own] : await first.query(prepared(1))
    if (again?.n !== 1 || other?.n !== 2) throw new Error(pooled)
  } finally {
    second.destroy()
  }
}

/**
 * Sets those of the settings that this PostgreSQL has. Not as startup parameters, which poolers reject. Returns the id of the
 * backend.
 */
async function applySettings(client: Client, settings: readonly SessionSetting[]): Promise<number> {
  const text = `SELECT set_config(s.name, w.value, false), pg_backend_pid() AS backend FROM unnest($1::text[], $2::text[]) AS w(name, value)
    JOIN pg_settings s ON s.name = w.name`
  const set = (some: readonly SessionSetting[]) =>
    client.query<{ backend: number }>(text, [
      some.map(([name]) => name),
      some.map(([, value]) => value),
    ])
  const answer = await set(settings).catch((error: unknown) => {
    // On some systems the database has this setting and cannot do it.
    if (sqlStateOf(error) !== '22023') throw error
    return set(settings.filter(([name]) => name !== 'client_connection_check_interval'))
  })
  return answer.rows[0]?.backend ?? 0
}

/** The driver is an optional peer dependency: other stores do not need it. */
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

/** All but the first and the last encrypt and check the certificate, whatever other programs mean by them. */
const modes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']

/**
 * Says to the driver what is meant. A mode in the URL would make it forget the files of `tls`, and it warns of every mode
 * but the strictest, since its next version checks less for them.
 *
 * @throws A2AError `unavailable` for a mode that there is not.
 */
function toDriverTarget({ url, tls }: DatabaseConnectionOptions): {
  readonly connectionString: string
  readonly ssl?: boolean | TlsOptions
} {
  const mode = /[?&]sslmode=([^&#]*)/.exec(url)?.[1]
  // The driver itself gives modes the meaning that they have in PostgreSQL's own programs, on request.
  if (mode === undefined || /[?&]uselibpqcompat=true/.test(url))
    return { connectionString: url, ...(tls !== undefined && { ssl: tls }) }
  if (!modes.includes(mode))
    throw new A2AError(
      'unavailable',
      `Cannot open the task store ${toShownStore(url)}: there is no sslmode "${mode}", only ${modes.join(', ')}`,
    )
  if (mode === 'disable') return { connectionString: url }
  const isChecked = mode !== 'no-verify'
  if (typeof tls !== 'object' || /[?&]ssl(?:cert|key|rootcert)=/.test(url))
    return { connectionString: isChecked ? withMode(url, 'verify-full') : url }
  // The driver ignores a parameter without a value.
  return {
    connectionString: withMode(url, ''),
    ssl: isChecked ? tls : { ...tls, rejectUnauthorized: false },
  }
}

function withMode(url: string, mode: string): string {
  return url.replace(/([?&]sslmode=)[^&#]*/, (_, name: string) => `${name}${mode}`)
}

/**
 * How often plans are made anew. A plan that was made while a table was small reads the whole table; PostgreSQL itself makes a
 * new one only after it has analysed the table, a minute later or never.
 */
const replanMs = 10_000

const closeMs = 1_000

interface ConnectionParts {
  readonly socket: Socket
  readonly clock: Clock
  readonly backend: number
}

function toConnection(
  client: Client,
  { socket, clock, backend }: ConnectionParts,
): DatabaseConnection {
  let plannedAt = clock.elapsed()

  async function send(statement: SqlStatement): Promise<readonly DatabaseRow[]> {
    return (await client.query<Record<string, unknown>>(statement)).rows
  }

  async function replan(): Promise<void> {
    plannedAt = clock.elapsed()
    await client.query('DISCARD PLANS')
  }

  return {
    backend,
    async query(statement) {
      // One without a name has no plan, and may stand in a transaction that takes nothing but its end.
      if (statement.name !== undefined && clock.elapsed() - plannedAt >= replanMs) await replan()
      return send(statement)
    },
    async queryAll(statements) {
      if (clock.elapsed() - plannedAt >= replanMs) await replan()
      const answers = await Promise.allSettled(statements.map(send))
      return answers.map((answer) => {
        if (answer.status === 'rejected') throw answer.reason
        return answer.value
      })
    },
    async close() {
      // A statement that hangs is not waited for.
      await within(clock, closeMs, [client.end().catch(() => {})])
      socket.destroy()
    },
    destroy: (reason) => void socket.destroy(reason),
  }
}

/** The SQLSTATE of an error that the database answered with; undefined where it gave no answer. */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  const { code } = error
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && 'severity' in error
    ? code
    : undefined
}

/** Whether the connection is of no more use, and with it what became of the statement unknown or nothing. */
export function isBroken(error: unknown): boolean {
  const state = sqlStateOf(error)
  if (state === undefined) return error instanceof Error && !(error instanceof A2AError)
  // The last two: a transaction that was open for too long, which ends its connection.
  return /^(?:08|57P0|25006|53300|25P03|25P04)/.test(state)
}

/** Whether the same statement may well succeed at once: it met another one. */
export function isCollision(error: unknown): boolean {
  return isLockTimeout(error) || /^(?:40001|40P01)/.test(sqlStateOf(error) ?? '')
}

/** Whether a statement has waited too long for a lock of another client; nothing of it is stored. */
export function isLockTimeout(error: unknown): boolean {
  return sqlStateOf(error) === '55P03'
}

/** Whether it was what was to be written that the database does not take: a character, or its length. */
export function isUnstorable(error: unknown): boolean {
  return /^(?:22|54)/.test(sqlStateOf(error) ?? '')
}

/** Statements that were prepared are gone, or another client's are there. */
const pooled =
  'a pooler before the database mixes up prepared statements (pgbouncer: pool_mode = session, or version 1.21 or newer with max_prepared_statements)'

const readOnly =
  'the database is read-only: let the URL lead to the primary, and default_transaction_read_only be off'

/** SQLSTATEs, or the beginnings of them, that a person can do something about (postgresql.org, Appendix A). */
const reasons: readonly (readonly [start: string, reason: string])[] = [
  ['08', 'the database cannot be reached'],
  ['25006', readOnly],
  ['25P0', 'the database ended a transaction that took too long'],
  ['26000', pooled],
  ['28', 'the database refuses the user or the password'],
  ['3D000', 'there is no such database'],
  ['42P05', pooled],
  ['42501', 'the user may not do this in the database'],
  ['53100', 'the disk of the database is full'],
  ['53200', 'the database has no memory left'],
  [
    '53300',
    'the database takes no more connections: raise its max_connections, or have fewer replicas or readers',
  ],
  ['55P03', 'another client has locked what is to be written'],
  ['57014', 'the database took too long'],
  ['57P0', 'the database is shutting down or starting up'],
  ['58', 'the disk of the database reported an error'],
]

/** Why, for a person; without names, addresses or data of a user. */
export function databaseReason(error: unknown): string {
  const state = sqlStateOf(error)
  if (state === undefined) return 'the database cannot be reached'
  return reasons.find(([start]) => state.startsWith(start))?.[1] ?? `the database says ${state}`
}

/** A failed read or write as callers see it. A peer learns that the store fails, not how. */
export function toDatabaseError(doing: 'read' | 'write', error: unknown): A2AError {
  if (error instanceof A2AError) return error
  const state = sqlStateOf(error)
  const known = state === undefined || reasons.some(([start]) => state.startsWith(start))
  return new A2AError(
    known || isCollision(error) ? 'unavailable' : 'internal',
    `The task store cannot ${doing}${known ? `: ${databaseReason(error)}` : ''}`,
    { cause: error, why: 'storeDown' },
  )
}

/** A store that could not be opened; for the person who starts the server. The password is left out. */
export function toConnectError(url: string, error: unknown): A2AError {
  if (error instanceof A2AError) return error
  const state = sqlStateOf(error)
  const said = error instanceof Error ? error.message : String(error)
  const reason =
    state === undefined ? (tlsReason(error) ?? said) : `${databaseReason(error)} (${said})`
  return new A2AError('unavailable', `Cannot open the task store ${toShownStore(url)}: ${reason}`, {
    cause: error,
  })
}

/** What is wrong with the encryption of a connection, and what to do; undefined where it is something else. */
function tlsReason(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { message } = error
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `its certificate is for another name (${message}): write the name that it is for into the URL`
  if (/^(?:DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|CERT_)/.test(code))
    return `its certificate is not trusted (${message}): name the authority that signed it, as ca in [server.postgres.tls] or as sslmode=verify-full&sslrootcert=FILE in the URL`
  return message === 'The server does not support SSL connections'
    ? `it does not speak TLS (${message}): let the database do so, or write sslmode=disable into the URL`
    : undefined
}

/**
 * What the replicas of one database call things. All tables stand in one schema; so do, by their names, the channels on
 * which replicas are notified and the locks that say which of them live, so that several stores fit into one database.
 *
 * A notice is JSON: `{"grown":[[id,version],…]}`, `{"mail":[id,agent]}` or `{"deliveries":id}` on a replica's own channel,
 * `{"orphans":true}` on the channel of all.
 */
export interface Names {
  /** The schema, as SQL writes it before a table. */
  readonly schema: string
  /** The channel of all replicas; that of one has an underscore and its number behind it. */
  readonly channel: string
  /** The first number of the session locks; the second is the number of a replica. */
  readonly lockClass: number
}

/** The most that a notice may take; PostgreSQL ends at 8,000 bytes. */
export const maxNoticeBytes = 7_900

const pattern = /^[a-z_][a-z0-9_]{0,39}$/

/**
 * The names within a schema.
 * @throws Error for a name that would have to be quoted, or is too long for a channel.
 */
export function namesIn(schema: string): Names {
  if (!pattern.test(schema))
    throw new Error(
      `the schema ${JSON.stringify(schema)} is not a name of at most 40 small letters, digits and underscores`,
    )
  return { schema, channel: schema, lockClass: lockClassOf(schema) }
}

/** The numbers of the replicas that live, by the database's clock: their lease holds, and their session holds its lock. */
export function liveReplicas({ schema, lockClass }: Names): string {
  return `SELECT r.number FROM ${schema}.replica r WHERE r.alive_until > clock_timestamp() AND EXISTS (
    SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.classid = ${lockClass} AND l.objid = r.number::oid
    AND l.objsubid = 2 AND l.granted
    AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))`
}

/**
 * Parts of a statement that begins WITH RECURSIVE: `live`, the replicas that live, and `dead`, the others that a table names. A
 * released row names 0, which never lives.
 */
export function liveAndDead(names: Names, table: 'task' | 'push'): string {
  return `live AS MATERIALIZED (${liveReplicas(names)}), ${numbersIn('named', `${names.schema}.${table}`)},
    dead AS MATERIALIZED (SELECT number FROM named WHERE number IS NOT NULL AND number NOT IN (SELECT number FROM live))`
}

/** The different numbers in the indexed column `replica`, each found from the one before it: quick, however many rows there are. */
export function numbersIn(name: string, table: string): string {
  return `${name} (number) AS (
    (SELECT replica FROM ${table} WHERE replica IS NOT NULL ORDER BY replica LIMIT 1)
    UNION ALL
    SELECT (SELECT t.replica FROM ${table} t WHERE t.replica > ${name}.number ORDER BY t.replica LIMIT 1)
    FROM ${name} WHERE ${name}.number IS NOT NULL)`
}

/**
 * How long a statement waits for a row that another client has locked, in milliseconds. Our own statements hold a row only
 * while a commit runs, so a longer wait means another program or a slow disk. The write is then retried later, and writes to
 * other rows do not wait for it.
 */
const lockTimeoutMs = 250

/**
 * An SQL condition that is always true and limits how long its statement waits for locks. It does what
 * `SET LOCAL lock_timeout` does, within the statement and before the first row is locked. The setting ends with the
 * transaction, so it never applies to a migration or, behind a pooler, to another client. For a single commit without fsync it
 * costs 5 to 12 % of the backend's processor time, about half of what a transaction around the statement costs; that also
 * takes three more messages. Statements that only insert new tasks meet no locked row and do without it.
 */
export const boundedWait: string = `(SELECT set_config('lock_timeout', '${lockTimeoutMs}', true)) IS NOT NULL`

/** Begins a transaction of several statements with the same bound. */
export const beginBounded: SqlStatement = {
  text: `BEGIN; SET LOCAL lock_timeout = ${lockTimeoutMs}`,
}

/** Locks are the whole database's, so each schema has a class of its own. */
function lockClassOf(schema: string): number {
  if (schema === 'corral') return 4207
  let hash = 0x811c9dc5
  for (const character of schema)
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return (hash >>> 1) | 1
}

/** Tells whether a place of tasks is a PostgreSQL database rather than a file. */
export function isPostgresUrl(place: string): boolean {
  return /^postgres(?:ql)?:/i.test(place)
}

/** Gives a place of tasks as people may see it: of a URL its host, port and database, without who logs in. */
export function toShownStore(place: string): string {
  if (!isPostgresUrl(place)) return place
  const url = readUrl(place)
  return url ? `${url.protocol}//${url.host}${url.pathname}` : 'postgres://…'
}

/** The defaults of a store in PostgreSQL; times in milliseconds. */
export const postgresDefaults = {
  schema: 'corral',
  readers: 4,
  statementTimeoutMs: 30_000,
  commitTimeoutMs: 30_000,
  foreignBuildAfterMs: 10_000,
  leaseMs: 5_000,
  beatMs: 1_000,
  lookMs: 250,
} as const
