import {
  closeSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { type Connection, type FileRequest, openConnection } from './driver.ts'
import { fileFault } from './faults.ts'
import { applicationId, foreign, mustKnow } from './schema.ts'

/** What stands at a path, as far as the file's first page tells. */
export interface Look {
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

/** Whether two paths lead to one file. */
export function isSameFile(a: string, b: string): boolean {
  const [one, other] = [a, b].map((path) => statSync(path, { throwIfNoEntry: false }))
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev
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

/**
 * Reads a whole file and looks whether it is sound, table by table, while others write it.
 * @throws Error that says what is damaged.
 */
export async function checkFile({ path, driver }: FileRequest): Promise<void> {
  const db = await openConnection(path, driver)
  try {
    db.exec('PRAGMA query_only = ON')
    checkAll(db)
  } finally {
    db.close()
  }
}

/**
 * Checks every table and its indexes.
 * @throws Error that says what is damaged.
 */
export function checkAll(db: Connection): void {
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
  for (const { name } of tables) {
    const [row] = db.prepare(`PRAGMA quick_check("${String(name)}")`).all()
    const found = String(row?.quick_check)
    if (found !== 'ok') throw fileFault(`the file is damaged (${found}); restore a backup`)
  }
}
