import { chmodSync } from 'node:fs'
import { type Connection, type DriverName, openConnection } from './driver.ts'
import { checkAll, isSameFile, type Look, lookAt } from './look.ts'
import { migrations } from './migrations.ts'
import { createIdentity, type FileLock, lockFile } from './ownership.ts'
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
interface WritableFile {
  readonly db: Connection
  /** Whether all of the file was read and found to be sound. */
  readonly checked: boolean
  /** Throws if the file is no longer what stands at its path. */
  mustBeThere(): void
  /** Runs work whose commits may be lost in a power cut: it is done again where it is. */
  withoutSync<T>(work: () => T): T
  /** Moves the log into the file, closes it and gives up the lock. */
  close(): void
}

/** Files up to this size are read as a whole before they are used; for larger ones nobody wants to wait. */
const checkedAtOnce = 8 * 1024 * 1024

/**
 * Looks at a file, locks it, and migrates it; makes it where there is none. Whether all of it is sound is seen here if it
 * is small or has to be migrated.
 *
 * @throws Error with the reason: in use, damaged, another program's, newer, read-only, not there.
 */
export async function openWritable(options: OpenOptions): Promise<WritableFile> {
  const { driver, synchronous } = options
  const look = lookAt(options.path)
  const locks = [await lockFile(look.path, driver)]
  let db: Connection | undefined
  try {
    db = await openConnection(look.path, driver)
    // Webhooks carry credentials, so the file is its owner's alone.
    if (look.isNew) chmodSync(look.path, 0o600)
    db.exec('PRAGMA busy_timeout = 5000')
    if (look.isLinked) await lockHome(db, { look, driver, locks })
    if (isSmall(look)) checkAll(db)
    prepare(db, options)
    settle(db, look.path)
  } catch (error) {
    db?.close()
    for (const lock of locks) lock.release()
    throw error
  }
  const file = db
  return {
    db: file,
    checked: isSmall(look),
    mustBeThere: createIdentity(look.path),
    withoutSync(work) {
      if (synchronous === 'FULL') file.exec('PRAGMA synchronous = NORMAL')
      try {
        return work()
      } finally {
        file.exec(`PRAGMA synchronous = ${synchronous}`)
      }
    },
    close: () => close(file, locks),
  }
}

function isSmall({ size }: Look): boolean {
  return size <= checkedAtOnce
}

/**
 * A file with several names (hard links) has one lock: beside the name under which it was last opened, which stands in
 * the file, as long as that name still leads to it.
 */
async function lockHome(
  db: Connection,
  { look, driver, locks }: { look: Look; driver: DriverName | undefined; locks: FileLock[] },
): Promise<void> {
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'home'").get() === undefined) return
  const home = db.prepare('SELECT path FROM home').get()?.path
  if (typeof home !== 'string' || home === look.path || !isSameFile(home, look.path)) return
  locks.push(await lockFile(home, driver))
}

function prepare(db: Connection, { synchronous, maxPages }: OpenOptions): void {
  // Before the first table is made: it decides the layout of the file.
  db.exec('PRAGMA auto_vacuum = INCREMENTAL')
  db.prepare('PRAGMA journal_mode = WAL').get()
  db.exec(`PRAGMA synchronous = ${synchronous}`)
  // Fewer, larger checkpoints: pages of the indexes that change with every task are copied once for many.
  db.prepare('PRAGMA wal_autocheckpoint = 4000').get()
  db.prepare('PRAGMA journal_size_limit = 67108864').get()
  db.exec('PRAGMA cache_size = -16000')
  if (maxPages !== undefined) db.prepare(`PRAGMA max_page_count = ${maxPages}`).get()
  migrate(db, migrations, () => checkAll(db))
}

/** Writes down the file's name, in the file itself and not only in the log: who comes by another name sees no log. */
function settle(db: Connection, path: string): void {
  if (db.prepare('SELECT path FROM home').get()?.path === path) return
  db.prepare('INSERT OR REPLACE INTO home VALUES (1, ?)').run(path)
  db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all()
}

function close(db: Connection, locks: readonly FileLock[]): void {
  try {
    db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all()
  } catch {
    // A full disk; what is in the log is taken up at the next start.
  }
  db.close()
  for (const lock of locks) lock.release()
}
