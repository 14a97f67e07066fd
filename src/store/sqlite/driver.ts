import { A2AError } from '../../protocol/errors.ts'

/** What is bound to a statement. */
export type SqlValue = string | number | null

/** A query: its text and what to bind. */
export interface Query {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/** A row as a driver gives it; `.get()` of libsql adds a `_metadata` key that is not used. */
export type Row = Readonly<Record<string, unknown>>

/** A prepared statement: the part of the drivers that we use, which both spell alike. */
export interface Statement {
  run(...values: SqlValue[]): { readonly changes: number | bigint }
  get(...values: SqlValue[]): Row | undefined
  all(...values: SqlValue[]): Row[]
}

/** A connection to one SQLite file; synchronous. */
export interface Connection {
  exec(sql: string): void
  prepare(sql: string): Statement
  close(): void
}

/** A SQLite: `node` is `node:sqlite`, built into Node 22.13 and newer; `libsql` is a package with the engine in it. */
export type DriverName = 'node' | 'libsql'

/** A file, and what opens it. */
export interface FileRequest {
  readonly path: string
  readonly driver: DriverName | undefined
}

type Constructor = new (path: string) => Connection

/** Opens a connection, with `node:sqlite` where the runtime has it. */
export async function openConnection(path: string, driver?: DriverName): Promise<Connection> {
  const name = driver ?? (nodeSqlite() ? 'node' : 'libsql')
  const Database = await constructorOf(name)
  const db = new Database(path)
  return name === 'node' ? db : createReleasing(db)
}

/** Opens a connection that only reads, and waits so long for a lock. */
export async function openReading(
  path: string,
  driver: DriverName | undefined,
  busyMs: number,
): Promise<Connection> {
  const db = await openConnection(path, driver)
  db.exec('PRAGMA query_only = ON')
  db.prepare(`PRAGMA busy_timeout = ${busyMs}`).get()
  return db
}

/** Prepares each text once; for the few texts that are put together. */
export function createPrepared(db: Connection): (sql: string) => Statement {
  const statements = new Map<string, Statement>()
  return (sql) => {
    const statement = statements.get(sql) ?? db.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
}

/**
 * libsql keeps a closed file open as long as one of its statements is reachable, and has no way to end one. So its
 * statements let go of what they hold when the connection closes; the file is closed when that is collected.
 */
function createReleasing(db: Connection): Connection {
  const statements = new Set<WeakRef<Statement>>()
  return {
    exec: (sql) => db.exec(sql),
    prepare(sql) {
      const statement = db.prepare(sql)
      statements.add(new WeakRef(statement))
      if (statements.size % 100 === 0)
        for (const one of statements) if (!one.deref()) statements.delete(one)
      return statement
    },
    close() {
      for (const one of statements) {
        const statement = one.deref()
        if (statement) Reflect.set(statement, 'stmt', undefined)
      }
      db.close()
    },
  }
}

async function constructorOf(driver: DriverName): Promise<Constructor> {
  if (driver === 'node') {
    const builtin = nodeSqlite()
    if (!builtin) throw new Error('This version of Node.js has no node:sqlite')
    return builtin.DatabaseSync
  }
  const { default: Database }: { readonly default: unknown } = await import('libsql')
  return Database as Constructor // its members that we use are as in Connection, whatever its types say
}

function nodeSqlite(): { readonly DatabaseSync: Constructor } | undefined {
  // Our Node types are those of the oldest version we run on, which has no such module.
  return process.getBuiltinModule('node:sqlite') as { DatabaseSync: Constructor } | undefined
}

/** Runs work in a transaction that takes the write lock at once. */
export function createTransaction(db: Connection): <T>(work: () => T) => T {
  const [begin, commit] = [db.prepare('BEGIN IMMEDIATE'), db.prepare('COMMIT')]
  return (work) => {
    begin.run()
    try {
      const result = work()
      commit.run()
      return result
    } catch (error) {
      rollback(db)
      throw error
    }
  }
}

/** SQLite rolls back by itself after some errors (a full disk); a second time is then itself an error. */
function rollback(db: Connection): void {
  try {
    db.exec('ROLLBACK')
  } catch {
    // The transaction is gone, which is what was wanted; the first error is the one to report.
  }
}

/** Whether a statement changed a row. */
export function changed({ changes }: { readonly changes: number | bigint }): boolean {
  return Number(changes) > 0
}

/** An error of SQLite as it crosses from the writing thread. */
export interface SqliteFault {
  /** SQLite's primary result code; 0 where the error is not SQLite's. */
  readonly code: number
  readonly message: string
}

/** SQLite's primary result code of a file that cannot be written. */
export const readOnly = 8

/** SQLite's primary result code of a disk that fails. */
export const ioError = 10

/** SQLite's primary result codes that a person can do something about (sqlite.org/rescode.html). */
const reasons: Readonly<Record<number, string>> = {
  5: 'the file is locked by another program',
  [readOnly]:
    'the file is read-only: make it, and the file system that it is on, writable for this process',
  [ioError]: 'the disk reported an error',
  11: 'the file is damaged',
  13: 'the disk is full',
  14: 'the file cannot be opened',
  26: 'the file is not a database',
}

/** The code of our own faults, which callers may see; codes of SQLite are lower. */
const ours = 255

/** A fault of the file that SQLite does not notice. */
export function fileFault(message: string): Error {
  return Object.assign(new Error(message), { errcode: ours })
}

/** Whether a fault of SQLite says that the file is damaged, which does not pass. */
export function isDamage({ code }: SqliteFault): boolean {
  return code === 11 || code === 26
}

/** Whether a check found something, and did not merely fail to run. */
export function isFinding(fault: SqliteFault): boolean {
  return fault.code === ours || isDamage(fault)
}

/** What a thrown value says. Extended codes keep the primary one in the low byte. */
export function toFault(thrown: unknown): SqliteFault {
  if (!(thrown instanceof Error)) return { code: 0, message: String(thrown) }
  return { code: codeOf(thrown) & 0xff, message: thrown.message }
}

/** node:sqlite has the code in `errcode`, libsql in `rawCode`; a failed open of libsql has it in its words alone. */
function codeOf(error: Error): number {
  const { errcode, rawCode } = error as { errcode?: unknown; rawCode?: unknown } // absent on other errors
  const [, inWords] = /^ConnectionFailed\(.*: (\d+)"\)$/.exec(error.message) ?? []
  const code = errcode ?? rawCode ?? Number(inWords ?? 0)
  return typeof code === 'number' ? code : 0
}

/** Why, for a person; never with a path in it unless the fault is ours and says so. */
export function reasonOf(fault: SqliteFault): string {
  return reasons[fault.code] ?? fault.message
}

/** A failed read, write or backup as callers see it. A peer learns that the store fails, not how. */
export function toStoreError(
  doing: 'read' | 'write' | 'be backed up',
  fault: SqliteFault,
): A2AError {
  const known = fault.code === ours ? fault.message : reasons[fault.code]
  return new A2AError(
    known ? 'unavailable' : 'internal',
    `The task store cannot ${doing}${known ? `: ${known}` : ''}`,
    { cause: new Error(fault.message), why: 'storeDown' },
  )
}

/** A store that could not be opened; for the person who starts the server. */
export function toOpenError(path: string, fault: SqliteFault): A2AError {
  return new A2AError('unavailable', `Cannot open the task store ${path}: ${reasonOf(fault)}`, {
    cause: new Error(fault.message),
  })
}
