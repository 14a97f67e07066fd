import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { describeStore } from '../contracts/store.ts'
import { drivers } from './sqlite/drivers.ts'

let folder: string
let files = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-sqlite-'))
})
afterAll(() => rm(folder, { recursive: true }))

for (const driver of drivers)
  describeStore(`SQLite by ${driver}`, (options) => {
    files += 1
    // A sync to disk per commit costs time and shows nothing here; kill.test.ts runs with it.
    return openSqliteStore(join(folder, `${files}.db`), {
      ...options,
      driver,
      synchronous: 'NORMAL',
    })
  })
