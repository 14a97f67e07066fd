import { afterEach, beforeEach, expect, it } from 'vitest'
import { createDeferred } from '../../../src/shared/async.ts'
import { toDatabaseError } from '../../../src/store/postgres/connection.ts'
import {
  openPostgresStore,
  type PostgresStore,
  type PostgresStoreOptions,
} from '../../../src/store/postgres/store.ts'
import type { TaskWrite, Write } from '../../../src/store/store.ts'
import { createListener } from '../../contracts/feed/world.ts'
import { pushConfig, type SampleOptions, scope, write } from '../../contracts/store/samples.ts'
import { type CuttingProxy, isSession, openCuttingProxy } from '../../support/cutting-proxy.ts'
import { describePostgres, usePostgres } from '../../support/postgres.ts'
import { startPostgres } from '../../support/postgres-server.ts'

describePostgres('a store whose PostgreSQL', () => {
  const database = usePostgres()
  let proxy: CuttingProxy
  let opened: PostgresStore[] = []
  let schema: string
  beforeEach(async () => {
    schema = database.newSchema()
    proxy = await openCuttingProxy(database.url)
  })
  afterEach(async () => {
    proxy.heal()
    await Promise.all(opened.map((store) => store.close()))
    opened = []
    await proxy.close()
  })

  async function open(options: Partial<PostgresStoreOptions> = {}): Promise<PostgresStore> {
    const store = await openPostgresStore({ url: proxy.url, schema, ...options })
    opened.push(store)
    return store
  }

  const isCommit = (statement: string) => /^WITH (?:added|changed)/.test(statement)
  const working = { state: 'TASK_STATE_WORKING' } as const

  const culprits: Record<string, TaskWrite> = {
    'an id with U+0000': write('a\u0000b'),
    'a context with U+0000': write('bad', { contextId: '\u0000' }),
    'an owner with U+0000': write('bad', { scope: { ...scope, owner: 'x\u0000' } }),
    'a key with U+0000': write('bad', { idempotencyKey: 'k\u0000' }),
    'an id that is too long for an index': write(unlike(5_000)),
    'a context that is too long for an index': write('bad', { contextId: unlike(5_000) }),
  }
  it.each(Object.keys(culprits))('does not take %s refuses that write alone', async (name) => {
    const store = await open()
    await store.commit([write('old', working)])
    const bad = culprits[name] ?? write('')
    const writes: Write[] = [
      ...Array.from({ length: 40 }, (_, i) => write(`t${i}`)),
      bad,
      write('old', { expectedVersion: 1 }),
      { type: 'pushConfig', record: pushConfig('old', 'a') },
      { type: 'pushConfig', record: pushConfig('old', 'a\u0000') },
      { type: 'contextValue', scope, contextId: 'c', key: 'k', value: 1 },
    ]
    const results = await store.commit(writes)
    const refused = { refused: expect.stringContaining('that the database cannot store') }
    const long = { refused: expect.stringContaining('longer than the database can store') }
    expect(results.slice(0, 40)).toEqual(Array(40).fill({ version: 1 }))
    expect(results.slice(40)).toEqual([
      name.includes('too long') ? long : refused,
      { version: 2 },
      { version: 2 },
      refused,
      { version: 0 },
    ])
    expect(store.health()).toEqual({ writable: true })
    expect((await store.list({ scope, limit: 1 })).total).toBe(41)
    expect(await store.get(bad.head.id)).toBeUndefined()
    expect(await store.pushConfigs('old')).toHaveLength(1)
  })

  it('cannot hold a text answers reads of it with nothing', async () => {
    const store = await open()
    const nul = 'a\u0000'
    expect(await store.get(nul)).toBeUndefined()
    expect(await store.records(nul, 0)).toEqual([])
    expect(await store.findByKey(scope, nul)).toBeUndefined()
    expect(await store.pushConfigs(nul)).toEqual([])
    expect((await store.contextValues(scope, nul)).size).toBe(0)
    const page = await store.list({ scope, contextId: nul, limit: 1 })
    expect(page).toEqual({ tasks: [], total: 0 })
    expect(await store.claimDeliveries(nul)).toEqual([])
  })

  it('takes long scopes and keys as they are', async () => {
    const store = await open()
    const long = { agent: unlike(256), tenant: unlike(256), owner: unlike(256) }
    const options: SampleOptions = { scope: long, contextId: 'ü'.repeat(256) }
    const key = unlike(3_000)
    const sample = write('t', { ...options, idempotencyKey: key })
    expect(await store.commit([sample, write('u', options)])).toEqual([
      { version: 1 },
      { version: 1 },
    ])
    expect((await store.get('t', long))?.head).toEqual(sample.head)
    expect(await store.findByKey(long, key)).toBe('t')
    expect(await store.findByKey(long, `${key}.`)).toBeUndefined()
    expect((await store.list({ scope: long, limit: 9 })).total).toBe(2)
    expect((await store.list({ scope, limit: 9 })).total).toBe(0)
  })

  it('answers a commit into a broken connection has stored it once, and the commit knows', async () => {
    const store = await open()
    await store.commit([write('old', working), write('other', working)])
    const lost = proxy.loseAnswer(isCommit)
    const committed = store.commit([
      write('new', { records: 3 }),
      write('keyed', { idempotencyKey: 'k' }),
      write('old', { expectedVersion: 1, records: 2 }),
      write('other', { ...working, expectedVersion: 1, records: 300 }),
    ])
    await lost
    expect((await database.query(`SELECT 1 FROM ${schema}.task`)).length).toBe(4)
    proxy.heal()
    expect(await committed).toEqual([
      { version: 3 },
      { version: 1 },
      { version: 3 },
      { version: 301 },
    ])
    expect(await store.records('old', 0)).toHaveLength(3)
    expect(await store.records('other', 0)).toHaveLength(301)
    expect((await store.list({ scope, limit: 1 })).total).toBe(4)
    expect(store.health()).toEqual({ writable: true })
  })

  it('answers a transaction into a broken connection has stored it once as well', async () => {
    const store = await open()
    await store.commit([write('t', working), write('gone')])
    const lost = proxy.loseAnswer((statement) => statement === 'COMMIT')
    const committed = store.commit([
      write('t', { ...working, expectedVersion: 1 }),
      write('t', { expectedVersion: 2 }),
      { type: 'pushConfig', record: pushConfig('t', 'a') },
      { type: 'deleteTask', id: 'gone' },
    ])
    await lost
    proxy.heal()
    expect(await committed).toEqual([
      { version: 2 },
      { version: 3 },
      { version: 3 },
      { version: 0 },
    ])
    expect(await store.records('t', 0)).toHaveLength(3)
    expect(await store.pushConfigs('t')).toHaveLength(1)
  })

  it('loses an answer does not take another writer for itself', async () => {
    const [store, other] = [await open(), await open({ url: database.url })]
    await store.commit([write('t', { state: 'TASK_STATE_INPUT_REQUIRED' })])
    // The statement of the first fails on the way there; the other one comes to the same version meanwhile.
    proxy.cut()
    const committed = store.commit([write('t', { expectedVersion: 1, text: 'mine' })])
    const [theirs] = [write('t', { expectedVersion: 1, second: 7, text: 'theirs' })]
    const changed = theirs.records.map(({ seq }) => ({ seq, kind: 'stop', turn: 1 }) as const)
    expect(await other.commit([{ ...theirs, records: changed }])).toEqual([{ version: 2 }])
    proxy.reset()
    proxy.heal()
    expect(await committed).toEqual([{ conflict: 2 }])
    expect((await store.records('t', 1))[0]?.kind).toBe('stop')
  })

  it('ends its connections is asked again on new ones', async () => {
    const store = await open({ name: schema })
    await store.commit([write('t')])
    for (let i = 0; i < 5; i++) {
      await database.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
        [schema],
      )
      expect((await store.get('t'))?.version).toBe(1)
      expect(await store.commit([write(`t${i}`)])).toEqual([{ version: 1 }])
    }
    expect(store.health()).toEqual({ writable: true })
  })

  it('locks rows for too long makes the commit fail as unavailable, and the next one succeeds', async () => {
    const store = await open({ statementTimeoutMs: 200 })
    await store.commit([write('t', working)])
    await database.query('BEGIN')
    await database.query(`SELECT 1 FROM ${schema}.task WHERE id = 't' FOR UPDATE`)
    const next = write('t', { expectedVersion: 1 })
    try {
      await expect(store.commit([next])).rejects.toMatchObject({
        code: 'unavailable',
        message: 'The task store cannot write: the database took too long',
      })
      expect(store.health()).toMatchObject({ writable: false })
    } finally {
      await database.query('ROLLBACK')
    }
    expect(await store.commit([next])).toEqual([{ version: 2 }])
    expect(store.health()).toEqual({ writable: true })
  })

  it('is away refuses commits after a while, says why, and takes them again by itself', async () => {
    const server = await startPostgres()
    try {
      const away = await openCuttingProxy(server.url)
      const store = await open({ url: away.url, commitTimeoutMs: 100 })
      await store.commit([write('t')])
      await server.restart()
      expect((await store.get('t'))?.version).toBe(1)
      away.kill()
      await expect(store.commit([write('u')])).rejects.toMatchObject({ code: 'unavailable' })
      await expect(store.get('t')).rejects.toMatchObject({ code: 'unavailable' })
      expect(store.health()).toEqual({
        writable: false,
        reason: 'The task store cannot write: the database cannot be reached',
      })
      await store.close()
      await away.close()
    } finally {
      await server.stop()
    }
  })

  it('comes back is found out without anybody writing', async () => {
    const probed = createDeferred<void>()
    const clock = {
      now: () => Date.now(),
      elapsed: () => performance.now(),
      after(ms: number, callback: () => void) {
        const timer = setTimeout(callback, ms === 1_000 ? 50 : ms)
        if (ms === 1_000) probed.resolve()
        return () => clearTimeout(timer)
      },
    }
    const store = await open({ commitTimeoutMs: 0, statementTimeoutMs: 300, clock })
    await store.commit([write('t')])
    await database.query(`ALTER TABLE ${schema}.task RENAME TO hidden`)
    await expect(store.commit([write('u')])).rejects.toMatchObject({ code: 'internal' })
    expect(store.health()).toMatchObject({ writable: false })
    await database.query(`ALTER TABLE ${schema}.hidden RENAME TO task`)
    await probed.promise
    await expect.poll(() => store.health()).toEqual({ writable: true })
  })

  it('has a pooler before it is asked there, but for the session of a replica', async () => {
    const direct = await openCuttingProxy(database.url)
    const store = await open({ sessionUrl: direct.url, logger: false })
    await store.feed.join([{ agent: 'agent', build: '' }], createListener().listener)
    await store.commit([write('t')])
    expect([direct, proxy].map(({ statements }) => statements.some(isSession))).toEqual([
      true,
      false,
    ])
    expect([direct, proxy].map(({ statements }) => statements.some(isCommit))).toEqual([
      false,
      true,
    ])
    await store.close()
    await direct.close()
  })

  it('has a pooler before it that mixes up prepared statements says what to set', async () => {
    await database.query('PREPARE twice AS SELECT 1')
    for (const sql of ['EXECUTE absent', 'PREPARE twice AS SELECT 2']) {
      const thrown = await database.query(sql).catch((error: unknown) => error)
      const { code, message } = toDatabaseError('read', thrown)
      expect(code).toBe('unavailable')
      expect(message).toContain('pool_mode = session')
    }
  })

  it('is not there, or not to be had, is named when the store is opened, without its password', async () => {
    const at = (url: string) => openPostgresStore({ url, schema })
    const { port } = new URL(database.url)
    await expect(at('postgres://me:secret@127.0.0.1:1/db')).rejects.toMatchObject({
      code: 'unavailable',
      message:
        'Cannot open the task store postgres://127.0.0.1:1/db: connect ECONNREFUSED 127.0.0.1:1',
    })
    await expect(at(`postgres://corral@127.0.0.1:${port}/nowhere`)).rejects.toThrow(
      'there is no such database (database "nowhere" does not exist)',
    )
    await expect(at(`${database.url}?sslmode=require`)).rejects.toThrow('SSL')
    await expect(openPostgresStore({ url: database.url, schema, tls: true })).rejects.toThrow(
      'The server does not support SSL connections',
    )
    await expect(at('nonsense')).rejects.toThrow('Cannot open the task store')
    await expect(openPostgresStore({ url: database.url, schema: 'A b' })).rejects.toThrow(
      'the schema "A b" is not a name',
    )
  })
})

/** A text of so many characters that nothing makes shorter. */
function unlike(length: number): string {
  let text = ''
  for (let i = 0; text.length < length; i++)
    text += String.fromCodePoint(0x4e00 + ((i * 7919) % 20_000))
  return text
}
