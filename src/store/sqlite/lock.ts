import { type Connection, type DriverName, openConnection } from './driver.ts'
import { toFault } from './faults.ts'

/** Held by the one process that writes a file. */
export interface FileLock {
  release(): void
}

/**
 * Makes this process the only writer of a file, or says which one is.
 *
 * The lock is a small database beside the file with an open write transaction in it. The operating system ends the
 * transaction with its process, however that dies, so a lock cannot be left behind; and since readers may still look
 * inside, the next process learns the id of the one that holds it.
 *
 * @throws Error if another process, or another store of this one, has the file.
 */
export async function lockFile(path: string, driver?: DriverName): Promise<FileLock> {
  const db = await openConnection(`${path}.lock`, driver)
  try {
    db.exec('PRAGMA synchronous = OFF')
    take(db)
  } catch (error) {
    const holder = toFault(error).code === 5 ? holderOf(db) : undefined
    db.close()
    if (holder === undefined) throw error
    throw new Error(`process ${holder} is using it; a file has one writer at a time`)
  }
  return { release: () => db.close() }
}

function take(db: Connection): void {
  db.exec('BEGIN IMMEDIATE')
  db.exec('CREATE TABLE IF NOT EXISTS holder (pid INTEGER NOT NULL)')
  db.exec('DELETE FROM holder')
  db.exec(`INSERT INTO holder VALUES (${process.pid})`)
  db.exec('COMMIT')
  // Whoever comes in between has the lock; this then fails like any other late comer.
  db.exec('BEGIN IMMEDIATE')
}

function holderOf(db: Connection): string {
  try {
    return String(db.prepare('SELECT pid FROM holder').get()?.pid ?? 'unknown')
  } catch {
    return 'unknown' // It is just writing its id.
  }
}
