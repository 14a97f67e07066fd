import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/shared/clock.ts'
import type { Logger } from '../../../src/shared/log.ts'
import { silent } from '../../../src/shared/log.ts'
import { TasksLocked } from '../../../src/store/documents.ts'
import { Commits } from '../../../src/store/postgres/commit.ts'
import { namesIn } from '../../../src/store/postgres/connection.ts'
import { DatabaseLink } from '../../../src/store/postgres/links.ts'
import { toLine } from '../../../src/store/postgres/rows.ts'
import {
  openPostgresStore,
  type PostgresStore,
  type PostgresStoreOptions,
} from '../../../src/store/postgres/store.ts'
import type { Write } from '../../../src/store/store.ts'
import { createListener } from '../../contracts/feed/world.ts'
import { pushConfig, scope, write } from '../../contracts/store/samples.ts'
import { describePostgres, usePostgres } from '../../support/postgres.ts'
import { openPostgresWorld } from './world.ts'

const working = { state: 'TASK_STATE_WORKING' } as const

describePostgres('a row that another client has locked', () => {
  const database = usePostgres()
  let schema: string
  beforeEach(() => {
    schema = database.newSchema()
  })
  afterEach(() => unlock())

  async function open(options: Partial<PostgresStoreOptions> = {}): Promise<PostgresStore> {
    const store = await openPostgresStore({ url: database.url, schema, logger: false, ...options })
    onTestFinished(() => store.close())
    return store
  }

  async function lock(id: string, table = 'task', key = 'id'): Promise<void> {
    await database.query('BEGIN')
    await database.query(`SELECT 1 FROM ${schema}.${table} WHERE ${key} = $1 FOR UPDATE`, [id])
  }

  async function unlock(): Promise<void> {
    await database.query('COMMIT')
  }

  test('rejects the commits that are about its task, and no others', async () => {
    const store = await open()
    await store.commit([write('a', working), write('b', working)])
    await lock('a')
    const [locked, free] = await Promise.allSettled([
      store.commit([write('a', { expectedVersion: 1 }), write('c')]),
      store.commit([write('b', { expectedVersion: 1 })]),
    ])
    expect(locked).toMatchObject({ reason: { code: 'unavailable', ids: new Set(['a']) } })
    expect(free).toMatchObject({ value: [{ version: 2 }] })
    expect(await store.get('c')).toBeUndefined()
    await expect(store.commit([write('a', { expectedVersion: 1 })])).rejects.toThrow(TasksLocked)
    expect(store.health()).toEqual({ writable: true })
    await unlock()
    expect(await store.commit([write('a', { expectedVersion: 1 }), write('c')])).toEqual([
      { version: 2 },
      { version: 1 },
    ])
  })

  test('is told of once, and given up for good after the time that commits have', async () => {
    const warnings: [object, string][] = []
    const warn: Logger['warn'] = (...line) => void warnings.push(line)
    const store = await open({ commitTimeoutMs: 300, logger: { ...silent, warn } })
    await store.commit([write('a', working)])
    await lock('a')
    const again = () => store.commit([write('a', { expectedVersion: 1 })]).catch((error) => error)
    let error = await again()
    expect(error).toBeInstanceOf(TasksLocked)
    while (error instanceof TasksLocked) error = await again()
    expect(error).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('another client of the database has locked the task'),
    })
    expect(warnings).toEqual([
      [{ tasks: ['a'], count: 1 }, expect.stringContaining('has locked the rows of tasks')],
    ])
  })

  test('of a webhook holds commits up until it is free', async () => {
    const store = await open()
    await store.commit([
      write('a', working),
      { type: 'pushConfig', record: pushConfig('a', 'hook') },
    ])
    await lock('a', 'push', 'task_id')
    const removed = store.commit([{ type: 'deletePushConfig', taskId: 'a', id: 'hook' }])
    await expect.poll(() => store.health().reason).toContain('has locked')
    await unlock()
    expect(await removed).toEqual([{ version: 1 }])
    await expect.poll(() => store.health().writable).toBe(true)
  })

  test('holds the messages for its task up, and those for others only for a moment', async () => {
    const [a, b] = [await open(), await open()]
    for (const { feed } of [a, b]) await feed.join([], createListener().listener)
    await a.commit([write('t', working), write('u', working)])
    await lock('t')
    const held = b.feed.forward('t', { kind: 'cancel', key: 'k' }, 10)
    expect(await b.feed.forward('u', { kind: 'cancel', key: 'l' }, 10)).toBe('stored')
    await unlock()
    expect(await held).toBe('stored')
  })

  test('holds up neither the watches of other tasks nor the end of a replica', async () => {
    const world = openPostgresWorld(database, 'never')
    onTestFinished(() => world.close())
    schema = world.schema
    const [a, b] = [await world.open(), await world.open()]
    const { heard, listener } = createListener()
    await a.feed.join([{ agent: 'agent', build: '' }], createListener().listener)
    await b.feed.join([{ agent: 'agent', build: '' }], listener)
    await a.commit([write('t', working), write('u', working)])
    await lock('t')
    for (const id of ['t', 'u']) b.feed.watch(id)
    await world.until(() => heard.some(([kind, id]) => kind === 'grown' && id === 'u'))
    await a.commit([write('u', { ...working, expectedVersion: 1 })])
    await world.until(() => heard.some(([, id, version]) => id === 'u' && version === 2))
    await a.close()
    await world.until(async () => (await b.claim()).some(({ id }) => id === 'u'))
    await unlock()
    await world.until(async () => (await b.claim()).some(({ id }) => id === 't'))
    await world.until(async () => {
      const [row] = await database.query(`SELECT watchers FROM ${schema}.task WHERE id = 't'`)
      return Array.isArray(row?.watchers) && row.watchers.includes(b.feed.replica)
    })
  })

  test.each<[string, readonly Write[]]>([
    ['tasks', [write('a'), write('b', working)]],
    ['tasks that change', [write('old', { expectedVersion: 1 })]],
    ['a task twice', [write('a', working), write('a', { expectedVersion: 1 })]],
    ['what is no task', [{ type: 'contextValue', scope, contextId: 'c', key: 'k', value: 1 }]],
    ['what cannot be stored', [write('a'), write('a\u0000')]],
  ])('bounds the waits of one transaction alone: %s', async (_, writes) => {
    const store = await open()
    await store.commit([write('old', working)])
    const link = new DatabaseLink({
      url: database.url,
      tls: undefined,
      statementTimeoutMs: 30_000,
      name: 'test',
    })
    onTestFinished(() => link.close())
    const db = {
      ...{ link, names: namesIn(schema), clock: systemClock, logger: silent, replica: () => 0 },
      ...{ leaseMs: 5_000, commitTimeoutMs: 30_000 },
    }
    const commits = new Commits(db, { committed() {}, failed() {} })
    const results = await commits.commit(writes.map((one) => toLine(one, 1_000_000)))
    expect(results).toHaveLength(writes.length)
    expect(await link.query({ text: 'SHOW lock_timeout' })).toEqual([{ lock_timeout: '0' }])
  })
})
