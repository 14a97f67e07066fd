import { type Stats, statSync } from 'node:fs'
import { type Connection, type DriverName, openConnection } from './driver.ts'
import { fileFault, toFault } from './faults.ts'

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

/**
 * Watches over what stands at an open file's path. SQLite goes on writing to a file that was deleted or replaced, where
 * nobody finds it again: so each commit is followed by a look before it is answered.
 *
 * @returns a function that throws if the file, or the log beside it, is no longer the one that was opened.
 */
export function createIdentity(path: string): () => void {
  const parts = [path, `${path}-wal`].map((part) => ({ part, opened: find(part) }))
  return () => {
    for (const { part, opened } of parts) {
      if (opened === undefined) continue
      const found = find(part)
      if (found === undefined) throw fileFault('the file was deleted or moved away')
      if (found.ino !== opened.ino || found.dev !== opened.dev)
        throw fileFault('another file was put in its place')
      if (part === path && found.size === 0) throw fileFault('the file was emptied')
    }
  }
}

function find(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}
