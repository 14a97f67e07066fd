import { join } from 'node:path'
import { expect, test } from 'vitest'
import { main, startProcess, temporary } from './corral.ts'

test('a store opens in a script that Node is given as text, with options that no thread takes', async () => {
  const store = new URL('../store/index.js', `file://${main}`)
  const file = join(temporary(), 'tasks.db')
  const script = `
    import { openSqliteStore } from '${store}'
    const store = await openSqliteStore(${JSON.stringify(file)})
    console.log(store.health().writable)
    await store.close()`
  const { ended } = startProcess(process.execPath, ['--input-type=module', '--eval', script])
  expect(await ended).toMatchObject({ code: 0, stdout: 'true\n' })
})
