import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createServer } from '../../../src/server/index.ts'
import {
  type CopyProgress,
  createStoreKeeper,
  type Store,
  type StoreCounts,
} from '../../../src/store/index.ts'
import { temporary } from '../../cli/corral.ts'
import { importExample, runExample, runHere, serverTable } from './serve.ts'

test('an order survives the death of its process, and can be counted, backed up and moved', async () => {
  const cwd = temporary()
  const first = await runExample('stores/orders.mjs', { cwd, args: ['crash'] })
  expect([first.code, first.stdout]).toEqual([1, 'taken up: 0\ncharging the card\n'])
  expect(await runHere('stores/orders.mjs', { cwd })).toEqual([
    'taken up: 1',
    'TASK_STATE_COMPLETED shipped against receipt 4711',
  ])

  const { lookAfter, move } = await importExample<Keeping>('stores/kinds.mjs')
  const path = join(cwd, 'orders.db')
  const looked = await lookAfter(path, join(cwd, 'backup.db'))
  expect(looked).toMatchObject({ counts: { tasks: 1 }, dropped: 0 })
  expect(await move(path, join(cwd, 'moved.db'))).toMatchObject({ tasks: 1, copied: 1 })
  const copy = await createStoreKeeper(join(cwd, 'backup.db')).facts()
  expect(copy.states).toEqual({ TASK_STATE_COMPLETED: 1 })
})

/** What the example exports. */
interface Keeping {
  readonly kinds: { memory(): Store; sqlite(path: string): Promise<Store> }
  lookAfter(path: string, backup: string): Promise<{ counts: StoreCounts; dropped: number }>
  move(from: string, to: string): Promise<CopyProgress>
  ownStore(): Store
}

test('each kind of store serves, one of your own too', async () => {
  const { kinds, ownStore } = await importExample<Keeping>('stores/kinds.mjs')
  const stores = [kinds.memory(), await kinds.sqlite(join(temporary(), 'tasks.db')), ownStore()]
  for (const store of stores) {
    const server = await createServer({ agents: [() => 'Noted'], store })
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Two chairs' }] } as const
    const sent = await server.dispatch()('SendMessage', { message }, {})
    const id = 'task' in sent ? sent.task.id : ''
    expect(await server.dispatch()('GetTask', { id }, {})).toMatchObject({ id })
    await server.close()
    await store.close()
  }
})

test('a file bounds what is kept', async () => {
  expect(await serverTable('stores/corral.toml')).toMatchObject({
    store: 'data/tasks.db',
    retention: { maxAgeDays: 90, maxTasks: 100_000, maxBytes: 2_000_000_000, waitingDays: 30 },
  })
})
