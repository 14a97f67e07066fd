/** What is bound to a statement. */
export type SqlValue = string | number | null

/** A row as a driver gives it; `.get()` of libsql adds a `_metadata` key that nobody reads. */
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
