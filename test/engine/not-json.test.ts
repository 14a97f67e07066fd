import { expect, test } from 'vitest'
import { defineAgent, type Turn } from '../../src/agents/index.ts'
import type { Json } from '../../src/protocol/types.ts'
import { createServer } from '../../src/server/index.ts'

const circle: Record<string, unknown> = {}
circle.self = circle

function nested(depth: number, inner: unknown): unknown {
  return depth === 0 ? inner : { inside: [nested(depth - 1, inner)] }
}

async function stateAfter(work: (turn: Turn) => unknown): Promise<string | undefined> {
  const agent = defineAgent({ name: 'Keeper' }, async (_, turn) => {
    await work(turn)
    return 'kept'
  })
  const server = await createServer({ agents: [agent] })
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] } as const
  const answer = await server.dispatch()('SendMessage', { message }, {})
  await server.close()
  return 'task' in answer ? answer.task.status.state : undefined
}

// What an agent written in JavaScript may hand over, whatever the types say.
const asJson = (value: unknown): Json => value as Json

test.each([
  ['a big integer', 1n],
  ['a big integer deep inside', nested(3, 1n)],
  ['a big integer deeper than anyone looks', nested(20, 1n)],
  ['a big integer as an object', Object(1n)],
  ['a circle', circle],
  ['a circle in a list', [circle]],
  ['a list too long to write', new Array(1e9)],
  [
    'a function that refuses to be written',
    { work: Object.assign(() => 1, { toJSON: () => JSON.parse('no') }) },
  ],
  [
    'what cannot be looked at',
    {
      get inside() {
        throw new Error('never')
      },
    },
  ],
  [
    'what refuses to be written',
    {
      toJSON() {
        throw new Error('never')
      },
    },
  ],
])('%s is not kept: not as a step, a state or a trace', async (_, value) => {
  const failed = 'TASK_STATE_FAILED'
  expect(await stateAfter((turn) => turn.step('one', () => asJson(value)))).toBe(failed)
  expect(await stateAfter((turn) => turn.save('key', asJson(value)))).toBe(failed)
  expect(await stateAfter((turn) => turn.trace({ value: asJson(value) }))).toBe(failed)
})

test.each([
  ['nothing', undefined],
  ['null', null],
  ['a moment', new Date(0)],
  ['deep values', nested(20, 'deep')],
])('%s is', async (_, value) => {
  const completed = 'TASK_STATE_COMPLETED'
  expect(await stateAfter((turn) => turn.step('one', () => asJson(value)))).toBe(completed)
  expect(await stateAfter((turn) => turn.trace({ value: asJson(value) }))).toBe(completed)
})
