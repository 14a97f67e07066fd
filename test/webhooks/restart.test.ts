import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { createReceiver } from './receiver.ts'
import { chunk, createScene, status, told } from './scene.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-webhooks-'))
})
afterEach(() => rm(folder, { recursive: true }))

test('a receiver that is down while the file changes hands gets the rest, in order', async () => {
  const file = join(folder, 'tasks.db')
  const receiver = await createReceiver()
  const hook = { config: { url: receiver.url } }

  const first = await openSqliteStore(file)
  const before = createScene(first)
  await before.append('t', status('TASK_STATE_WORKING'), chunk('1'))
  await before.hook(hook)
  await before.open()
  await before.seen(2)
  await receiver.close()
  await before.append('t', chunk('2'), { kind: 'cancel', at: '' }, chunk('3'))
  await before.close()
  await first.close()

  const back = await createReceiver(receiver.port)
  const second = await openSqliteStore(file)
  const after = createScene(second)
  const webhooks = await after.open()
  await after.seen(5)
  await after.append('t', status('TASK_STATE_COMPLETED'))
  webhooks.notify('t')
  await after.seen(6)
  expect(told(receiver)).toEqual(['TASK_STATE_WORKING', '1'])
  expect(told(back)).toEqual(['2', '3', 'TASK_STATE_COMPLETED'])
  expect(await second.claimDeliveries()).toEqual([])
  await after.close()
  await back.close()
  await second.close()
})
