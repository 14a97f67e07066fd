import { describe, expect, test } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { type Costs, call, createCountedServer, hello } from './counted.ts'

async function costOf(agent: Agent, method: string): Promise<Costs> {
  const { server, costOf: cost } = await createCountedServer(agent)
  const costs = await cost(async () => {
    expect(await call(server, method, hello)).toContain('hello')
  })
  await server.close()
  return costs
}

/** A stream whose chunks all come in one tick. */
function burst(chunks: number): Promise<Costs> {
  const agent = defineAgent({ name: 'talker' }, async function* () {
    for (let i = 0; i < chunks; i++) yield 'chunk '
  })
  return costOf(agent, 'SendStreamingMessage')
}

describe('the store is asked for no more than it must be', () => {
  test('by a message that answers with a message: for nothing', async () => {
    const agent = defineAgent({ name: 'echo' }, (_, turn) => turn.reply('hello'))
    expect(await costOf(agent, 'SendMessage')).toMatchObject({ commits: 0, reads: 0, timers: 0 })
  })

  test('by a completed task: for one commit with one snapshot and no read', async () => {
    const agent = defineAgent({ name: 'echo' }, () => 'hello')
    const costs = await costOf(agent, 'SendMessage')
    expect(costs).toMatchObject({ commits: 1, snapshots: 1, records: 5, reads: 0, timers: 0 })
  })

  test('by a lifecycle of four events within a tick: for one commit', async () => {
    const agent = defineAgent({ name: 'worker' }, async function* (_, turn) {
      yield turn.status('TASK_STATE_WORKING')
      yield turn.artifact({ artifactId: 'a', parts: [{ text: 'hello' }] })
      yield turn.status('TASK_STATE_COMPLETED')
    })
    const costs = await costOf(agent, 'SendMessage')
    expect(costs).toMatchObject({ commits: 1, snapshots: 1, reads: 0, timers: 0 })
  })

  test.each([20, 100, 200])(
    'by a burst of %i chunks: for one commit with one snapshot',
    async (chunks) => {
      const { commits, snapshots, records, reads } = await burst(chunks)
      expect({ commits, snapshots, records, reads }).toEqual({
        commits: 1,
        snapshots: 1,
        records: chunks + 4,
        reads: 0,
      })
    },
  )

  test('by a stream whose chunks come tick by tick: for two snapshots, however long it is', async () => {
    const slow = (chunks: number): Agent =>
      defineAgent({ name: 'talker' }, async function* () {
        for (let i = 0; i < chunks; i++) {
          await new Promise(setImmediate)
          yield 'chunk '
        }
      })
    const few = await costOf(slow(10), 'SendStreamingMessage')
    const many = await costOf(slow(100), 'SendStreamingMessage')
    expect([few.snapshots, many.snapshots]).toEqual([2, 2])
    expect([few.reads, many.reads]).toEqual([0, 0])
    expect(many.commits - few.commits).toBeLessThanOrEqual(90)
  })
})

describe('a chunk', () => {
  test('costs the same few promises at any length of its stream, and no timer', async () => {
    const [short, middle, long] = [await burst(20), await burst(120), await burst(220)]
    const perChunk = (middle.promises - short.promises) / 100
    expect((long.promises - middle.promises) / 100).toBe(perChunk)
    // The agent's generator and the loop over it make these; nothing else does.
    expect(perChunk).toBeLessThanOrEqual(4)
    expect([short.timers, middle.timers, long.timers]).toEqual([1, 1, 1])
  })
})
