import { describe, expect, test } from 'vitest'
import type { Json } from '../../../src/protocol/types.ts'
import type { Scope, Write } from '../../../src/store/store.ts'
import type { StoreUnderTest } from '../store.ts'
import { scope, write } from './samples.ts'
import { otherScopes } from './writes.ts'

/** Values that belong to a context: kept beside its tasks, gone with the last of them. */
export function describeContexts(under: StoreUnderTest): void {
  const values = async (contextId = 'c', of: Scope = scope) =>
    Object.fromEntries(await under.store.contextValues(of, contextId))

  describe('context values', () => {
    test('are read as they were written; the last write wins and null deletes', async () => {
      const { store } = under
      await store.commit([write('t', { contextId: 'c' }), value('a', 1), value('b', [null, 'ü'])])
      expect(await values()).toEqual({ a: 1, b: [null, 'ü'] })
      const results = await store.commit([
        value('a', { n: 2 }),
        value('a', false),
        value('b', null),
      ])
      expect(results).toEqual(Array(3).fill({ version: 0 }))
      expect(await values()).toEqual({ a: false })
      await store.commit([value('a', null), value('never there', null)])
      expect((await store.contextValues(scope, 'c')).size).toBe(0)
    })

    test('may have any key', async () => {
      const { store } = under
      const keys = ['', '__proto__', 'constructor', 'corral:x', 'with \u0000 and "quotes"']
      await store.commit([write('t', { contextId: 'c' }), ...keys.map((key) => value(key, key))])
      const found = await store.contextValues(scope, 'c')
      expect(keys.map((key) => found.get(key))).toEqual(keys)
      expect(found.size).toBe(keys.length)
    })

    test('belong to one context of one scope', async () => {
      const { store } = under
      await store.commit([write('t', { contextId: 'c' }), value('k', 'mine')])
      for (const other of otherScopes) {
        await store.commit([{ ...value('k', 'theirs'), scope: other }])
        expect(await values('c', other)).toEqual({ k: 'theirs' })
      }
      expect(await values()).toEqual({ k: 'mine' })
      expect(await values('d')).toEqual({})
    })

    test('go with the last task of their context', async () => {
      const { store } = under
      const tasks = ['a', 'b'].map((id) => write(id, { contextId: 'c' }))
      await store.commit([...tasks, write('other', { contextId: 'd' })])
      await store.commit([value('k', 1), { ...value('k', 2), contextId: 'd' }])
      await store.commit([{ type: 'deleteTask', id: 'a' }])
      expect(await values()).toEqual({ k: 1 })
      await store.commit([{ type: 'deleteTask', id: 'b' }])
      expect(await values()).toEqual({})
      expect(await values('d')).toEqual({ k: 2 })
    })

    test('stay while another task of their context does, and go with those of one caller alone', async () => {
      const { store } = under
      const [other = scope] = otherScopes
      const theirs = { ...value('k', 'theirs'), scope: other }
      await store.commit([
        write('mine', { contextId: 'c' }),
        write('theirs', { contextId: 'c', scope: other }),
        ...[value('k', 'mine'), theirs],
      ])
      await store.commit([{ type: 'deleteTask', id: 'mine' }])
      expect(await values()).toEqual({})
      expect(await values('c', other)).toEqual({ k: 'theirs' })
    })

    test('given out are not changed by what is written later', async () => {
      const { store } = under
      await store.commit([write('t', { contextId: 'c' }), value('k', 1)])
      const before = await store.contextValues(scope, 'c')
      await store.commit([value('k', 2), value('other', 3)])
      expect([...before]).toEqual([['k', 1]])
    })
  })
}

function value(key: string, of: Json | null): Extract<Write, { type: 'contextValue' }> {
  return { type: 'contextValue', scope, contextId: 'c', key, value: of }
}
