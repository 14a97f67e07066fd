import { describe, expect, test } from 'vitest'
import type { LogRecord, Scope } from '../../../src/store/store.ts'
import type { StoreUnderTest } from '../store.ts'
import { at, pushConfig, scope, write } from './samples.ts'

/** Versions, logs, snapshots, idempotency, deletion. */
export function describeWrites(under: StoreUnderTest): void {
  describe('tasks', () => {
    test('a task is read as it was written', async () => {
      const sample = write('t', { records: 4 })
      expect(await under.store.commit([sample])).toEqual([{ version: 4 }])
      expect(await under.store.get('t')).toEqual({
        head: sample.head,
        version: 4,
        task: sample.task,
        taskVersion: 4,
      })
      expect(await under.store.records('t', 0)).toEqual(sample.records)
    })

    test('a question is read as it was written, wherever it stands in the history', async () => {
      const sample = write('t', { state: 'TASK_STATE_INPUT_REQUIRED' })
      const { task } = sample
      if (!task) throw new Error('A sample has a snapshot')
      const question = { messageId: 'q', role: 'ROLE_AGENT', parts: [{ text: 'Which?' }] } as const
      const [said] = task.history ?? []
      const asked = { ...task, status: { ...task.status, message: question } }
      const histories = [[said, question], [question, said], [said], undefined]
      for (const [expectedVersion, list] of histories.entries()) {
        const history = list?.flatMap((one) => one ?? [])
        const { history: _, ...bare } = asked
        const one = history ? { ...asked, history } : bare
        const { records } = write('t', { expectedVersion })
        await under.store.commit([{ ...sample, task: one, expectedVersion, records }])
        expect((await under.store.get('t'))?.task).toEqual(one)
      }
    })

    test('a task that opens with more than the message before it is read as it was written', async () => {
      const sample = write('t')
      const { task } = sample
      const [said] = task?.history ?? []
      if (!task || !said) throw new Error('A sample has a snapshot with a message')
      const answer = { messageId: 'a', role: 'ROLE_AGENT', parts: [{ text: 'Yes' }] } as const
      const opening = { ...task, history: [said, answer] }
      const records = [
        { seq: 1, kind: 'message', turn: 1, message: said, request: { userId: '' } },
        { seq: 2, kind: 'event', event: { task: opening } },
      ] as const
      await under.store.commit([{ ...sample, task: opening, records }])
      expect(await under.store.records('t', 0)).toEqual(records)
    })

    test('a task that is not there has neither a value nor a log', async () => {
      expect(await under.store.get('nobody')).toBeUndefined()
      expect(await under.store.records('nobody', 0)).toEqual([])
      expect(await under.store.pushConfigs('nobody')).toEqual([])
    })

    test('an empty commit does nothing', async () => {
      expect(await under.store.commit([])).toEqual([])
    })

    test('a stale write is refused alone and the stored task stays', async () => {
      const { store } = under
      await store.commit([write('t', { records: 2, text: 'first' })])
      const results = await store.commit([
        write('a'),
        write('t', { text: 'second' }),
        write('t', { expectedVersion: 1, text: 'third' }),
        write('unknown', { expectedVersion: 3 }),
        write('b'),
      ])
      expect(results).toEqual([
        { version: 1 },
        { conflict: 2 },
        { conflict: 2 },
        { conflict: 0 },
        { version: 1 },
      ])
      expect((await store.get('t'))?.task).toEqual(write('t', { text: 'first' }).task)
      expect(await store.records('t', 0)).toHaveLength(2)
      expect(await store.get('unknown')).toBeUndefined()
      expect((await store.get('b'))?.version).toBe(1)
    })

    test('a write without a snapshot is refused where the task is behind it or ahead of it', async () => {
      const { store } = under
      const state = 'TASK_STATE_WORKING'
      await store.commit([write('t', { state, records: 2 })])
      for (const expectedVersion of [1, 3])
        expect(
          await store.commit([write('t', { state, expectedVersion, snapshot: false })]),
        ).toEqual([{ conflict: 2 }])
      expect(await store.get('t')).toMatchObject({ version: 2 })
      expect((await store.records('t', 0)).map(seqOf)).toEqual([1, 2])
    })

    test('several writes of one task in one commit follow each other', async () => {
      const results = await under.store.commit([
        write('t', { state: 'TASK_STATE_SUBMITTED' }),
        write('t', { state: 'TASK_STATE_WORKING', expectedVersion: 1, records: 2 }),
        write('t', { expectedVersion: 3 }),
      ])
      expect(results).toEqual([{ version: 1 }, { version: 3 }, { version: 4 }])
      expect((await under.store.records('t', 0)).map(seqOf)).toEqual([1, 2, 3, 4])
    })

    test('writes of all kinds about one task take effect in their order', async () => {
      const { store } = under
      const state = 'TASK_STATE_WORKING'
      const results = await store.commit([
        write('t', { state }),
        write('t', { state, expectedVersion: 1 }),
        { type: 'pushConfig', record: pushConfig('t', 'a') },
        write('t', { state, expectedVersion: 2 }),
        { type: 'deleteTask', id: 't' },
        write('t', { text: 'again' }),
      ])
      const versions = [1, 2, 2, 3, 0, 1]
      expect(results).toEqual(versions.map((version) => ({ version })))
      expect(await store.get('t')).toMatchObject({ version: 1 })
      expect(await store.records('t', 0)).toHaveLength(1)
      expect(await store.pushConfigs('t')).toEqual([])
    })

    test('concurrent writes of one version have one winner', async () => {
      const { store } = under
      await store.commit([write('t', { state: 'TASK_STATE_WORKING' })])
      const results = await Promise.all(
        Array.from({ length: 8 }, () => store.commit([write('t', { expectedVersion: 1 })])),
      )
      expect(results.flat().filter((result) => 'version' in result)).toHaveLength(1)
      expect(results.flat().filter((result) => 'conflict' in result)).toHaveLength(7)
      expect(await store.records('t', 0)).toHaveLength(2)
    })

    test('a write without a snapshot moves the columns and the log, not the task', async () => {
      const { store } = under
      await store.commit([write('t', { state: 'TASK_STATE_SUBMITTED', text: 'old' })])
      await store.commit([
        write('t', {
          expectedVersion: 1,
          records: 2,
          state: 'TASK_STATE_WORKING',
          second: 9,
          snapshot: false,
        }),
      ])
      const stored = await store.get('t')
      expect(stored).toMatchObject({ version: 3, taskVersion: 1 })
      expect(stored?.head).toMatchObject({ state: 'TASK_STATE_WORKING', timestamp: at(9) })
      expect(stored?.task.status.state).toBe('TASK_STATE_SUBMITTED')
      await store.commit([write('t', { expectedVersion: 3, text: 'new' })])
      expect(await store.get('t')).toMatchObject({ version: 4, taskVersion: 4 })
    })

    test('work left, generation and build are columns: current whatever the age of the snapshot', async () => {
      const { store } = under
      const state = 'TASK_STATE_WORKING'
      await store.commit([write('t', { state, generation: 1, build: 'first' })])
      const later = { expectedVersion: 1, state, snapshot: false, generation: 7 } as const
      await store.commit([write('t', { ...later, busy: false, build: 'second' })])
      const { head } = (await store.get('t')) ?? {}
      expect(head).toMatchObject({ busy: false, generation: 7, build: 'second' })
      const [listed] = (await store.list({ scope, limit: 1 })).tasks
      expect(listed?.head).toEqual(head)
    })

    test('a snapshot may be rewritten without records', async () => {
      const { store } = under
      await store.commit([write('t', { records: 2 })])
      const rewrite = write('t', { expectedVersion: 2, records: 0, text: 'merged' })
      expect(await store.commit([rewrite])).toEqual([{ version: 2 }])
      expect(await store.get('t')).toMatchObject({ version: 2, task: rewrite.task })
    })

    test('a task that ended in its first commit can be continued without losing its log', async () => {
      const { store } = under
      await store.commit([write('t', { state: 'TASK_STATE_INPUT_REQUIRED', records: 3 })])
      await store.commit([
        write('t', {
          state: 'TASK_STATE_WORKING',
          expectedVersion: 3,
          records: 2,
          snapshot: false,
        }),
      ])
      await store.commit([write('t', { expectedVersion: 5, records: 2 })])
      expect((await store.records('t', 0)).map(seqOf)).toEqual([1, 2, 3, 4, 5, 6, 7])
      expect((await store.records('t', 2)).map(seqOf)).toEqual([3, 4, 5, 6, 7])
    })
  })

  describe('the log', () => {
    test('is read from any place and up to a limit', async () => {
      const { store } = under
      await store.commit([write('t', { state: 'TASK_STATE_WORKING', records: 3 })])
      for (const expectedVersion of [3, 5, 7])
        await store.commit([
          write('t', { state: 'TASK_STATE_WORKING', expectedVersion, records: 2, snapshot: false }),
        ])
      const seqs = async (after: number, limit?: number) =>
        (await store.records('t', after, limit)).map(seqOf)
      expect(await seqs(0)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
      expect(await seqs(4)).toEqual([5, 6, 7, 8, 9])
      expect(await seqs(0, 4)).toEqual([1, 2, 3, 4])
      expect(await seqs(5, 2)).toEqual([6, 7])
      expect(await seqs(8, 100)).toEqual([9])
      expect(await seqs(9)).toEqual([])
      expect(await seqs(100)).toEqual([])
    })

    test('is read from any place of a long write', async () => {
      const { store } = under
      const state = 'TASK_STATE_WORKING'
      await store.commit([write('t', { state, records: 300 })])
      await store.commit([write('t', { state, expectedVersion: 300, records: 300 })])
      for (const after of [0, 1, 127, 128, 129, 256, 299, 300, 427, 428, 556, 599, 600]) {
        const seqs = (await store.records('t', after, 200)).map(seqOf)
        const count = Math.min(200, 600 - after)
        expect(seqs).toEqual(Array.from({ length: count }, (_, i) => after + 1 + i))
      }
    })

    test('with a gap is refused, and nothing of its commit is stored', async () => {
      const { store } = under
      const gap = { ...write('gap'), records: write('gap', { expectedVersion: 4 }).records }
      await expect(store.commit([write('other'), gap])).rejects.toThrow(/gap/)
      expect(await store.get('other')).toBeUndefined()
      expect(await store.get('gap')).toBeUndefined()
    })

    test('begins with a snapshot, or not at all', async () => {
      const { store } = under
      await expect(store.commit([write('t', { snapshot: false })])).rejects.toThrow(/snapshot/)
      await expect(store.commit([write('t', { records: 0 })])).rejects.toThrow(/records/)
      expect(await store.get('t')).toBeUndefined()
    })

    test('given out is not changed by what is written later', async () => {
      const { store } = under
      await store.commit([write('t', { state: 'TASK_STATE_WORKING' })])
      const [stored, records] = [await store.get('t'), await store.records('t', 0)]
      await store.commit([write('t', { expectedVersion: 1, records: 3 })])
      expect(stored).toMatchObject({ version: 1, head: { state: 'TASK_STATE_WORKING' } })
      expect(records.map(seqOf)).toEqual([1])
    })
  })

  describe('idempotency keys', () => {
    test('lead a second task of the same caller to the first', async () => {
      const { store } = under
      await store.commit([write('first', { idempotencyKey: 'k' })])
      expect(await store.commit([write('second', { idempotencyKey: 'k' })])).toEqual([
        { existing: 'first' },
      ])
      expect(await store.get('second')).toBeUndefined()
      expect(await store.findByKey(scope, 'k')).toBe('first')
      expect(await store.findByKey(scope, 'other')).toBeUndefined()
    })

    test('belong to one scope each', async () => {
      const { store } = under
      for (const [i, other] of otherScopes.entries())
        expect(await store.commit([write(`t${i}`, { idempotencyKey: 'k', scope: other })])).toEqual(
          [{ version: 1 }],
        )
      expect(await store.findByKey(scope, 'k')).toBeUndefined()
      for (const [i, other] of otherScopes.entries())
        expect(await store.findByKey(other, 'k')).toBe(`t${i}`)
    })

    test('let one of two racing tasks in', async () => {
      const { store } = under
      const race = await Promise.all(
        ['a', 'b', 'c'].map((id) => store.commit([write(id, { idempotencyKey: 'k' })])),
      )
      const winner = await store.findByKey(scope, 'k')
      expect(race.flat().filter((result) => 'version' in result)).toHaveLength(1)
      expect(race.flat().filter((r) => 'existing' in r && r.existing === winner)).toHaveLength(2)
      const same = [write('x', { idempotencyKey: 'one' }), write('y', { idempotencyKey: 'one' })]
      expect(await store.commit(same)).toEqual([{ version: 1 }, { existing: 'x' }])
    })

    test('count only where a task begins', async () => {
      const { store } = under
      await store.commit([write('first', { idempotencyKey: 'k' }), write('other')])
      const later = { expectedVersion: 1, idempotencyKey: 'k' }
      expect(await store.commit([write('first', later)])).toEqual([{ version: 2 }])
      expect(await store.commit([write('other', later)])).toEqual([{ version: 2 }])
      const unused = { expectedVersion: 2, idempotencyKey: 'late' }
      expect(await store.commit([write('other', unused)])).toEqual([{ version: 3 }])
      expect(await store.findByKey(scope, 'k')).toBe('first')
      expect(await store.findByKey(scope, 'late')).toBeUndefined()
      expect(await store.commit([write('new', { idempotencyKey: 'late' })])).toEqual([
        { version: 1 },
      ])
      expect(await store.findByKey(scope, 'late')).toBe('new')
    })

    test('differ however long they are, and lead back to a task that was sent twice itself', async () => {
      const { store } = under
      const long = 'k'.repeat(600)
      const keyed = (id: string, idempotencyKey: string) =>
        store.commit([write(id, { idempotencyKey })])
      expect(await keyed('a', `${long}a`)).toEqual([{ version: 1 }])
      expect(await keyed('b', `${long}b`)).toEqual([{ version: 1 }])
      expect(await keyed('b', `${long}b`)).toEqual([{ existing: 'b' }])
      expect(await store.findByKey(scope, `${long}a`)).toBe('a')
      expect(await store.findByKey(scope, long)).toBeUndefined()
    })

    test('are free again when their task is deleted', async () => {
      const { store } = under
      await store.commit([write('t', { idempotencyKey: 'k' })])
      await store.commit([{ type: 'deleteTask', id: 't' }])
      expect(await store.findByKey(scope, 'k')).toBeUndefined()
      expect(await store.commit([write('u', { idempotencyKey: 'k' })])).toEqual([{ version: 1 }])
    })
  })

  describe('scopes', () => {
    test('hide a task from all others', async () => {
      const { store } = under
      await store.commit([write('t')])
      expect((await store.get('t', scope))?.version).toBe(1)
      for (const other of otherScopes) expect(await store.get('t', other)).toBeUndefined()
    })
  })

  describe('a deleted task', () => {
    test('is gone with its log, and only once', async () => {
      const { store } = under
      await store.commit([write('t', { state: 'TASK_STATE_WORKING', records: 2 }), write('stays')])
      expect(await store.commit([{ type: 'deleteTask', id: 't' }])).toEqual([{ version: 0 }])
      expect(await store.commit([{ type: 'deleteTask', id: 't' }])).toEqual([{ conflict: 0 }])
      expect(await store.get('t')).toBeUndefined()
      expect(await store.records('t', 0)).toEqual([])
      expect((await store.list({ scope, limit: 10 })).total).toBe(1)
      expect(await store.commit([write('t')])).toEqual([{ version: 1 }])
      expect(await store.records('t', 0)).toHaveLength(1)
    })
  })

  describe('a closed store', () => {
    test('takes no writes and is closed twice without harm', async () => {
      const { store } = under
      expect(store.health()).toEqual({ writable: true })
      await store.close()
      await store.close()
      await expect(store.commit([write('t')])).rejects.toMatchObject({ code: 'unavailable' })
      expect(store.health()).toMatchObject({ writable: false })
    })

    test('has stored what was committed before it was closed', async () => {
      const { store } = under
      const commits = ['a', 'b', 'c'].map((id) => store.commit([write(id)]))
      await store.close()
      expect((await Promise.all(commits)).flat()).toEqual(Array(3).fill({ version: 1 }))
    })
  })
}

/** Scopes that differ from the samples' in one member each, or read alike when written in a row. */
export const otherScopes: readonly Scope[] = [
  { ...scope, agent: 'other' },
  { ...scope, tenant: 'other' },
  { ...scope, owner: 'other' },
  { agent: 'agenttenant', tenant: '', owner: 'owner' },
  { agent: 'agent', tenant: 'tenantowner', owner: '' },
]

function seqOf(record: LogRecord): number {
  return record.seq
}
