import { describe, expect, test } from 'vitest'
import type { Watching, Wild } from '../contracts/binding.ts'
import { createScriptedAgent } from './agent.ts'
import { all, open, request, statesOf, wireNames } from './scene.ts'

/** The next event of a stream that goes on. */
async function next(stream: Watching): Promise<Wild> {
  const { value } = await stream.events[Symbol.asyncIterator]().next()
  return value
}

describe.each(wireNames)('streams over %s', (name) => {
  test('F001: a message opens a stream', async () => {
    const { wire } = await open(name)
    const stream = await wire.watch('SendStreamingMessage', request('hi'))
    expect(stream.status).toBe(200)
    expect(stream.headers['content-type']).toBe('text/event-stream')
    expect(await all(stream.events)).not.toEqual([])
  })

  test('F002: an answer without a task is one message, then the end', async () => {
    const { wire } = await open(name)
    const { events } = await wire.watch('SendStreamingMessage', request('say hello'))
    const list = await all(events)
    expect(list).toHaveLength(1)
    expect(list[0].message).toMatchObject({ role: 'ROLE_AGENT', parts: [{ text: 'hello' }] })
  })

  test('F003: else the task comes first', async () => {
    const { wire, get } = await open(name)
    const { events } = await wire.watch('SendStreamingMessage', request('chunks a b c'))
    const [first, ...rest] = await all(events)
    expect(Object.keys(first)).toEqual(['task'])
    for (const event of rest) expect(event.task).toBeUndefined()
    expect((await get(first.task.id)).id).toBe(first.task.id)
  })

  test('F003: the stream of a further message begins with the task too', async () => {
    const { wire, send } = await open(name)
    const { id: taskId } = (await send('ask')).result.task
    const more = request('the red one', { message: { taskId } })
    const list = await all((await wire.watch('SendStreamingMessage', more)).events)
    expect(list[0].task.id).toBe(taskId)
    expect(statesOf(list).at(-1)).toBe('TASK_STATE_COMPLETED')
  })

  test.each([
    ['hi', 'TASK_STATE_COMPLETED'],
    ['reject', 'TASK_STATE_REJECTED'],
    ['fail', 'TASK_STATE_FAILED'],
  ])('F004: ends where the task ends (%s)', async (text, state) => {
    const { wire } = await open(name)
    const { events } = await wire.watch('SendStreamingMessage', request(text))
    expect(statesOf(await all(events)).at(-1)).toBe(state)
  })

  test('F004: ends where the task is cancelled', async () => {
    const { wire } = await open(name)
    const stream = await wire.watch('SendStreamingMessage', request('hold'))
    const { task } = await next(stream)
    await wire.ask('CancelTask', { id: task.id })
    expect(statesOf(await all(stream.events)).at(-1)).toBe('TASK_STATE_CANCELED')
  })

  test('F004: a stream of a message ends where the agent asks back', async () => {
    const { wire } = await open(name)
    const { events } = await wire.watch('SendStreamingMessage', request('ask'))
    expect(statesOf(await all(events)).at(-1)).toBe('TASK_STATE_INPUT_REQUIRED')
  })

  test('F005: without the capability streams are refused, of messages and of tasks', async () => {
    const { wire, begin } = await open(name, { streaming: false })
    const { id } = await begin('hold')
    const sent = await wire.watch('SendStreamingMessage', request('hi'))
    expect(sent.error).toBe('UnsupportedOperation')
    expect((await wire.watch('SubscribeToTask', { id })).error).toBe('UnsupportedOperation')
  })

  test('F006: a task that has ended takes no message by stream', async () => {
    const { wire, send } = await open(name)
    const { id: taskId } = (await send('hi')).result.task
    const more = request('more', { message: { taskId } })
    expect((await wire.watch('SendStreamingMessage', more)).error).toBe('UnsupportedOperation')
  })

  test('F007: a subscription begins with the task as it is', async () => {
    const { wire, begin } = await open(name)
    const { id } = await begin('hold')
    const stream = await wire.watch('SubscribeToTask', { id })
    expect(stream.headers['content-type']).toBe('text/event-stream')
    expect((await next(stream)).task).toMatchObject({
      id,
      status: { state: 'TASK_STATE_WORKING' },
    })
    await stream.leave()
  })

  test('F008: a subscription stays open where the agent asks, and ends where the task ends', async () => {
    const { wire, send } = await open(name)
    const { id: taskId } = (await send('ask')).result.task
    const stream = await wire.watch('SubscribeToTask', { id: taskId })
    expect((await next(stream)).task.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    await send('the red one', { message: { taskId } })
    expect(statesOf(await all(stream.events))).toEqual([
      'TASK_STATE_WORKING',
      'TASK_STATE_COMPLETED',
    ])
  })

  test('F009: a task that has ended cannot be subscribed to', async () => {
    const { wire, send } = await open(name)
    const { id } = (await send('hi')).result.task
    expect((await wire.watch('SubscribeToTask', { id })).error).toBe('UnsupportedOperation')
  })

  test('F010: nor can an unknown one', async () => {
    const { wire } = await open(name)
    expect((await wire.watch('SubscribeToTask', { id: 'made-up' })).error).toBe('TaskNotFound')
  })

  test('F011: events come in the order in which they were made', async () => {
    const { wire } = await open(name)
    const words = Array.from({ length: 50 }, (_, i) => `w${i}`)
    const text = `chunks ${words.join(' ')}`
    const list = await all((await wire.watch('SendStreamingMessage', request(text))).events)
    const heard = list.flatMap((event) => event.artifactUpdate?.artifact.parts[0].text.trim() ?? [])
    expect(heard).toEqual(words)
  })

  test('F012: events reach every open stream', async () => {
    const { wire, wires, begin, agent } = await open(name)
    const { id } = await begin('hold')
    const streams = await Promise.all(
      [wire, ...wires].map((one) => one.watch('SubscribeToTask', { id })),
    )
    for (const stream of streams) await next(stream)
    agent.release()
    for (const stream of streams)
      expect(statesOf(await all(stream.events)).at(-1)).toBe('TASK_STATE_COMPLETED')
  })

  test('F013: all streams see the same events in the same order', async () => {
    const { wire, begin, agent } = await open(name)
    const { id } = await begin('hold one two three')
    const streams = [
      await wire.watch('SubscribeToTask', { id }),
      await wire.watch('SubscribeToTask', { id }),
    ]
    for (const stream of streams) await next(stream)
    agent.release()
    const [first, second] = await Promise.all(streams.map((stream) => all(stream.events)))
    expect(first).toEqual(second)
    expect(first).not.toEqual([])
  })

  test('F014: one who leaves disturbs neither the others nor the task', async () => {
    const { wire, begin, agent, get } = await open(name)
    const { id } = await begin('hold')
    const leaving = await wire.watch('SubscribeToTask', { id })
    const staying = await wire.watch('SubscribeToTask', { id })
    await next(leaving)
    await next(staying)
    await leaving.leave()
    agent.release()
    expect(statesOf(await all(staying.events)).at(-1)).toBe('TASK_STATE_COMPLETED')
    expect((await get(id)).status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('F014: a task outlives the stream that began it', async () => {
    const agent = createScriptedAgent()
    const { wire, get } = await open(name, { agent })
    const stream = await wire.watch('SendStreamingMessage', request('hold'))
    const { id } = (await next(stream)).task
    await stream.leave()
    const watching = await wire.watch('SubscribeToTask', { id })
    await next(watching)
    agent.release()
    await all(watching.events)
    expect((await get(id)).artifacts[0].parts).toEqual([{ text: 'Held' }])
  })

  test('F017: streams stay open at AUTH_REQUIRED', async () => {
    const { wire, agent } = await open(name)
    const stream = await wire.watch('SendStreamingMessage', request('auth'))
    const seen: Wild[] = []
    for await (const event of stream.events) {
      seen.push(event)
      if (statesOf([event])[0] === 'TASK_STATE_AUTH_REQUIRED') agent.release()
    }
    expect(statesOf(seen)).toEqual([
      'TASK_STATE_WORKING',
      'TASK_STATE_AUTH_REQUIRED',
      'TASK_STATE_WORKING',
      'TASK_STATE_COMPLETED',
    ])
  })
})
