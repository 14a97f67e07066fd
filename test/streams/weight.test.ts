import { describe, expect, test } from 'vitest'
import type { Sequenced, StreamResponse } from '../../src/protocol/types.ts'
import type { LogRecord } from '../../src/store/store.ts'
import { Hub } from '../../src/streams/hub.ts'

const large = 'x'.repeat(100_000)
const ids = { taskId: 't', contextId: 'c' }

const kinds: Readonly<Record<string, StreamResponse>> = {
  'texts of an artifact': {
    artifactUpdate: { ...ids, artifact: { artifactId: 'a', parts: [{ text: large }] } },
  },
  'data of an artifact': {
    artifactUpdate: { ...ids, artifact: { artifactId: 'a', parts: [{ data: { a: [large] } }] } },
  },
  'messages of a status': {
    statusUpdate: {
      ...ids,
      status: {
        state: 'TASK_STATE_WORKING',
        timestamp: '2026-01-01T00:00:00.000Z',
        message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: large }] },
      },
    },
  },
}

function recordsOf(event: StreamResponse, count: number): readonly LogRecord[] {
  return Array.from({ length: count }, (_, i) => ({ seq: i + 1, kind: 'event', event }))
}

function watch(log: readonly LogRecord[], replay: boolean) {
  let reads = 0
  const hub = new Hub({
    async records(_id, after, limit = log.length) {
      reads++
      return log.slice(after, after + limit)
    },
  })
  const watcher = hub.watch('t', {
    after: 0,
    replay,
    show: (record): Sequenced | undefined =>
      record.kind === 'event' ? { seq: record.seq, event: record.event } : undefined,
    isLast: ({ seq }) => seq === log.length,
  })
  return { hub, watcher, reads: () => reads }
}

describe.each(Object.entries(kinds))('large %s', (_, event) => {
  const log = recordsOf(event, 100)

  test('that wait for a reader who takes nothing are left to the log', async () => {
    const { hub, watcher, reads } = watch(log, false)
    for (const record of log) hub.publish('t', [record])
    let seen = 0
    for await (const batch of watcher) seen += batch.length
    expect(seen).toBe(100)
    expect(reads()).toBeGreaterThan(0)
  })

  test('are read from the log a few at a time', async () => {
    const { watcher } = watch(log, true)
    const sizes: number[] = []
    for await (const batch of watcher) sizes.push(batch.length)
    expect(sizes.reduce((sum, size) => sum + size)).toBe(100)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(11)
  })
})

test.each([
  ['up to 256', 256, false],
  ['more', 257, true],
])(
  'of small records, %s that wait for a reader who takes nothing are left to the log: %i, %s',
  async (_, count, isLeft) => {
    const status = { state: 'TASK_STATE_WORKING', timestamp: '2026-01-01T00:00:00.000Z' } as const
    const log = recordsOf({ statusUpdate: { ...ids, status } }, count)
    const { hub, watcher, reads } = watch(log, false)
    for (const record of log) hub.publish('t', [record])
    let seen = 0
    for await (const batch of watcher) seen += batch.length
    expect(seen).toBe(count)
    expect(reads() > 0).toBe(isLeft)
  },
)
