import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { soon } from '../../shared/async.ts'
import {
  type Connection,
  type DriverName,
  type FileRequest,
  fileFault,
  ioError,
  openConnection,
  readOnly,
  toFault,
} from './driver.ts'
import {
  applicationId,
  foreign,
  type Migration,
  migrate,
  migrations,
  mustKnow,
  pragma,
} from './schema.ts'

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
  /** An error of a write, which says only that the disk failed where the file system has turned read-only. */
  explain(error: unknown): unknown
  /** Runs work that may be lost in a power cut, because it is then done again. */
  withoutSync<T>(work: () => T): T
  /** Moves the log into the file, closes it and gives up the lock. */
  close(): void
}

/** Files up to this size are read as a whole before they are used; larger ones would take too long. */
const checkedAtOnce = 8 * 1024 * 1024

/** A step of migrating a large file begins. */
export interface MigrationProgress extends Migration {
  /** The size of the file. */
  readonly bytes: number
}

/**
 * Looks at a file, locks it, and migrates it; creates a missing one. Whether all of it is sound is seen here if it
 * is small or has to be migrated. Before each step of migrating a large file `progress` is called.
 *
 * @throws Error with the reason: in use, damaged, another program's, newer, read-only, not there.
 */
export async function openWritable(
  options: OpenOptions,
  progress?: (step: MigrationProgress) => void,
): Promise<WritableFile> {
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
    migrateFile(db, look, progress)
    settle(db, look.path)
  } catch (error) {
    db?.close()
    for (const lock of locks) lock.close()
    throw error
  }
  const file = db
  return {
    db: file,
    checked: isSmall(look),
    mustBeThere: createIdentity(look.path),
    explain: (error) =>
      toFault(error).code === ioError && !isWritable(look.path)
        ? Object.assign(new Error(toFault(error).message), { errcode: readOnly })
        : error,
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

/** What stands at a path, as far as the file's first page tells. */
interface Look {
  /** The path without symbolic links in it: every name that leads to a file leads to this one. */
  readonly path: string
  readonly isNew: boolean
  readonly size: number
  /** Whether the file has further names. */
  readonly isLinked: boolean
}

/**
 * Looks at a file without opening it as a database, which could already change it: another program's would get a log
 * beside it, or have its log moved into it.
 *
 * @throws Error with the reason, if this cannot be a store of ours.
 */
export function lookAt(path: string): Look {
  try {
    return look(path)
  } catch (error) {
    // Without its path and number, which say nothing to a person who gave the path.
    if (error instanceof Error && 'syscall' in error)
      throw new Error('the file cannot be opened', { cause: error })
    throw error
  }
}

function look(path: string): Look {
  const real = realPathOf(path)
  const stats = statSync(real, { throwIfNoEntry: false })
  if (stats === undefined || (stats.isFile() && stats.size === 0))
    return { path: real, isNew: true, size: 0, isLinked: (stats?.nlink ?? 1) > 1 }
  if (!stats.isFile()) throw new Error('the file cannot be opened')
  checkFirstPage(real, stats.size)
  return { path: real, isNew: false, size: stats.size, isLinked: stats.nlink > 1 }
}

/** Where a path leads, also if nothing is there yet. */
function realPathOf(path: string): string {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found?.isSymbolicLink() && !statSync(path, { throwIfNoEntry: false }))
    return realPathOf(resolve(dirname(path), readlinkSync(path)))
  if (found) return realpathSync(path)
  const folder = dirname(resolve(path))
  const exists = statSync(folder, { throwIfNoEntry: false }) !== undefined
  return join(exists ? realpathSync(folder) : folder, basename(path))
}

/** The header of a database file, as far as it is looked at (sqlite.org/fileformat2.html §1.3). */
const magic = 'SQLite format 3\0'

const headerBytes = 108

const at = { userVersion: 60, applicationId: 68, cells: 103, tree: 100 }

const emptyLeaf = 13

function checkFirstPage(path: string, size: number): void {
  const header = readHeader(path)
  if (size < headerBytes || header.toString('latin1', 0, magic.length) !== magic)
    throw new Error('the file is not a database')
  mustBeWhole(path, header, size)
  if (header.readUInt32BE(at.applicationId) === applicationId)
    mustKnow(header.readUInt32BE(at.userVersion))
  else if (hasTables(header)) throw new Error(foreign)
}

function readHeader(path: string): Buffer {
  const header = Buffer.alloc(headerBytes)
  const file = openSync(path, 'r')
  try {
    readSync(file, header, 0, headerBytes, 0)
    return header
  } finally {
    closeSync(file)
  }
}

/** Pages that the header counts must be there, unless a log beside the file may still bring them. */
function mustBeWhole(path: string, header: Buffer, size: number): void {
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16)
  const isCurrent = header.readUInt32BE(24) === header.readUInt32BE(92)
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })
  if (isCurrent && !log?.size && header.readUInt32BE(28) * pageSize > size)
    throw new Error('the file is damaged (it is cut off); restore a backup')
}

function hasTables(header: Buffer): boolean {
  return header.readUInt8(at.tree) !== emptyLeaf || header.readUInt16BE(at.cells) > 0
}

