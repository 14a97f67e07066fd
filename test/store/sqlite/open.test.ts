import { createHash } from 'node:crypto'
import {
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { describe, expect, test } from 'vitest'
import { openConnection } from '../../../src/store/sqlite/driver.ts'
import { backupSqliteStore, readDeadLetters } from '../../../src/store/sqlite/keeper.ts'
import { write } from '../../contracts/store/samples.ts'
import { damage } from './damage.ts'
import { useFolder } from './folder.ts'
import { lineOf, startProcess } from './process.ts'

const { path, open } = useFolder()

describe('a file that is refused', () => {
  test.each([
    [
      'of another program',
      'CREATE TABLE songs (name TEXT); INSERT INTO songs VALUES (1)',
      /another program/,
    ],
    [
      'of another program that has a version too',
      'CREATE TABLE a (b); PRAGMA user_version = 7',
      /another/,
    ],
    [
      'of a newer version',
      'PRAGMA application_id = 1131573868; PRAGMA user_version = 99',
      /schema 99/,
    ],
  ])('because it is %s is not changed by looking at it', async (_name, sql, reason) => {
    const db = await openConnection(path('t.db'))
    db.exec(sql)
    db.close()
    const before = contents()
    await expect(open('t.db')).rejects.toThrow(reason)
    await expect(readDeadLetters(path('t.db'))).rejects.toThrow(reason)
    await expect(backupSqliteStore(path('t.db'), path('copy.db'))).rejects.toThrow(reason)
    expect(contents()).toEqual(before)
  })

  test('because it is no database or cut off is not changed either', async () => {
    writeFileSync(path('t.db'), 'Dear diary, '.repeat(1000))
    const whole = await open('whole.db')
    await whole.commit([write('a', { text: 'x'.repeat(50_000) })])
    await whole.close()
    writeFileSync(path('cut.db'), readFileSync(path('whole.db')).subarray(0, 40_000))
    const before = contents()
    await expect(open('t.db')).rejects.toThrow(/is not a database$/)
    await expect(open('cut.db')).rejects.toThrow(/damaged \(it is cut off\)/)
    expect(contents()).toEqual(before)
  })
})

test('an empty file becomes a store', async () => {
  writeFileSync(path('t.db'), '')
  expect(await (await open('t.db')).commit([write('a')])).toEqual([{ version: 1 }])
})

describe('a file that is in use', () => {
  test.each([
    ['symbolic link', symlinkSync],
    ['hard link', linkSync],
  ])('is found to be so through a %s', async (_kind, link) => {
    const store = await open('t.db')
    await store.commit([write('a')])
    link(path('t.db'), path('other.db'))
    await expect(open('other.db')).rejects.toThrow(`process ${process.pid} is using it`)
    expect(await store.commit([write('b')])).toEqual([{ version: 1 }])
    await store.close()
    const other = await open('other.db')
    expect(await other.get('b')).toBeDefined()
    await expect(open('t.db')).rejects.toThrow(/is using it/)
  })

  test('by another process under another name is found to be so', async () => {
    await (await open('t.db')).close()
    linkSync(path('t.db'), path('other.db'))
    const holder = startProcess('hold', path('other.db'))
    await lineOf(holder, 'opened')
    await expect(open('t.db')).rejects.toThrow(`process ${holder.pid} is using it`)
    holder.kill('SIGKILL')
  })

  test('is made where a symbolic link points to nothing, under the lock of that place', async () => {
    symlinkSync(path('target.db'), path('link.db'))
    await open('link.db')
    await expect(open('target.db')).rejects.toThrow(/is using it/)
    expect(readdirSync(path('.'))).toContain('target.db.lock')
    expect(readdirSync(path('.'))).not.toContain('link.db.lock')
  })
})

test('a file that was renamed opens under its new name', async () => {
  const store = await open('t.db')
  await store.commit([write('a')])
  await store.close()
  renameSync(path('t.db'), path('renamed.db'))
  expect(await (await open('renamed.db')).get('a')).toBeDefined()
  expect(await (await open('t.db')).get('a')).toBeUndefined()
})

test('a large file that is damaged opens, is found out, and is not written any more', async () => {
  const store = await open('t.db', { synchronous: 'NORMAL' })
  const text = 'y'.repeat(30_000)
  await store.commit(Array.from({ length: 200 }, (_, i) => write(`t${i}`, { text })))
  await store.close()
  damage(path('t.db'), ...Array.from({ length: 400 }, (_, i) => 100 + 3 * i))
  const damaged = await open('t.db')
  await expect
    .poll(() => damaged.health())
    .toEqual({ writable: false, reason: expect.stringContaining('the file is damaged') })
  await expect(damaged.commit([write('new')])).rejects.toMatchObject({
    code: 'unavailable',
    message: 'The task store cannot write: the file is damaged',
  })
})

/** Every file of the folder and what is in it. */
function contents(): Record<string, string> {
  const digest = (name: string) =>
    createHash('sha256')
      .update(readFileSync(path(name)))
      .digest('hex')
  // The log of a file that was just closed may still be there: libsql lets go of it late.
  const names = readdirSync(path('.')).filter((name) => !name.startsWith('whole'))
  return Object.fromEntries(names.map((name) => [name, digest(name)]))
}
