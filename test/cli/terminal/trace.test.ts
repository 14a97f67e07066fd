import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Piece } from '../../../src/cli/terminal/text.ts'
import { type TraceNode, toTraceLines, toTree } from '../../../src/cli/terminal/trace.ts'
import { widthOf } from '../../../src/cli/terminal/width.ts'
import type { JsonObject } from '../../../src/index.ts'
import { toPrintableLine } from '../../../src/shared/text.ts'

const start = Date.parse('2026-01-01T00:00:00Z')

/** Entries that follow each other by a tenth of a second. */
function entries(...all: readonly JsonObject[]): readonly JsonObject[] {
  return all.map((entry, i) => ({ time: new Date(start + i * 100).toISOString(), ...entry }))
}

function linesOf(all: readonly JsonObject[], columns = 80, now = start + 10_000): string[] {
  const text = (piece: Piece): string => (typeof piece === 'string' ? piece : piece.text)
  return toTraceLines(toTree(all), { columns, now }).map((line) =>
    line.map(text).join('').trimEnd(),
  )
}

const call = (member: string, step: string): JsonObject => ({
  call: `${step}:${member}`,
  team: 'team',
  member,
  step,
})

const asked = (member: string, step: string, more: JsonObject = {}): JsonObject => ({
  type: 'delegation',
  try: 1,
  text: `ask ${member}`,
  ...call(member, step),
  ...more,
})

const answered = (member: string, step: string, more: JsonObject = {}): JsonObject => ({
  type: 'reply',
  state: 'TASK_STATE_COMPLETED',
  durationMs: 1_234,
  text: `${member} **says**`,
  ...call(member, step),
  ...more,
})

