import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../../src/app/config/load.ts'
import { createServer } from '../../../src/server/index.ts'
import { createStoreKeeper, type Store } from '../../../src/store/index.ts'
import { temporary } from '../../cli/corral.ts'
import { guideFile, importProgram, runProgram } from './guide.ts'

test('an order survives the death of its process, and can be counted, backed up and moved', async () => {
  const cwd = temporary()
  const first = await runProgram('stores/orders.mjs', { cwd, args: ['crash'] })
  expect([first.code, first.stdout]).toEqual([1, 'taken up: 0\ncharging the card\n'])
  const second = await runProgram('stores/orders.mjs', { cwd })
  expect(second.stdout).toBe('taken up: 1\nTASK_STATE_COMPLETED shipped against receipt 4711\n')
  expect(await runProgram('stores/kinds.mjs', { cwd, args: ['orders.db'] })).toMatchObject({
    code: 0,
    stdout: '1 tasks, 0 dropped, 1 copied\n',
  })
  const facts = await createStoreKeeper(join(cwd, 'backup.db')).facts()
  expect(facts.states).toEqual({ TASK_STATE_COMPLETED: 1 })
})

test('a store of your own serves', async () => {
  const { ownStore } = await importProgram<{ ownStore(): Store }>('stores/kinds.mjs')
  const store = ownStore()
  const server = await createServer({ agents: [() => 'Noted'], store })
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Two chairs' }] } as const
  const sent = await server.dispatch()('SendMessage', { message }, {})
  const id = 'task' in sent ? sent.task.id : ''
  expect(await server.dispatch()('GetTask', { id }, {})).toMatchObject({ id })
  await server.close()
  await store.close()
})

test('a file bounds what is kept', async () => {
  const { server } = await loadConfig(guideFile('stores/corral.toml'), {})
  expect(server).toMatchObject({
    store: 'data/tasks.db',
    retention: { maxAgeDays: 90, maxTasks: 100_000, maxBytes: 2_000_000_000, waitingDays: 30 },
  })
})
