import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openConnection } from '../../../src/store/sqlite/driver.ts'
import { migrate, migrations } from '../../../src/store/sqlite/schema.ts'
import type { Store } from '../../../src/store/store.ts'
import { createFakeClock } from '../../../src/testing/index.ts'
import { idOf, scope, write } from '../../contracts/store/samples.ts'
import { useFolder } from './folder.ts'
import { runProcess } from './process.ts'

const { path, open } = useFolder()

const text = 'x'.repeat(50_000)

describe('a full disk', () => {
  test.runIf(canMount())(
    'refuses writes and says why; reads go on, and writing resumes when there is space',
    onSmallDisk(async () => {
      const clock = createFakeClock(0)
      const store = await open('small/t.db', { clock })
      await store.commit([write('first', { text: 'kept' })])
      writeFileSync(path('small/ballast'), Buffer.alloc(300_000))
      const stored = await fillUp(store)
      expect(store.health()).toEqual({
        writable: false,
        reason: 'The task store cannot write: the disk is full',
      })
      expect((await store.get('first'))?.task).toEqual(write('first', { text: 'kept' }).task)
      for (const id of stored) expect(await store.get(id)).toBeDefined()

      rmSync(path('small/ballast'))
      clock.advance(1_000)
      await expect.poll(() => store.health()).toEqual({ writable: true })
      expect(await store.commit([write('later')])).toEqual([{ version: 1 }])
      await store.close()
    }),
  )

  test('is also a file at its bound, and what was acknowledged survives it', async () => {
    const store = await open('t.db', { maxBytes: 1_000_000 })
    const stored = await fillUp(store)
    expect(store.health().reason).toContain('the disk is full')
    const page = await store.list({ scope, contextId: 'context of t1', limit: 9 })
    expect(page.tasks.map(idOf)).toEqual(['t1'])
    await store.commit([{ type: 'deleteTask', id: stored[0] ?? '' }])
    expect(store.health()).toEqual({ writable: true })
    await store.close()
    const again = await open('t.db')
    for (const id of stored.slice(1)) expect(await again.get(id)).toBeDefined()
  })
})

test('a scope of a commit that failed does not lend its place to another', async () => {
  const store = await open('t.db', { maxBytes: 1_000_000 })
  const [lost, next] = [
    { ...scope, owner: 'lost' },
    { ...scope, owner: 'next' },
  ]
  const tooBig = write('lost', { scope: lost, text: 'x'.repeat(2_000_000) })
  await expect(store.commit([tooBig])).rejects.toThrow(/disk is full/)
  await store.commit([write('next', { scope: next })])
  await store.commit([write('found', { scope: lost })])
  expect((await store.list({ scope: next, limit: 9 })).tasks.map(idOf)).toEqual(['next'])
  expect((await store.list({ scope: lost, limit: 9 })).tasks.map(idOf)).toEqual(['found'])
})

describe('a file that cannot be a store', () => {
  const refusal = async (name: string) =>
    open(name).then(
      () => 'opened',
      (error: Error) => error.message,
    )

  test('because it is damaged', async () => {
    const store = await open('t.db')
    await store.commit(
      Array.from({ length: 200 }, (_, i) => write(`t${i}`, { text: 'y'.repeat(900) })),
    )
    await store.close()
    const file = await openFile(path('t.db'), 'r+')
    for (let page = 8; page < 60; page += 2)
      await file.write(Buffer.alloc(2048, 0x5a), 0, 2048, page * 4096)
    await file.close()
    expect(await refusal('t.db')).toMatch(
      /^Cannot open the task store .*t\.db: the file is damaged/,
    )
  })

  test('because it is no database', async () => {
    writeFileSync(path('t.db'), 'Dear diary, '.repeat(1000))
    expect(await refusal('t.db')).toMatch(/t\.db: the file is not a database$/)
  })

  test('because it is the database of another program', async () => {
    const db = await openConnection(path('t.db'))
    db.exec('CREATE TABLE songs (name TEXT)')
    db.close()
    expect(await refusal('t.db')).toMatch(/the file is a database of another program$/)
  })

  test('because a newer version wrote it', async () => {
    await (await open('t.db')).close()
    const db = await openConnection(path('t.db'))
    db.exec('PRAGMA user_version = 99')
    db.close()
    expect(await refusal('t.db')).toMatch(
      /the file has schema 99, this version of Corral knows \d+/,
    )
  })

  test('because its folder is not there', async () => {
    expect(await refusal('no/such/t.db')).toMatch(/no\/such\/t\.db: the file cannot be opened$/)
  })

  test('because it is read-only', async () => {
    await (await open('t.db')).close()
    mkdirSync(path('shut'))
    copyFileSync(path('t.db'), path('shut/t.db'))
    writeFileSync(path('shut/t.db.lock'), '')
    chmodSync(path('shut/t.db'), 0o444)
    chmodSync(path('shut/t.db.lock'), 0o666)
    chmodSync(path('shut'), 0o777)
    chmodSync(path('.'), 0o755)
    const { output } = await runProcess('open', path('shut/t.db'), { nobody: true })
    expect(output).toMatch(/t\.db: the file is read-only/)
  })
})

test('a refused file is not changed, and can be opened once the reason is gone', async () => {
  const store = await open('t.db')
  await store.commit([write('a')])
  await store.close()
  const db = await openConnection(path('t.db'))
  db.exec('PRAGMA user_version = 99')
  await expect(open('t.db')).rejects.toThrow(/schema 99/)
  db.exec(`PRAGMA user_version = ${migrations.length}`)
  db.close()
  expect(await (await open('t.db')).get('a')).toBeDefined()
})

test('a migration that fails leaves the schema as it was; the next start goes on from there', async () => {
  const db = await openConnection(path('t.db'))
  const first = 'CREATE TABLE one (a TEXT); INSERT INTO one VALUES (1)'
  migrate(db, [first])
  expect(() => migrate(db, [first, 'CREATE TABLE two (a TEXT); nonsense'])).toThrow(/syntax/)
  expect(db.prepare('SELECT count(*) AS n FROM one').get()).toMatchObject({ n: 1 })
  migrate(db, [first, 'ALTER TABLE one ADD COLUMN b TEXT', 'CREATE TABLE two (a TEXT)'])
  expect(db.prepare('SELECT a, b FROM one').all()).toMatchObject([{ a: '1', b: null }])
  expect(db.prepare('SELECT count(*) AS n FROM two').get()).toMatchObject({ n: 0 })
  db.close()
})

/** Writes tasks that retention leaves alone until the store refuses; the ids that it acknowledged. */
async function fillUp(store: Store): Promise<string[]> {
  const stored: string[] = []
  for (let i = 0; i < 1_000; i += 1) {
    const id = `t${i}`
    const busy = write(id, { text, state: 'TASK_STATE_WORKING' })
    const refused = await store.commit([busy]).then(
      () => undefined,
      (error: unknown) => error,
    )
    if (refused) {
      expect(refused).toMatchObject({ code: 'unavailable' })
      return stored
    }
    stored.push(id)
  }
  throw new Error('The store never filled up')
}

/** Only root may mount, and not in every container; the bound of a file is tested everywhere. */
function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'corral-mount-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', folder], { stdio: 'ignore' })
    execFileSync('umount', [folder])
    return true
  } catch {
    return false
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Runs a test with a file system of one megabyte at `small`; `-l`, because libsql lets go of a file late. */
function onSmallDisk(run: () => Promise<void>): () => Promise<void> {
  return async () => {
    mkdirSync(path('small'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', path('small')])
    try {
      await run()
    } finally {
      execFileSync('umount', ['-l', path('small')])
    }
  }
}