/**
 * Makes this process the only writer of a file, or says which one is.
 *
 * The lock is a small database beside the file with an open write transaction in it. The operating system ends the
 * transaction with its process, however that dies, so a lock cannot be left behind; and since readers may still look
 * inside, the next process learns the id of the one that holds it.
 *
 * @returns the lock's connection; to close it is to release the lock.
 * @throws Error if another process, or another store of this one, has the file.
 */
export async function lockFile(path: string, driver?: DriverName): Promise<Connection> {
  const db = await openConnection(`${path}.lock`, driver).catch((error: unknown) => {
    mustTakeFiles(dirname(path))
    throw error
  })
  try {
    db.exec('PRAGMA synchronous = OFF')
    take(db)
  } catch (error) {
    const holder = toFault(error).code === 5 ? holderOf(db) : undefined
    db.close()
    if (holder === undefined) throw error
    throw new Error(`process ${holder} is using it; a file has one writer at a time`)
  }
  return db
}

/** For a folder that is not writable SQLite only says that it cannot open the file. @throws Error that says what to do. */
function mustTakeFiles(folder: string): void {
  try {
    accessSync(folder, constants.W_OK)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EROFS')
      throw fileFault(
        'its folder is mounted read-only: make the mount writable, or name another folder',
      )
    if (code === 'EACCES')
      throw fileFault(
        'its folder is not writable for this user: change its owner, or name another folder',
      )
  }
}

function take(db: Connection): void {
  db.exec('BEGIN IMMEDIATE')
  db.exec('CREATE TABLE IF NOT EXISTS holder (pid INTEGER NOT NULL)')
  db.exec('DELETE FROM holder')
  db.exec(`INSERT INTO holder VALUES (${process.pid})`)
  db.exec('COMMIT')
  // A process that comes in between has the lock; this then fails like any other late comer.
  db.exec('BEGIN IMMEDIATE')
}

function holderOf(db: Connection): string {
  try {
    return String(db.prepare('SELECT pid FROM holder').get()?.pid ?? 'unknown')
  } catch {
    return 'unknown' // It is just writing its id.
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
  { look, driver, locks }: { look: Look; driver: DriverName | undefined; locks: Connection[] },
): Promise<void> {
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'home'").get() === undefined) return
  const home = db.prepare('SELECT path FROM home').get()?.path
  if (typeof home !== 'string' || home === look.path || !isSameFile(home, look.path)) return
  locks.push(await lockFile(home, driver))
}

/** Whether two paths lead to one file. */
function isSameFile(a: string, b: string): boolean {
  const [one, other] = [a, b].map((path) => statSync(path, { throwIfNoEntry: false }))
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev
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
}

/** A file that has to be migrated is checked first. */
function migrateFile(
  db: Connection,
  { size, isNew }: Look,
  progress?: (step: MigrationProgress) => void,
): void {
  if (!isNew && pragma(db, 'user_version') < migrations.length) checkAll(db)
  const isLarge = size > checkedAtOnce
  migrate(db, migrations, (step) => isLarge && progress?.({ ...step, bytes: size }))
}

/** Writes down the file's name, in the file itself and not only in the log: a process that opens another name sees no log. */
function settle(db: Connection, path: string): void {
  if (db.prepare('SELECT path FROM home').get()?.path === path) return
  db.prepare('INSERT OR REPLACE INTO home VALUES (1, ?)').run(path)
  db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all()
}

function close(db: Connection, locks: readonly Connection[]): void {
  try {
    db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all()
  } catch {
    // A full disk; what is in the log is recovered at the next start.
  }
  db.close()
  for (const lock of locks) lock.close()
}

/**
 * Checks every table and its indexes.
 * @throws Error that says what is damaged.
 */
function checkAll(db: Connection): void {
  for (const name of tablesOf(db)) checkTable(db, name)
}

function tablesOf(db: Connection): readonly string[] {
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
  return tables.map(({ name }) => String(name))
}

function checkTable(db: Connection, name: string): void {
  const [row] = db.prepare(`PRAGMA quick_check("${name}")`).all()
  const found = String(row?.quick_check)
  if (found !== 'ok') throw fileFault(`the file is damaged (${found}); restore a backup`)
}

/**
 * Reads a whole file and looks whether it is sound, table by table, while others write it.
 * @param isStopped Asked before each table whether to leave the rest.
 * @throws Error that says what is damaged.
 */
export async function checkFile(
  { path, driver }: FileRequest,
  isStopped: () => boolean,
): Promise<void> {
  const db = await openConnection(path, driver)
  try {
    db.exec('PRAGMA query_only = ON')
    for (const name of tablesOf(db)) {
      await new Promise<void>(soon) // so that a message to stop can arrive
      if (isStopped()) return
      checkTable(db, name)
    }
  } finally {
    db.close()
  }
}

/**
 * Watches over what stands at an open file's path. SQLite goes on writing to a file that was deleted or replaced, which
 * no path leads to: so each commit is followed by a look before it is answered.
 *
 * @returns a function that throws if the file, or the log beside it, is no longer the one that was opened.
 */
function createIdentity(path: string): () => void {
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

function isWritable(path: string): boolean {
  try {
    for (const part of [path, `${path}-wal`]) accessSync(part, constants.W_OK)
    return true
  } catch (error) {
    // A file that is gone is another matter.
    return error instanceof Error && 'code' in error && error.code === 'ENOENT'
  }
}

function find(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}
