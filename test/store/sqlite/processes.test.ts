import { once } from 'node:events'
import { expect, test } from 'vitest'
import { write } from '../../contracts/store/samples.ts'
import { useFolder } from './folder.ts'
import { lineOf, runProcess, startProcess } from './process.ts'

const { path, open } = useFolder()

test('a second process is refused and told which one has the file', async () => {
  const store = await open('t.db')
  const { output } = await runProcess('open', path('t.db'))
  expect(output).toBe(
    `Cannot open the task store ${path('t.db')}: process ${process.pid} is using it; a file has one writer at a time\n`,
  )
  expect(await store.commit([write('a')])).toEqual([{ version: 1 }])
  await store.close()
  expect((await runProcess('open', path('t.db'))).output).toBe('opened\n')
})

test('a second store of the same process is refused too', async () => {
  const store = await open('t.db')
  await expect(open('t.db')).rejects.toThrow(/is using it/)
  expect(await store.commit([write('a')])).toEqual([{ version: 1 }])
  await store.close()
  expect(await (await open('t.db')).get('a')).toBeDefined()
})

const isLinux = process.platform === 'linux'

test.runIf(isLinux)('a large file can be closed while all of it is checked', async () => {
  const store = await open('t.db')
  const { scope, contextId } = write('a').head
  await store.commit([write('a')])
  const value = 'x'.repeat(500_000)
  for (let key = 0; key < 300; key++)
    await store.commit([{ type: 'contextValue', scope, contextId, key: String(key), value }])
  await store.close()
  const { output, code } = await runProcess('check', path('t.db'))
  expect({ output, code }).toEqual({ output: 'opened\nclosed\n', code: 0 })
})

test('a process that was killed leaves no lock behind', async () => {
  const holder = startProcess('hold', path('t.db'))
  await lineOf(holder, 'opened')
  await expect(open('t.db')).rejects.toThrow(`process ${holder.pid} is using it`)
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  const store = await open('t.db')
  expect(store.health()).toEqual({ writable: true })
})

test('what a killed process acknowledged is stored, whole and in order', async () => {
  let acknowledged: number[] = []
  for (let kill = 0; kill < 3; kill += 1) {
    const file = `t${kill}.db`
    const writer = startProcess('write', path(file))
    acknowledged = await killAfter(writer, 40 + 25 * kill)
    const store = await open(file)
    for (const i of acknowledged) {
      expect((await store.records(`done${i}`, 0)).map(({ seq }) => seq)).toEqual([1, 2, 3])
      expect((await store.records(`running${i}`, 0)).map(({ seq }) => seq)).toEqual([1, 2, 3])
      expect((await store.get(`running${i}`))?.head.state).toBe('TASK_STATE_COMPLETED')
    }
    for (const { id } of await store.claim()) expect(await store.records(id, 0)).toHaveLength(1)
  }
  expect(acknowledged.length).toBeGreaterThanOrEqual(90)
})

/** Kills a writing process once it has acknowledged so many commits; all that it acknowledged. */
async function killAfter(
  writer: ReturnType<typeof startProcess>,
  commits: number,
): Promise<number[]> {
  let output = ''
  for await (const chunk of writer.stdout?.setEncoding('utf8') ?? []) {
    output += chunk
    if (output.split('stored').length > commits) writer.kill('SIGKILL')
  }
  return [...output.matchAll(/^stored (\d+)$/gm)].map(([, number]) => Number(number))
}
