import { describe, expect, test } from 'vitest'
import type { TaskRecord } from '../../src/console/api.ts'
import type { JsonObject } from '../../src/protocol/types.ts'
import { hopsTokens, toHops, toOwnUses } from '../logic/hops.ts'
import { slowestOf, toLanes } from '../logic/lanes.ts'

const began = Date.parse('2026-01-01T00:00:00.000Z')

/** An entry of the trace, written so many milliseconds after the beginning. */
function at(seq: number, ms: number, entry: JsonObject): TaskRecord {
  return { seq, kind: 'trace', at: new Date(began + ms).toISOString(), entry }
}

const research = { call: '1:researcher', team: 'studio', member: 'researcher', step: '1' }
const writing = { call: '2:writers', team: 'studio', member: 'writers', step: '2' }
const composing = {
  ...{ call: '1:composer', team: 'writers', member: 'composer', step: '1' },
  path: '2:writers',
}

const log: readonly TaskRecord[] = [
  at(1, 0, { type: 'delegation', ...research, try: 1, text: 'find' }),
  at(2, 100, { type: 'failure', ...research, reason: 'unavailable', durationMs: 100 }),
  at(3, 100, { type: 'retry', ...research, try: 2, delayMs: 50 }),
  at(4, 150, { type: 'delegation', ...research, try: 2, text: 'find' }),
  at(5, 200, {
    ...{ type: 'tool', agent: 'researcher', tool: 'search', durationMs: 20, failed: false },
    ...{ arguments: '{}', result: 'found', path: '1:researcher' },
  }),
  at(6, 350, {
    ...{ type: 'reply', ...research, state: 'TASK_STATE_COMPLETED', durationMs: 200 },
    ...{ text: 'sources', inputTokens: 10, outputTokens: 5 },
  }),
  at(7, 350, { type: 'delegation', ...writing, try: 1, text: 'write' }),
  at(8, 350, { type: 'delegation', ...composing, try: 1, text: 'write' }),
  at(9, 850, {
    ...{ type: 'reply', ...composing, state: 'TASK_STATE_COMPLETED', durationMs: 500 },
    text: 'a story',
  }),
]

describe('The hops of a task', () => {
  test('each try is a hop with its own outcome', () => {
    const [first, second] = toHops(log)
    expect(first).toMatchObject({ try: 1, standing: 'retried', failure: 'unavailable' })
    expect(second).toMatchObject({ try: 2, standing: 'done', answer: 'sources', inputTokens: 10 })
    expect((second?.ended ?? 0) - (second?.began ?? 0)).toBe(200)
  })

  test('a try that failed is a failure until a later one has not', () => {
    expect(toHops(log.slice(0, 3)).map(({ standing }) => standing)).toEqual(['failed'])
    const again = at(5, 200, { type: 'failure', ...research, reason: 'gone', durationMs: 50 })
    const both = toHops([...log.slice(0, 4), again]).map(({ standing }) => standing)
    expect(both).toEqual(['failed', 'failed'])
  })

  test('the tokens of a task are those of its outermost members', () => {
    const used = { inputTokens: 3, outputTokens: 4 }
    const reply = { type: 'reply', state: 'TASK_STATE_COMPLETED', durationMs: 1, text: '' }
    const all = [...log, at(10, 900, { ...reply, ...writing, ...used })]
    const inner = at(9, 850, { ...reply, ...composing, ...used })
    const nested = all.map((record) => (record.seq === 9 ? inner : record))
    expect(hopsTokens(toHops(nested))).toBe(22)
  })

  test('tools belong to the hop whose member used them', () => {
    const [first, second] = toHops(log)
    expect(first?.uses).toEqual([])
    expect(second?.uses).toMatchObject([{ kind: 'tool', name: 'search', output: 'found' }])
  })

  test('the hops of nested teams lie deeper, and what has not ended runs', () => {
    const hops = toHops(log)
    expect(hops.map(({ member, depth }) => [member, depth])).toEqual([
      ['researcher', 0],
      ['researcher', 0],
      ['writers', 0],
      ['composer', 1],
    ])
    expect(hops[2]?.standing).toBe('running')
  })

  test('a question of a member is one that asks', () => {
    const reply = { type: 'reply', ...research, state: 'TASK_STATE_INPUT_REQUIRED', durationMs: 1 }
    const [hop] = toHops([log[0] ?? at(1, 0, {}), at(2, 5, { ...reply, text: 'which?' })])
    expect(hop).toMatchObject({ standing: 'asks', answer: 'which?' })
  })

  test('who stands in after a failure is named', () => {
    const fallback = { type: 'fallback', ...research, to: 'library' }
    const [hop] = toHops([...log.slice(0, 2), at(3, 110, fallback)])
    expect(hop).toMatchObject({ standing: 'failed', fallback: 'library' })
  })

  test('entries that nobody knows are passed over', () => {
    expect(toHops([at(1, 0, { type: 'surprise' }), at(2, 0, {})])).toEqual([])
  })

  test('an agent that is asked by nobody has its own rounds and tools', () => {
    const model = { type: 'model', agent: 'a', model: 'm', durationMs: 3, text: 'hi' }
    expect(toOwnUses([at(1, 0, model), ...log])).toMatchObject([{ kind: 'model', name: 'm' }])
  })
})

describe('The lanes of a timeline', () => {
  test('there is one per member, nested ones beneath their team', () => {
    const lanes = toLanes(toHops(log), began + 900)
    expect(lanes.map(({ member, depth }) => [member, depth])).toEqual([
      ['researcher', 0],
      ['writers', 0],
      ['composer', 1],
    ])
    expect(lanes.map(({ workMs }) => workMs)).toEqual([300, 550, 500])
  })

  test('a team that is asked twice has its members once', () => {
    const again = log.slice(6).map((record) => {
      if (record.kind !== 'trace') return record
      const { entry } = record
      const path = typeof entry.path === 'string' ? { path: '3:writers' } : { call: '3:writers' }
      return { ...record, seq: record.seq + 10, entry: { ...entry, ...path } }
    })
    const lanes = toLanes(toHops([...log, ...again]), began + 2_000)
    expect(lanes.map(({ member }) => member)).toEqual(['researcher', 'writers', 'composer'])
    expect(lanes[2]?.hops).toHaveLength(2)
  })

  test('the slowest hop is one that called nobody else', () => {
    const reply = { type: 'reply', ...writing, state: 'TASK_STATE_COMPLETED', durationMs: 5_000 }
    const hops = toHops([...log, at(10, 5_350, { ...reply, text: '' })])
    expect(slowestOf(hops)?.member).toBe('composer')
    expect(slowestOf(hops.slice(0, 1))).toBe(undefined)
  })
})
