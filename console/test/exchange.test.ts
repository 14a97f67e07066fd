import { describe, expect, test } from 'vitest'
import { textOf } from '../../src/protocol/task.ts'
import type { JsonObject, TaskState } from '../../src/protocol/types.ts'
import { createInstantClock } from '../../src/testing/clock.ts'
import { type ChatConversation, createConversation } from '../logic/conversation.ts'
import type { ServerEvent } from '../logic/events.ts'
import type { Peer } from '../logic/peer.ts'
import { Refused } from '../logic/server.ts'

interface Call {
  readonly operation: string
  readonly request: JsonObject
  readonly options?: Parameters<Peer['stream']>[2]
}

/** A peer that answers by a script: each stream takes the next list of events; an error breaks it off. */
function scriptedPeer(
  script: readonly (readonly (ServerEvent | Error)[])[],
): Peer & { readonly calls: Call[] } {
  const calls: Call[] = []
  let next = 0
  return {
    key: 'scripted',
    calls,
    async call(operation, request) {
      calls.push({ operation, request })
      return { id: 't', contextId: 'c', status: { state: 'TASK_STATE_CANCELED' } }
    },
    async *stream(operation, request, options) {
      calls.push({ operation, request, options })
      for (const event of script[next++] ?? []) {
        if (event instanceof Error) throw event
        yield event
      }
    },
  }
}

const begin = (id: number): ServerEvent => ({
  id,
  data: { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } },
})
const chunk = (id: number, text: string): ServerEvent => {
  const artifact = { artifactId: 'a', parts: [{ text }] }
  return { id, data: { artifactUpdate: { taskId: 't', contextId: 'c', artifact, append: id > 2 } } }
}
const state = (id: number, state: TaskState): ServerEvent => ({
  id,
  data: { statusUpdate: { taskId: 't', contextId: 'c', status: { state } } },
})

/** A conversation that is drawn at once, on a clock that needs no waiting. */
function converse(peer: Peer): ChatConversation {
  return createConversation({ peer, schedule: (draw) => draw, clock: createInstantClock() })
}

function answerOf({ views }: ChatConversation): string {
  return textOf(views.value.at(-1)?.task?.artifacts?.[0]?.parts ?? [])
}

describe('A conversation', () => {
  test('a stream that breaks is taken up after the last event that was seen', async () => {
    const broken = new TypeError('network')
    const peer = scriptedPeer([
      [begin(1), chunk(2, 'a'), broken],
      [chunk(2, 'a'), chunk(3, 'b'), broken],
      [chunk(4, 'c'), state(5, 'TASK_STATE_COMPLETED')],
    ])
    const talk = converse(peer)
    await talk.say([{ text: 'hi' }])
    expect(answerOf(talk)).toBe('abc')
    expect(peer.calls.map(({ operation, options }) => [operation, options?.after])).toEqual([
      ['SendStreamingMessage', undefined],
      ['SubscribeToTask', 2],
      ['SubscribeToTask', 3],
    ])
    expect(talk.views.value.at(-1)?.phase).toBe('idle')
    expect(talk.contextId.value).toBe('c')
  })

  test('a send that was lost before any answer is repeated under the same key', async () => {
    const peer = scriptedPeer([
      [new TypeError('network')],
      [begin(1), chunk(2, 'a'), state(3, 'TASK_STATE_COMPLETED')],
    ])
    const talk = converse(peer)
    await talk.say([{ text: 'hi' }])
    const [first, second] = peer.calls
    expect(second?.operation).toBe('SendStreamingMessage')
    expect(second?.options?.idempotencyKey).toBe(first?.options?.idempotencyKey)
    expect(first?.options?.idempotencyKey).toBeTruthy()
    expect(answerOf(talk)).toBe('a')
  })

  test('a refusal is told and not repeated', async () => {
    const peer = scriptedPeer([
      [new Refused(400, { code: 'invalidParams', message: 'That is too long.' })],
    ])
    const talk = converse(peer)
    await talk.say([{ text: 'hi' }])
    expect(talk.views.value.at(-1)).toMatchObject({ phase: 'lost', fault: 'That is too long.' })
    expect(peer.calls).toHaveLength(1)
  })

  test('a connection that stays away is given up, and taken up when the user says so', async () => {
    const away = Array.from({ length: 9 }, () => [new TypeError('network')])
    const peer = scriptedPeer([...away, [begin(1), state(2, 'TASK_STATE_COMPLETED')]])
    const talk = converse(peer)
    await talk.say([{ text: 'hi' }])
    expect(talk.views.value.at(-1)?.phase).toBe('lost')
    expect(peer.calls).toHaveLength(9)
    talk.resume()
    await expect.poll(() => talk.views.value.at(-1)?.phase).toBe('idle')
    expect(peer.calls).toHaveLength(10)
  })

  test("the answer to a question goes to the question's task, what follows to a new one", async () => {
    const peer = scriptedPeer([
      [begin(1), state(2, 'TASK_STATE_INPUT_REQUIRED')],
      [state(3, 'TASK_STATE_WORKING'), state(4, 'TASK_STATE_COMPLETED')],
      [begin(1), state(2, 'TASK_STATE_COMPLETED')],
    ])
    const talk = converse(peer)
    await talk.say([{ text: 'one' }])
    await talk.say([{ text: 'two' }])
    await talk.say([{ text: 'three' }])
    expect(peer.calls.map(({ request }) => Object(request.message).taskId)).toEqual([
      undefined,
      't',
      undefined,
    ])
    expect(peer.calls.map(({ request }) => Object(request.message).contextId)).toEqual([
      undefined,
      'c',
      'c',
    ])
    expect(talk.views.value).toHaveLength(2)
  })

  test('a message that answers without a task is the answer', async () => {
    const message = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'hello' }] }
    const talk = converse(scriptedPeer([[{ id: undefined, data: { message } }]]))
    await talk.say([{ text: 'hi' }])
    expect(talk.views.value.at(-1)).toMatchObject({ answer: message, phase: 'idle' })
  })
})
