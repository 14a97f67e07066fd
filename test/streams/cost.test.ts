import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { createServer } from '../../src/server/index.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/store.ts'
import { counted, type StoreCosts } from '../bench/counted.ts'
import { request } from '../conformance/scene.ts'

interface Costs extends StoreCosts {
  /** The parts of the tasks handed to the store: what is copied. */
  copiedParts: number
  characters: number
}

function count(inner: Store, costs: Costs): Store {
  const store = counted(inner, costs)
  return {
    ...store,
    commit(writes) {
      for (const write of writes)
        if (write.type === 'task')
          for (const { parts } of write.task?.artifacts ?? []) costs.copiedParts += parts.length
      return store.commit(writes)
    },
  }
}

/** What a stream of so many chunks costs; each chunk comes in a tick of its own. */
async function costOf(chunks: number, burst: boolean): Promise<Costs> {
  const costs = { commits: 0, records: 0, snapshots: 0, copiedParts: 0, reads: 0, characters: 0 }
  const agent = defineAgent({ name: 'talker' }, async function* () {
    for (let i = 0; i < chunks; i++) {
      if (!burst) await new Promise(setImmediate)
      yield 'chunk '
    }
  })
  const server = await createServer({ agents: [agent], store: count(createMemoryStore(), costs) })
  const params = request('go')
  const { body } = await server.handle({
    method: 'POST',
    path: '/',
    query: '',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params }),
  })
  for await (const text of body as AsyncIterable<string>) costs.characters += text.length // a stream
  await server.close()
  return costs
}

describe.each([
  ['one by one', false],
  ['in a burst', true],
])('chunks that come %s', (_name, burst) => {
  test('cost the same each, be they 20 or 400', async () => {
    const few = await costOf(20, burst)
    const many = await costOf(400, burst)
    const extra = 380
    expect(many.records - few.records).toBe(extra)
    expect(many.commits - few.commits).toBeLessThanOrEqual(extra)
    expect(many.snapshots).toBeLessThanOrEqual(3)
    expect(many.copiedParts).toBeLessThanOrEqual(few.copiedParts + extra)
    expect(many.reads - few.reads).toBeLessThanOrEqual(burst ? extra / 100 : 0)
    const perChunk = (many.characters - few.characters) / extra
    expect(perChunk).toBeLessThan(400)
    // The numbers of ids grow by a digit now and then; nothing else does.
    expect((await costOf(800, burst)).characters - many.characters).toBeLessThan(
      400 * (perChunk + 3),
    )
  })
})
