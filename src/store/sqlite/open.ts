import { chmodSync, existsSync } from 'node:fs'
import { type Connection, type DriverName, openConnection } from './driver.ts'
import { lockFile } from './lock.ts'
import { migrate } from './schema.ts'

/** How a store's file is opened. */
export interface OpenOptions {
  readonly path: string
  readonly driver: DriverName | undefined
  /** When a commit counts as durable: `FULL` after a sync to disk, `NORMAL` when the system has it. */
  readonly synchronous: 'FULL' | 'NORMAL'
  /** A bound on the file's size, in pages of 4096 bytes; a file at its bound answers like a full disk. */
  readonly maxPages: number | undefined
}

/** A file that this process alone writes. */
export interface WritableFile {
  readonly db: Connection
  /** Moves the log into the file, closes it and gives up the lock. */
  close(): void
}

/**
 * Locks, checks and migrates a file, and makes it where there is none.
 *
 * @throws Error with the reason: in use, damaged, another program's, newer, read-only, not there.
 */
export async function openWritable(options: OpenOptions): Promise<WritableFile> {
  const { path, driver } = options
  const lock = await lockFile(path, driver)
  let db: Connection | undefined
  try {
    const isNew = !existsSync(path)
    db = await openConnection(path, driver)
    // Webhooks carry credentials, so the file is its owner's alone.
    if (isNew) chmodSync(path, 0o600)
    prepare(db, options)
  } catch (error) {
    db?.close()
    lock.release()
    throw error
  }
  return { db, close: () => close(db, lock) }
}

function prepare(db: Connection, { synchronous, maxPages }: OpenOptions): void {
  db.exec('PRAGMA busy_timeout = 5000')
  // Before anything is written: a damaged file is left as it is.
  check(db)
  // Before the first table is made: it decides the layout of the file.
  db.exec('PRAGMA auto_vacuum = INCREMENTAL')
  db.prepare('PRAGMA journal_mode = WAL').get()
  db.exec(`PRAGMA synchronous = ${synchronous}`)
  // Fewer, larger checkpoints: pages of the indexes that change with every task are copied once for many.
  db.prepare('PRAGMA wal_autocheckpoint = 4000').get()
  db.prepare('PRAGMA journal_size_limit = 67108864').get()
  db.exec('PRAGMA cache_size = -16000')
  if (maxPages !== undefined) db.prepare(`PRAGMA max_page_count = ${maxPages}`).get()
  migrate(db)
}

function check(db: Connection): void {
  const found = String(db.prepare('PRAGMA quick_check(1)').get()?.quick_check)
  if (found !== 'ok') throw new Error(`the file is damaged (${found}); restore a backup`)
}

function close(db: Connection, lock: { release(): void }): void {
  try {
    db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all()
  } catch {
    // A full disk; what is in the log is taken up at the next start.
  }
  db.close()
  lock.release()
}
