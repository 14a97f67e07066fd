import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { copyStore, createStoreKeeper } from '../../src/store/copy.ts'
import type { StoreKeeper } from '../../src/store/keeper.ts'
import type { LogRecord, Scope, Store, TaskWrite, Write } from '../../src/store/store.ts'
import { describePostgres, usePostgres } from '../../test/support/postgres.ts'

const anna: Scope = { agent: 'clerk', tenant: '', owner: 'anna' }
let directory = ''

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'corral-copy-'))
})

afterEach(() => rmSync(directory, { recursive: true }))

function file(name: string): StoreKeeper {
  return createStoreKeeper(join(directory, name))
}

/** A task whose log has so many records; every tenth is finished by nobody, and has work left. */
function taskWrite(number: number, length: number): TaskWrite {
  const id = `task-${String(number).padStart(4, '0')}`
  const busy = number % 10 === 0
  const state = busy ? 'TASK_STATE_WORKING' : 'TASK_STATE_COMPLETED'
  const timestamp = new Date(Date.UTC(2026, 0, 1) + (number >> 1) * 1000).toISOString()
  const contextId = `context-${number % 7}`
  const message = {
    messageId: `m-${id}`,
    role: 'ROLE_USER' as const,
    parts: [{ text: 'hello\u0000' }],
  }
  const key = number % 3 === 0 ? { idempotencyKey: `key-${id}` } : {}
  const request = { userId: 'anna', ...key }
  const task = {
    id,
    contextId,
    status: { state, timestamp },
    history: [message],
    artifacts: [{ artifactId: 'a', parts: [{ text: `text of ${id}` }] }],
  } as const
  const rest = Array.from({ length: length - 2 }, (_, i): LogRecord => {
    return { seq: i + 3, kind: 'step', turn: 1, name: `step ${i}`, result: { i } }
  })
  return {
    type: 'task',
    head: { id, scope: anna, contextId, state, timestamp, busy, generation: 1, build: 'b' },
    expectedVersion: 0,
    records: [
      { seq: 1, kind: 'message', turn: 1, message, request },
      { seq: 2, kind: 'event', event: { task } },
      ...rest,
    ],
    task,
    ...key,
  }
}

/** Fills a store with what a server leaves: tasks, keys, webhooks, values, a delivery given up. */
async function fill(store: Store, tasks = 130): Promise<void> {
  const writes: Write[] = []
  for (let number = 0; number < tasks; number++) {
    writes.push(taskWrite(number, number === 5 ? 1_300 : 4))
    if (number % 4 === 0) writes.push(webhookWrite(number, 3))
  }
  writes.push(
    {
      type: 'contextValue',
      scope: anna,
      contextId: 'context-1',
      key: 'k\u0000',
      value: { deep: [1] },
    },
    {
      type: 'contextValue',
      scope: { ...anna, owner: 'ben' },
      contextId: 'only',
      key: 'k',
      value: 2,
    },
    ...lettersOf(4),
    ...lettersOf(8),
    { type: 'deletePushConfig', taskId: 'task-0008', id: 'hook' },
  )
  const results = await store.commit(writes)
  expect(results.filter((result) => !('version' in result))).toEqual([])
}

function webhookWrite(number: number, cursor: number): Write {
  const taskId = `task-${String(number).padStart(4, '0')}`
  const config = { id: 'hook', taskId, url: 'https://hooks.example/', token: 'secret' }
  return {
    type: 'pushConfig',
    record: { taskId, id: 'hook', config, dialect: '1.0', cursor, agent: 'clerk' },
  }
}

function lettersOf(number: number): readonly Write[] {
  const taskId = `task-${String(number).padStart(4, '0')}`
  const letter = { id: `letter-${number}`, taskId, configId: 'hook', seq: 3, attempts: 9 }
  const deadLetter = { ...letter, reason: 'gone', at: '2026-01-02T00:00:00.000Z' }
  return [{ type: 'cursor', taskId, id: 'hook', cursor: 4, deadLetter }]
}

/** Everything that a store says of what it holds. */
async function contentsOf(keeper: StoreKeeper): Promise<unknown> {
  const store = await keeper.open()
  try {
    const { tasks, total } = await store.listAll({ limit: 1_000 })
    const whole = await Promise.all(
      tasks.map(async ({ head, version }) => ({
        task: await store.get(head.id).then((found) => found?.task),
        head,
        version,
        records: await store.records(head.id, 0),
        webhooks: await store.pushConfigs(head.id),
        byKey: await store.findByKey(anna, `key-${head.id}`),
      })),
    )
    const values = [
      [...(await store.contextValues(anna, 'context-1'))],
      [...(await store.contextValues({ ...anna, owner: 'ben' }, 'only'))],
    ]
    return { total, whole, values, letters: await store.deadLetters() }
  } finally {
    await store.close()
  }
}

async function filled(keeper: StoreKeeper): Promise<void> {
  const store = await keeper.open()
  await fill(store)
  await store.close()
}

describe('a copy of a store', () => {
  test('has the same tasks, logs, keys, webhooks, values and dead letters', async () => {
    const [from, to] = [file('from.db'), file('to.db')]
    await filled(from)
    const told: number[] = []
    const progress = { progress: ({ tasks }: { tasks: number }) => told.push(tasks) }
    expect(await copyStore(from, to, progress)).toEqual({ tasks: 130, total: 130, copied: 130 })
    expect(told).toEqual([100, 130])
    expect(await contentsOf(to)).toEqual(await contentsOf(from))
    expect((await to.facts()).counts).toEqual((await from.facts()).counts)
    expect((await from.facts()).counts).toMatchObject({
      tasks: 130,
      keys: 44,
      webhooks: 32,
      deadLetters: 2,
      contextValues: 2,
    })
  })

  test('goes on where an earlier one was interrupted, also within a long log', async () => {
    const [from, to] = [file('from.db'), file('to.db')]
    await filled(from)
    const target = await to.open()
    const long = taskWrite(5, 1_300)
    const part = { ...long, records: long.records.slice(0, 500) }
    await target.commit([part, taskWrite(0, 4), webhookWrite(0, 3), taskWrite(129, 4)])
    await target.close()
    expect(await copyStore(from, to)).toMatchObject({ copied: 128 })
    expect(await contentsOf(to)).toEqual(await contentsOf(from))
    expect(await copyStore(from, to)).toMatchObject({ tasks: 130, copied: 0 })
    expect((await to.facts()).counts).toEqual((await from.facts()).counts)
  })
})

describePostgres('a copy between SQLite and PostgreSQL', () => {
  const database = usePostgres()

  test('comes back as it was, and what had work left waits for the first replica', async () => {
    const [from, back] = [file('from.db'), file('back.db')]
    await filled(from)
    const schema = database.newSchema()
    const middle = createStoreKeeper(database.url, { schema })
    await copyStore(from, middle)
    expect((await middle.facts()).counts).toEqual((await from.facts()).counts)
    expect((await middle.facts()).states).toEqual((await from.facts()).states)
    expect(await middle.cluster()).toMatchObject({ orphans: 13, inbox: 0, members: [] })
    await copyStore(middle, back)
    expect(await contentsOf(back)).toEqual(await contentsOf(from))
    expect((await back.facts()).counts).toEqual((await from.facts()).counts)
  })
})
