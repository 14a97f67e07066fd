import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { scope, write } from '../../contracts/store/samples.ts'
import { drivers } from './drivers.ts'
import { useFolder } from './folder.ts'

const { path, open } = useFolder()

// libsql closes a file when its statements are collected, so the collector is asked to.
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void // what the flag makes

test.runIf(existsSync('/proc/self/fd')).each(drivers)(
  'all files are closed with the store, by %s',
  async (driver) => {
    for (let i = 0; i < 3; i += 1) {
      const store = await open('t.db', { driver })
      await store.commit([write(`t${i}`)])
      await store.list({ scope, contextId: 'c', limit: 1 })
      await store.backup(path('copy.db'))
      expect(openFiles().length).toBeGreaterThan(0)
      await store.close()
    }
    const files = (): string[] => {
      if (driver === 'libsql') collect()
      return openFiles()
    }
    await expect.poll(files).toEqual([])
  },
)

/** The open files of this process within the test's folder. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`)
      return target.startsWith(path('.')) ? [target] : []
    } catch {
      return [] // It was that of reading the folder.
    }
  })
}