describe('a trace as a tree', () => {
  test('shows members with times, tokens and first words, and what all of it took', () => {
    const tokens = { inputTokens: 1_200, outputTokens: 34 }
    const all = entries(
      asked('a', '1'),
      answered('a', '1', tokens),
      asked('b', '2'),
      answered('b', '2', { ...tokens, durationMs: 61_000 }),
    )
    expect(linesOf(all)).toEqual([
      'trace  300 ms  2,400 → 68 tokens',
      '├─ a      1.2 s  1,200 → 34  a says',
      '└─ b  1 min 1 s  1,200 → 34  b says',
    ])
  })

  test('shows what members and models cost, where that is known', () => {
    const all = entries(
      asked('a', '1'),
      { type: 'model', model: 'gpt', durationMs: 5, costUsd: 0.0000123456, path: '1:a' },
      answered('a', '1', { inputTokens: 9, outputTokens: 1, costUsd: 0.012345 }),
      asked('b', '2'),
      answered('b', '2', { costUsd: 1.2 }),
      asked('c', '3'),
      answered('c', '3'),
    )
    expect(linesOf(all)).toEqual([
      'trace  600 ms  9 → 1 tokens  $1.21',
      '├─ a             1.2 s  9 → 1     $0.0123  a says',
      '│  └─ model gpt   5 ms         $0.0000123',
      '├─ b             1.2 s              $1.20  b says',
      '└─ c             1.2 s                     c says',
    ])
  })

  test('what a member did stands below it, through nested teams', () => {
    const all = entries(
      asked('inner', '1'),
      asked('leaf', '1', { path: '1:inner' }),
      { type: 'model', model: 'gpt', durationMs: 5, text: 'hm', path: '1:inner/1:leaf' },
      { type: 'tool', tool: 'search', arguments: '{"q":1}', durationMs: 7, path: '1:inner/1:leaf' },
      answered('leaf', '1', { path: '1:inner' }),
      answered('inner', '1'),
    )
    expect(linesOf(all)).toEqual([
      'trace  500 ms',
      '└─ inner              1.2 s  inner says',
      '   └─ leaf            1.2 s  leaf says',
      '      ├─ model gpt     5 ms  hm',
      '      └─ tool search   7 ms  {"q":1}',
    ])
  })

  test('those whom a lead calls while it works stand below it, later ones beside it', () => {
    const decision = { type: 'decision', team: 'team', member: 'lead', recipients: ['a'] }
    const all = entries(
      asked('lead', 'round-1'),
      decision,
      asked('a', 'round-1/a-1'),
      answered('a', 'round-1/a-1'),
      { type: 'tool', tool: 'delegate_to_a', failed: false, path: 'round-1:lead' },
      answered('lead', 'round-1'),
      { ...decision, reason: 'once more' },
      asked('a', 'round-2'),
      answered('a', 'round-2'),
    )
    expect(linesOf(all).slice(1)).toEqual([
      '├─ lead      1.2 s  lead says',
      '│  └─ a      1.2 s  a says',
      '├─ lead → a  once more',
      '└─ a         1.2 s  a says',
    ])
  })

  test('tells failures, further tries, who took the place, what was skipped and approved', () => {
    const failed = { type: 'failure', reason: 'timeout', durationMs: 50, ...call('a', '1') }
    const all = entries(
      asked('a', '1'),
      failed,
      { type: 'retry', try: 2, delayMs: 500, ...call('a', '1') },
      asked('a', '1', { try: 2 }),
      failed,
      { type: 'fallback', to: 'b', ...call('a', '1') },
      asked('b', '1'),
      answered('b', '1', { state: 'TASK_STATE_INPUT_REQUIRED' }),
      { type: 'skip', team: 'team', step: 'polish' },
      { type: 'approval', team: 'team', step: 'sign', verdict: 'approved', text: 'yes' },
      { type: 'tool-approval', agent: 'Desk', tool: 'pay', verdict: 'rejected', arguments: '{}' },
      { type: 'mine', text: 'of a member' },
    )
    expect(linesOf(all).slice(1)).toEqual([
      '├─ ✗ a (timeout, try 2)    50 ms  ask a',
      '├─ b takes the place of a',
      '├─ b (input-required)      1.2 s  b says',
      '├─ polish skipped',
      '├─ sign approved           yes',
      '├─ tool pay rejected',
      '└─ mine                    of a member',
    ])
  })

  test('what is under way shows how long it has been', () => {
    expect(linesOf(entries(asked('a', '1')), 80, start + 4_000)).toEqual([
      'trace  4.0 s',
      '└─ … a  4.0 s  ask a',
    ])
  })

  test('a second turn of the same step is a call of its own', () => {
    const all = entries(asked('a', '1'), answered('a', '1'), asked('a', '1'), answered('a', '1'))
    expect(linesOf(all)).toHaveLength(3)
  })

  test('stays within the columns, and within bounds', () => {
    const long = asked('m'.repeat(200), '1', { text: '漢'.repeat(500) })
    for (const columns of [20, 40, 80])
      for (const line of linesOf([long], columns).slice(1))
        expect(widthOf(line), line).toBeLessThanOrEqual(columns)
    const many = Array.from({ length: 3_000 }, (_, i) => asked(`m${i}`, '1'))
    expect(linesOf(many).at(-1)).toBe('… and 1000 more entries')
    const deep = Array.from({ length: 100 }, (_, i) => asked('m', '1', { path: pathOf(i) }))
    expect(Math.max(...toTree(deep).nodes.map(depthOf))).toBe(24)
  })

  const depthOf = ({ depth, children }: TraceNode): number =>
    Math.max(depth, ...children.map(depthOf))
  const pathOf = (depth: number): string => Array.from({ length: depth }, () => '1:m').join('/')

  test('takes whatever a stranger writes', () => {
    const keys = [
      'type',
      'member',
      'path',
      'step',
      'text',
      'recipients',
      'durationMs',
      'time',
      'try',
    ]
    const types = ['delegation', 'reply', 'failure', 'decision', 'tool', 'model', '__proto__', '']
    const value = fc.oneof(fc.jsonValue(), fc.constantFrom(...types, '1:a', 'a\u001b[2J\nb'))
    const entry = fc.dictionary(fc.constantFrom(...keys), value)
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 30 }), (all) => {
        // What JSON.parse gives is JSON.
        const lines = linesOf(JSON.parse(JSON.stringify(all)) as JsonObject[])
        for (const line of lines) expect(line).toBe(toPrintableLine(line))
      }),
    )
  })
})
