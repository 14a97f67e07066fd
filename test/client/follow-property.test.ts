import fc from 'fast-check'
import { expect, test } from 'vitest'
import { followedAgent } from '../../src/client/client.ts'
import { follow } from '../../src/client/follow.ts'
import { connectionLost } from '../../src/client/http.ts'
import type { Call, Dispatch, OperationName, Sequenced } from '../../src/protocol/operations.ts'
import { createFold, type Fold } from '../../src/protocol/task.ts'
import type { StreamResponse, Task } from '../../src/protocol/types.ts'
import { createInstantClock } from '../../src/testing/index.ts'

const ids = { taskId: 't', contextId: 'c' }
const start: Task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } }
const completed: StreamResponse = {
  statusUpdate: { ...ids, status: { state: 'TASK_STATE_COMPLETED' } },
}

interface Peer {
  readonly events: readonly StreamResponse[]
  /** After how many events each stream breaks; the streams after these hold. */
  readonly cuts: readonly number[]
  /** How many more events have happened by the time each further stream is opened. */
  readonly missed: readonly number[]
  readonly counts: boolean
}

/** A server over a log: some streams break, and the task goes on meanwhile. */
function createPeer({ events, cuts, missed, counts }: Peer): Dispatch {
  const log: readonly StreamResponse[] = [{ task: start }, ...events, completed]
  const breaks = [...cuts]
  const lags = [...missed]
  let reached = 0

  function foldTo(end: number): Fold {
    const fold = createFold(start)
    for (const event of log.slice(1, end)) fold.apply(event)
    return fold
  }

  async function* stream(from: number): AsyncGenerator<readonly Sequenced[]> {
    const cut = breaks.shift() ?? Number.POSITIVE_INFINITY
    for (let seq = from; seq < log.length; seq++) {
      if (seq - from >= cut) throw connectionLost('http://h/', undefined)
      const event = log[seq]
      reached = Math.max(reached, seq + 1)
      if (event) yield [counts ? { event, seq } : { event }]
    }
  }

  async function* withSnapshot(): AsyncGenerator<readonly Sequenced[]> {
    const at = reached
    yield [{ event: { task: foldTo(at).snapshot() } }]
    yield* stream(at)
  }

  const dispatch = async (name: OperationName, _: unknown, call: Call): Promise<unknown> => {
    if (name === 'SendStreamingMessage') return stream(0)
    reached = Math.min(log.length - 1, reached + (lags.shift() ?? 0))
    if (name === 'GetTask') return foldTo(reached).snapshot()
    return call.lastEventId === undefined ? withSnapshot() : stream(call.lastEventId + 1)
  }
  return dispatch as Dispatch // the operations that following uses
}

const chunk = fc.record({
  artifactUpdate: fc.record({
    taskId: fc.constant('t'),
    contextId: fc.constant('c'),
    artifact: fc.record({
      artifactId: fc.constantFrom('a', 'b'),
      parts: fc.array(fc.record({ text: fc.string() }), { minLength: 1, maxLength: 2 }),
    }),
    append: fc.constant(true),
  }),
})
const peer = {
  events: fc.array<StreamResponse>(chunk, { maxLength: 12 }),
  // The first stream brings at least the task; without it there is nothing to take up again.
  cuts: fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 6 }),
  missed: fc.array(fc.nat(3), { maxLength: 6 }),
}

async function followed(setup: Peer): Promise<StreamResponse[]> {
  const seen: StreamResponse[] = []
  const context = {
    agent: followedAgent(createPeer(setup)),
    canStream: async () => true,
    // Backoff is not what is tested here.
    clock: createInstantClock(),
    random: () => 0,
    options: { maxReconnects: 10 },
  }
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] } as const
  for await (const event of follow(context, { send: { message } })) seen.push(event)
  return seen
}

function folded(events: readonly StreamResponse[]): Task {
  const fold = createFold(start)
  for (const event of events) fold.apply(event)
  fold.compact()
  return fold.snapshot()
}

test('wherever streams break, a server that counts is followed event by event', async () => {
  await fc.assert(
    fc.asyncProperty(fc.record({ ...peer, counts: fc.constant(true) }), async (setup) => {
      expect(await followed(setup)).toEqual([{ task: start }, ...setup.events, completed])
    }),
  )
})

test('wherever streams break, a server that does not count is followed to the same task', async () => {
  await fc.assert(
    fc.asyncProperty(fc.record({ ...peer, counts: fc.constant(false) }), async (setup) => {
      const seen = await followed(setup)
      expect(folded(seen)).toEqual(folded([...setup.events, completed]))
      expect(seen.filter((event) => 'statusUpdate' in event)).toHaveLength(1)
    }),
  )
})
