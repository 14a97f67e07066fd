import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const mib = 1024 * 1024

test('tasks that wait for a slot are in the store, not in memory', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'corral-waiting-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const child = fork(join(import.meta.dirname, 'waiting-process.ts'), [join(folder, 'tasks.db')], {
    execArgv: ['--import', 'tsx', '--expose-gc'],
  })
  const [{ grown, states, texts }] = await once(child, 'message')
  await once(child, 'exit')
  expect(states).toEqual(['TASK_STATE_SUBMITTED'])
  // 16 messages of 1 MiB, and 16 tasks of as much, each with a further message.
  expect(grown).toBeLessThan(8 * mib)
  const first = String(mib)
  const second = String('ask '.length + mib + 'more?'.length + 'go on'.length)
  expect(texts).toEqual(Array.from({ length: 16 }, () => [first, second]).flat())
})
