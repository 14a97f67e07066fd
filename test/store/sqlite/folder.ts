import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import {
  openSqliteStore,
  type SqliteStore,
  type SqliteStoreOptions,
} from '../../../src/store/sqlite/store.ts'

/** A folder of the running test, and stores in it that are closed with it. */
export interface TestFolder {
  path(name: string): string
  open(name: string, options?: SqliteStoreOptions): Promise<SqliteStore>
}

/** Gives every test of the file a folder of its own. */
export function useFolder(): TestFolder {
  let folder = ''
  let opened: SqliteStore[] = []
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corral-sqlite-'))
  })
  afterEach(async () => {
    await Promise.all(opened.map((store) => store.close()))
    opened = []
    await rm(folder, { recursive: true })
  })
  const path = (name: string): string => join(folder, name)
  return {
    path,
    async open(name, options) {
      const store = await openSqliteStore(path(name), options)
      opened.push(store)
      return store
    },
  }
}
