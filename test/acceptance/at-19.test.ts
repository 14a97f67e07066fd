import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { textOf } from '../../src/protocol/task.ts'
import { serve } from './serve.ts'
import { act, eventsOf, type RawRequest, type Told, told, wires } from './wires.ts'

/** Asks which dragon, then tells of it; or works until it is cancelled. */
const storyteller = defineAgent({ name: 'Storyteller' }, async function* (message, turn) {
  const text = textOf(message.parts)
  if (text === 'work') {
    yield turn.status('TASK_STATE_WORKING')
    await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
  } else if (turn.task) yield `Once upon a time, ${text}...`
  else yield turn.ask('Which dragon?')
})

async function ask(url: string, request: RawRequest | undefined): Promise<Told> {
  const response = await act(url, request)
  expect(response.status).toBe(200)
  return told(await response.json())
}

const pairs = wires.flatMap((first) =>
  wires.map((second) => [first.name, second.name, first, second] as const),
)

describe('AT-19: a task created in one dialect', () => {
  test.each(pairs)('created in %s, read and cancelled in %s', async (_a, _b, first, second) => {
    const { url } = await serve(storyteller)
    const { id = '' } = await ask(url, first.request('send', { text: 'work', atOnce: true }))
    expect(await ask(url, second.request('get', { id }))).toMatchObject({ id, state: 'working' })
    const cancelled = await act(url, second.request('cancel', { id }))
    expect(cancelled.status).toBe(200)
    expect(await cancelled.text()).not.toContain('"error"')
    for (const wire of wires)
      expect(await ask(url, wire.request('get', { id }))).toMatchObject({ id, state: 'canceled' })
  })

  test.each(pairs)('created in %s, streamed in %s', async (_a, _b, first, second) => {
    const { url } = await serve(storyteller)
    const { id = '' } = await ask(url, first.request('send', { text: 'work', atOnce: true }))
    const stream = await act(url, second.request('subscribe', { id }))
    expect(stream.headers.get('content-type')).toContain('text/event-stream')
    await act(url, first.request('cancel', { id }))
    const events = await eventsOf(stream)
    expect(events[0]).toMatchObject({ id, state: 'working' })
    expect(events.at(-1)).toMatchObject({ id, state: 'canceled' })
  })

  test.each(pairs)('begun in %s, continued in %s', async (_a, _b, first, second) => {
    const { url } = await serve(storyteller)
    const question = await ask(url, first.request('send', { text: 'Tell me of a dragon' }))
    expect(question.state).toBe('input-required')
    const { id = '' } = question
    const answer = await ask(url, second.request('send', { id, text: 'Smaug' }))
    expect(answer.text).toContain('Once upon a time, Smaug...')
    for (const wire of wires) {
      const read = await ask(url, wire.request('get', { id }))
      expect(read).toMatchObject({ id, state: 'completed' })
      expect(read.text).toContain('Once upon a time, Smaug...')
    }
  })

  test.each(wires.map((wire) => [wire.name, wire] as const))(
    'sent and streamed in %s from beginning to end',
    async (_name, wire) => {
      const { url } = await serve(storyteller)
      const asked = await eventsOf(await act(url, wire.request('stream', { text: 'Tell me' })))
      expect(asked.at(-1)).toMatchObject({ state: 'input-required' })
      const id = asked[0]?.id ?? ''
      const events = await eventsOf(await act(url, wire.request('stream', { id, text: 'Smaug' })))
      expect(events.map(({ text }) => text).join('')).toContain('Once upon a time, Smaug...')
      expect(events.at(-1)).toMatchObject({ state: 'completed' })
    },
  )
})
