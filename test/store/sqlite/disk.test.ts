import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { sampleEvery, uncounted } from '../../../src/store/spans.ts'
import { createFakeClock } from '../../../src/testing/index.ts'
import { type BrokenDisk, type DiskFault, describeDisk } from '../../contracts/store/disk.ts'
import { at, idOf, scope, write } from '../../contracts/store/samples.ts'
import { drivers } from './drivers.ts'
import { useFolder } from './folder.ts'

const { path, open } = useFolder()

describe.each(drivers)('SQLite by %s', (driver) => {
  describeDisk(['full', 'deleted', 'moved away', 'replaced', 'emptied'], openBroken)
  describe.runIf(canFreeze())('where files can be frozen', () => {
    // Before the folder goes, which a frozen file would keep.
    afterEach(() => thaw())
    describeDisk(['read-only'], openBroken)
    test('a file that turns read-only while it is open is named so', async () => {
      const { store, break: freezeFiles } = await openBroken('read-only')
      await freezeFiles()
      await expect(store.commit([write('lost')])).rejects.toThrow('the file is read-only')
      expect(store.health().reason).toContain('the file is read-only')
    })
  })

  async function openBroken(fault: DiskFault): Promise<BrokenDisk> {
    const file = path('t.db')
    if (fault === 'full') return fillable()
    const store = await open('t.db', { driver })
    switch (fault) {
      case 'read-only':
        return { store, break: () => freeze(), mend: () => thaw() }
      case 'deleted':
        return { store, break: () => rmSync(file) }
      case 'moved away':
        return {
          store,
          break: () => renameSync(file, path('elsewhere')),
          mend: () => renameSync(path('elsewhere'), file),
        }
      case 'replaced':
        await store.backup(path('copy.db'))
        return { store, break: () => renameSync(path('copy.db'), file) }
      case 'emptied':
        return { store, break: () => truncateSync(file) }
    }
  }

  /** Filled with tasks that somebody works on, which no retention drops. */
  async function fillable(): Promise<BrokenDisk> {
    const store = await open('t.db', { driver, maxBytes: 600_000 })
    const busy = { state: 'TASK_STATE_WORKING', text: 'x'.repeat(20_000) } as const
    const ids: string[] = []
    return {
      store,
      async break() {
        for (let more = true; more && ids.length < 100; ) {
          const id = `ballast ${ids.length}`
          more = await store.commit([write(id, busy)]).then(
            () => ids.push(id) > 0,
            () => false,
          )
        }
      },
      async mend() {
        await store.commit(ids.map((id) => ({ type: 'deleteTask', id })))
      },
    }
  }
})

test('a deleted log beside the file is noticed like a deleted file', async () => {
  const store = await open('t.db')
  await store.commit([write('kept')])
  rmSync(path('t.db-wal'))
  await expect(store.commit([write('lost')])).rejects.toMatchObject({ code: 'unavailable' })
  expect(store.health().reason).toBe(
    'The task store cannot write: the file was deleted or moved away',
  )
})

test('a file that was put back is written again by itself', async () => {
  const clock = createFakeClock(0)
  const store = await open('t.db', { clock })
  renameSync(path('t.db'), path('away'))
  await expect(store.commit([write('a')])).rejects.toThrow(/deleted or moved/)
  renameSync(path('away'), path('t.db'))
  clock.advance(1_000)
  await expect.poll(() => store.health()).toEqual({ writable: true })
})

test('a file near its bound drops the oldest finished tasks and goes on', async () => {
  const clock = createFakeClock(Date.now())
  const store = await open('t.db', { maxBytes: 2_000_000, clock, synchronous: 'NORMAL' })
  const text = 'x'.repeat(20_000)
  await store.commit([write('working', { state: 'TASK_STATE_WORKING' })])
  for (let i = 0; i < 200; i += 1) {
    const id = `t${String(i).padStart(3, '0')}`
    const stored = () =>
      store.commit([write(id, { text, second: i + 1 })]).then(
        () => true,
        () => false,
      )
    await expect.poll(stored).toBe(true)
  }
  const { tasks } = await store.list({ scope, limit: 1 })
  expect(tasks.map(idOf)).toEqual(['t199'])
  expect(await store.get('t000')).toBeUndefined()
  expect(await store.get('working')).toBeDefined()
})

test('a long list counts nothing of a commit that was refused', async () => {
  const store = await open('t.db', { maxBytes: 4_000_000, synchronous: 'NORMAL' })
  const state = 'TASK_STATE_WORKING'
  const count = uncounted + sampleEvery
  const many = (prefix: string, from: number, length: number) =>
    Array.from({ length }, (_, i) =>
      write(`${prefix}${i}`, { state, second: from + i, contextId: 'c' }),
    )
  await store.commit(many('t', 0, count))
  const large = write('large', { state, text: 'x'.repeat(3_000_000), contextId: 'c' })
  await expect(store.commit([...many('lost', count, 10), large])).rejects.toThrow()
  await store.commit(many('new', count, 10))
  for (const timestampAfter of [at(0), at(5)])
    for (const filter of [{ scope }, { scope, contextId: 'c' }]) {
      const { total } = await store.list({ ...filter, timestampAfter, limit: 1 })
      expect(total).toBe(timestampAfter === at(0) ? count + 10 : count + 5)
    }
})

test('a copy that is opened beside its original is a store of its own', async () => {
  const store = await open('t.db')
  await store.commit([write('a')])
  await store.backup(path('copy.db'))
  copyFileSync(path('copy.db'), path('other.db'))
  for (const name of ['copy.db', 'other.db']) {
    const copy = await open(name)
    expect(await copy.commit([write('b')])).toEqual([{ version: 1 }])
  }
  expect(await store.commit([write('b')])).toEqual([{ version: 1 }])
})

/** Immutable: what is open takes no more writes either, as where a file system turns read-only after an error. */
function freeze(files = [path('t.db'), path('t.db-wal')]): void {
  execFileSync('chattr', ['+i', ...files], { stdio: 'ignore' })
}

function thaw(files = [path('t.db'), path('t.db-wal')]): void {
  execFileSync('chattr', ['-i', ...files], { stdio: 'ignore' })
}

/** Only root may, and not on every file system; permissions keep nobody from a file that is open. */
function canFreeze(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'corral-freeze-'))
  const file = join(folder, 'file')
  writeFileSync(file, '')
  try {
    freeze([file])
    thaw([file])
    return true
  } catch {
    return false
  } finally {
    rmSync(folder, { recursive: true })
  }
}
