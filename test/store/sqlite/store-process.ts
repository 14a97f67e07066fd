import { readFileSync } from 'node:fs'
import { openSqliteStore, type SqliteStore } from '../../../src/store/sqlite/store.ts'
import { write } from '../../contracts/store/samples.ts'

/**
 * A process that opens a store, for tests of what happens between processes. `open`: says whether it could. `hold`: keeps
 * it open until it is killed. `check`: closes it while all of it is checked. `write`: commits without end and prints the number of each commit once it is acknowledged.
 */

const [, , job, path = ''] = process.argv
// Root may write read-only files; nobody may not.
if (process.env.RUN_AS_NOBODY && process.getuid?.() === 0) process.setuid?.('nobody')

try {
  const store = await openSqliteStore(path)
  console.log('opened')
  if (job === 'open') await store.close()
  if (job === 'check') await closeInCheck(store)
  if (job === 'hold') setInterval(() => {}, 60_000)
  if (job === 'write') await Promise.all([0, 1, 2, 3].map(writeOn))

  async function writeOn(lane: number): Promise<void> {
    for (let i = lane; ; i += 4) {
      await store.commit([
        write(`done${i}`, { records: 3 }),
        write(`running${i}`, { state: 'TASK_STATE_WORKING' }),
      ])
      await store.commit([write(`running${i}`, { expectedVersion: 1, records: 2 })])
      process.stdout.write(`stored ${i}\n`)
    }
  }
} catch (error) {
  console.log(error instanceof Error ? error.message : error)
}

/** Closes a store of a large file when its check has read a part of the file. */
async function closeInCheck(store: SqliteStore): Promise<void> {
  const bytesRead = (): number =>
    Number(/^rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
  const before = bytesRead()
  while (bytesRead() < before + 40_000_000) await new Promise((resolve) => setImmediate(resolve))
  await store.close()
  console.log('closed')
}
