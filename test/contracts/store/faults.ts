import { describe, expect, test } from 'vitest'
import type { Json } from '../../../src/protocol/types.ts'
import { createDeferred } from '../../../src/shared/async.ts'
import type { LogRecord, TaskWrite } from '../../../src/store/store.ts'
import { faulty, only } from '../../fixtures/faulty-store.ts'
import type { StoreUnderTest } from '../store.ts'
import { scope, write } from './samples.ts'

/** What a store owes its callers when something goes wrong with a write, or with the way to the store and back. */
export function describeFaults(under: StoreUnderTest): void {
  describe('a write that cannot be serialised', () => {
    test.each(Object.keys(culprits))('because of %s is refused alone', async (name) => {
      const { store } = under
      await store.commit([write('stored', { state: 'TASK_STATE_WORKING' })])
      const results = await store.commit([
        write('before'),
        spoilt(write('new', { idempotencyKey: 'k' }), name),
        spoilt(write('stored', { expectedVersion: 1, text: 'changed' }), name),
        { type: 'contextValue', scope, contextId: 'c', key: 'k', value: culprit(name) },
        write('after'),
      ])
      const refused = { refused: expect.any(String) }
      expect(results).toEqual([{ version: 1 }, refused, refused, refused, { version: 1 }])
      expect(await store.get('new')).toBeUndefined()
      expect(await store.findByKey(scope, 'k')).toBeUndefined()
      expect((await store.contextValues(scope, 'c')).size).toBe(0)
      expect(await store.get('stored')).toMatchObject({ version: 1 })
      expect(await store.records('stored', 0)).toHaveLength(1)
      expect(store.health()).toEqual({ writable: true })
    })

    test('says which task it was, and not what the value said', async () => {
      const [result] = await under.store.commit([spoilt(write('t'), 'a toJSON that throws')])
      expect(result).toEqual({ refused: expect.stringContaining('Task t') })
      expect(JSON.stringify(result)).not.toContain('secret')
    })

    test('leaves room for another write of the same task', async () => {
      const { store } = under
      await store.commit([spoilt(write('t'), 'a BigInt')])
      expect(await store.commit([write('t')])).toEqual([{ version: 1 }])
      await store.commit([spoilt(write('t', { expectedVersion: 1 }), 'a BigInt')])
      expect(await store.commit([write('t', { expectedVersion: 1 })])).toEqual([{ version: 2 }])
    })
  })

  test.each([
    ['', 'x'.repeat(50_000)],
    [' in bytes, not in characters,', '€'.repeat(20_000)],
  ])('a write that is too large%s is refused alone', async (_how, result) => {
    const store = await under.open({ maxTaskBytes: 100_000 })
    const big = write('big', { records: 3 })
    const large = { ...big, records: big.records.map(({ seq }) => enlarged(seq, result)) }
    const results = await store.commit([write('a'), large, write('b')])
    expect(results).toEqual([{ version: 1 }, { refused: expect.any(String) }, { version: 1 }])
    expect(results[1]).toEqual({ refused: expect.stringContaining('100000 bytes') })
    expect(await store.get('big')).toBeUndefined()
    expect(store.health()).toEqual({ writable: true })
  })

  test('a value of a context that is too large is refused alone', async () => {
    const store = await under.open({ maxTaskBytes: 100_000 })
    const place = { type: 'contextValue', scope, contextId: 'c' } as const
    const results = await store.commit([
      write('t', { contextId: 'c' }),
      { ...place, key: 'large', value: 'x'.repeat(110_000) },
      { ...place, key: 'small', value: 'x'.repeat(90_000) },
    ])
    const refused = { refused: expect.stringContaining('100000 bytes') }
    expect(results).toEqual([{ version: 1 }, refused, { version: 0 }])
    expect([...(await store.contextValues(scope, 'c')).keys()]).toEqual(['small'])
  })

  describe('a commit that is refused as a whole', () => {
    test('has stored nothing, and can be made again', async () => {
      const store = faulty(under.store, { fault: only(1, 'refuse') })
      const writes = [write('a', { idempotencyKey: 'k' }), write('b')]
      await expect(store.commit(writes)).rejects.toMatchObject({ code: 'unavailable' })
      expect(await store.get('a')).toBeUndefined()
      expect(await store.findByKey(scope, 'k')).toBeUndefined()
      expect(await store.commit(writes)).toEqual([{ version: 1 }, { version: 1 }])
    })
  })

  describe('a commit whose answer is lost', () => {
    test('is known again when it is repeated: by its version, or by its key', async () => {
      const store = faulty(under.store, { fault: only(1, 'loseAnswer') })
      const writes = [write('plain', { records: 2 }), write('keyed', { idempotencyKey: 'k' })]
      await expect(store.commit(writes)).rejects.toMatchObject({ code: 'unavailable' })
      expect(await store.commit(writes)).toEqual([{ conflict: 2 }, { existing: 'keyed' }])
      expect(await store.records('plain', 0)).toHaveLength(2)
    })
  })

  describe('a process that dies', () => {
    test.each([
      ['before', 1],
      ['after', 2],
    ] as const)('right %s a commit leaves what was stored by then', async (when, version) => {
      const dying = faulty(under.store, {
        fault: only(2, when === 'before' ? 'dieBefore' : 'dieAfter'),
      })
      await dying.commit([write('t', { state: 'TASK_STATE_WORKING' })])
      let answered = false
      void dying.commit([write('t', { expectedVersion: 1 })]).finally(() => (answered = true))
      await expect.poll(async () => (await under.store.get('t'))?.version).toBe(version)
      void dying.commit([write('later')])
      expect(await under.store.get('later')).toBeUndefined()
      expect([answered, dying.dead, dying.commits]).toEqual([false, true, 2])
    })
  })

  test('a commit that takes long holds up no read, and shows nothing before it is stored', async () => {
    const held = createDeferred<void>()
    const store = faulty(under.store, { delay: () => held.promise })
    const slow = store.commit([write('slow')])
    expect(await store.get('slow')).toBeUndefined()
    expect((await store.list({ scope, limit: 1 })).total).toBe(0)
    held.resolve()
    expect(await slow).toEqual([{ version: 1 }])
    expect(await store.get('slow')).toBeDefined()
  })
}

const circle: Record<string, unknown> = { name: 'circle' }
circle.self = [circle]
const culprits: Readonly<Record<string, unknown>> = {
  'a BigInt': { deep: [1n] },
  'a reference to itself': circle,
  'a toJSON that throws': {
    toJSON: () => {
      throw new Error('a secret')
    },
  },
}

function culprit(name: string): Json {
  return culprits[name] as Json // which it is not: that is the point
}

/** The write with a value in it that JSON cannot express. */
function spoilt(sample: TaskWrite, name: string): TaskWrite {
  const records = sample.records.map(
    ({ seq }): LogRecord => ({ seq, kind: 'state', key: 'k', value: culprit(name) }),
  )
  return { ...sample, records }
}

function enlarged(seq: number, result: string): LogRecord {
  return { seq, kind: 'step', turn: 1, name: 'read', result }
}
