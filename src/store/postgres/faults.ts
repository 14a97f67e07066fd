import { A2AError } from '../../protocol/errors.ts'
import { toShownStore } from './url.ts'

/** Statements that were prepared are gone, or another client's are there. */
const pooled =
  'a pooler before the database mixes up its connections (pgbouncer: pool_mode = session, or 1.21 with max_prepared_statements)'

/** SQLSTATEs, or the beginnings of them, that a person can do something about (postgresql.org, Appendix A). */
const reasons: readonly (readonly [start: string, reason: string])[] = [
  ['08', 'the database cannot be reached'],
  ['25006', 'the database is read-only'],
  ['26000', pooled],
  ['28', 'the database refuses the user or the password'],
  ['3D000', 'there is no such database'],
  ['42P05', pooled],
  ['42501', 'the user may not do this in the database'],
  ['53100', 'the disk of the database is full'],
  ['53200', 'the database has no memory left'],
  ['53300', 'the database takes no more connections'],
  ['57014', 'the database took too long'],
  ['57P0', 'the database is shutting down or starting up'],
  ['58', 'the disk of the database reported an error'],
]

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
  return /^(?:08|57P0|25006|53300)/.test(state)
}

/** Whether the same statement may well succeed at once: it met another one. */
export function isCollision(error: unknown): boolean {
  return /^(?:40001|40P01|55P03)/.test(sqlStateOf(error) ?? '')
}

/** Whether it was what was to be written that the database does not take: a character, or its length. */
export function isUnstorable(error: unknown): boolean {
  return /^(?:22|54)/.test(sqlStateOf(error) ?? '')
}

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
    { cause: error },
  )
}

/** A store that could not be opened; for the person who starts the server. The password is not told. */
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
