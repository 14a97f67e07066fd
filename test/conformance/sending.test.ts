import { describe, expect, test } from 'vitest'
import { createFakeClock } from '../../src/testing/index.ts'
import type { Answer } from '../contracts/binding.ts'
import { all, open, request, wireNames, wireNames10 } from './scene.ts'

describe.each(wireNames)('sending over %s', (name) => {
  test('D001: answers with a task or with a message', async () => {
    const { send } = await open(name)
    const { result } = await send('hi')
    expect(Object.keys(result)).toEqual(['task'])
    expect(result.task).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } })
    const said = (await send('say hello')).result
    expect(Object.keys(said)).toEqual(['message'])
    expect(said.message).toMatchObject({ role: 'ROLE_AGENT', parts: [{ text: 'hello' }] })
  })

  test('D002: a task that has ended takes no more messages', async () => {
    const { send, begin, wire } = await open(name)
    const { id: canceled } = await begin('hold')
    await wire.ask('CancelTask', { id: canceled })
    const ended = [
      (await send('hi')).result.task.id,
      (await send('reject')).result.task.id,
      (await send('fail')).result.task.id,
      canceled,
    ]
    for (const taskId of ended)
      expect((await send('more', { message: { taskId } })).error).toBe('UnsupportedOperation')
  })

  test('L006: a message to an ended task is an error, and streams need the capability', async () => {
    const { send, wire } = await open(name, { streaming: false })
    const { id: taskId } = (await send('hi')).result.task
    expect((await send('more', { message: { taskId } })).error).toBe('UnsupportedOperation')
    const { error } = await wire.watch('SendStreamingMessage', request('hi'))
    expect(error).toBe('UnsupportedOperation')
  })

  test('D004: an unknown task id is not found, and makes no task', async () => {
    const { send, agent } = await open(name)
    const { error } = await send('hi', { message: { taskId: 'made-up' } })
    expect(error).toBe('TaskNotFound')
    expect(agent.heard).toEqual([])
  })

  test('D005: every new task has an id of its own, by which it is found', async () => {
    const { send, get } = await open(name)
    const message = { messageId: 'the same' }
    const first = (await send('one', { message })).result.task
    const second = (await send('two', { message })).result.task
    expect(first.id).not.toBe(second.id)
    expect((await get(first.id)).artifacts[0].parts).toEqual([{ text: 'Echo: one' }])
    expect((await get(second.id)).artifacts[0].parts).toEqual([{ text: 'Echo: two' }])
  })

  test('D006: a context that the server made is in the answer, of task and message', async () => {
    const { send } = await open(name)
    expect((await send('hi')).result.task.contextId).toMatch(/./)
    expect((await send('say hi')).result.message.contextId).toMatch(/./)
  })

  test('D007: a context of the client is kept as it is or refused, never replaced', async () => {
    const { send } = await open(name)
    const message = { contextId: 'mine: ü/1' }
    expect((await send('hi', { message })).result.task.contextId).toBe('mine: ü/1')
    expect((await send('say hi', { message })).result.message.contextId).toBe('mine: ü/1')
    const tooLong = await send('hi', { message: { contextId: 7 } })
    expect(tooLong.error).toBe('InvalidParams')
  })

  test('D008: the context follows from the task', async () => {
    const { send } = await open(name)
    const asked = (await send('ask')).result.task
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    const { task } = (await send('the red one', { message: { taskId: asked.id } })).result
    expect(task).toMatchObject({ id: asked.id, contextId: asked.contextId })
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('D009: a context that is not the task’s is refused', async () => {
    const { send, get } = await open(name)
    const { id: taskId } = (await send('ask')).result.task
    const { error } = await send('it', { message: { taskId, contextId: 'another' } })
    expect(error).toBe('InvalidParams')
    expect((await get(taskId)).status.state).toBe('TASK_STATE_INPUT_REQUIRED')
  })

  test('D012: waits for an end or an interruption', async () => {
    const { send, agent, begin, get } = await open(name)
    const waiting = send('hold', { configuration: { returnImmediately: false } })
    const other = await begin('hold')
    expect((await get(other.id)).status.state).toBe('TASK_STATE_WORKING')
    agent.release()
    expect((await waiting).result.task.status.state).toBe('TASK_STATE_COMPLETED')
    expect((await send('ask')).result.task.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect((await send('auth')).result.task.status.state).toBe('TASK_STATE_AUTH_REQUIRED')
  })

  test('D012: answers with the task as it is when the server waits no longer', async () => {
    const clock = createFakeClock(Date.parse('2026-11-15T00:00:00Z'))
    const { send, agent, get } = await open(name, { clock, timeouts: { blockingMs: 1000 } })
    let answer: Answer | undefined
    void send('hold').then((one) => {
      answer = one
    })
    while (agent.heard.length === 0) await new Promise(setImmediate)
    while (!answer) {
      clock.advance(1000)
      await new Promise(setImmediate)
    }
    const { task } = answer.result
    expect(task.status.state).toBe('TASK_STATE_WORKING')
    expect((await get(task.id)).id).toBe(task.id)
  })

  test('D013: the answer holds the latest state and every artifact', async () => {
    const { send } = await open(name)
    const { task } = (await send('chunks one two three')).result
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(task.artifacts).toHaveLength(1)
    expect(task.artifacts[0].parts.map((part: { text: string }) => part.text).join('')).toBe(
      'one two three ',
    )
  })

  test('D014: returnImmediately answers as soon as there is a task', async () => {
    const { begin, agent, wire } = await open(name)
    const task = await begin('hold')
    expect(task.status.state).toBe('TASK_STATE_WORKING')
    const { events } = await wire.watch('SubscribeToTask', { id: task.id })
    const iterator = events[Symbol.asyncIterator]()
    await iterator.next()
    agent.release()
    const rest = []
    for (let next = await iterator.next(); !next.done; next = await iterator.next())
      rest.push(next.value)
    expect(rest.at(-1).statusUpdate.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('D015: returnImmediately does not shorten a stream', async () => {
    const { wire } = await open(name)
    const configuration = { returnImmediately: true }
    const { events } = await wire.watch('SendStreamingMessage', request('hi', { configuration }))
    const last = (await all(events)).at(-1)
    expect(last.statusUpdate.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('D016: there is never more history than asked for, in any answer', async () => {
    const { send, wire } = await open(name)
    const { id: taskId } = (await send('ask')).result.task
    const configuration = { historyLength: 1 }
    const sent = await send('ask', { message: { taskId }, configuration })
    expect(sent.result.task.history).toHaveLength(1)
    const whole = (await wire.ask('GetTask', { id: taskId })).result.history
    expect(whole.length).toBeGreaterThan(2)
    const one = (await wire.ask('GetTask', { id: taskId, historyLength: 1 })).result
    expect(one.history).toEqual(whole.slice(-1))
    const message = { taskId, ...request('done').message }
    const stream = await wire.watch('SendStreamingMessage', { message, configuration })
    const [first] = await all(stream.events)
    expect(first.task.history).toHaveLength(1)
  })

  test('D018: history is in order and as it was said', async () => {
    const { send, get } = await open(name)
    const { id: taskId } = (await send('ask')).result.task
    await send('the red one', { message: { taskId } })
    const { history } = await get(taskId)
    expect(history.map((message: { role: string }) => message.role)).toEqual([
      'ROLE_USER',
      'ROLE_AGENT',
      'ROLE_USER',
    ])
    const words = history.map((message: { parts: { text: string }[] }) => message.parts[0]?.text)
    expect(words).toEqual(['ask', 'Which one?', 'the red one'])
  })

  test('D019: the agent knows which output the client takes', async () => {
    const { send } = await open(name)
    const configuration = { acceptedOutputModes: ['application/json'] }
    const { task } = (await send('modes', { configuration })).result
    expect(task.artifacts[0].parts[0].data).toEqual({ ok: true })
    expect((await send('modes')).result.task.artifacts[0].parts).toEqual([{ text: 'ok' }])
  })

  test('D020: an answer stands in an artifact', async () => {
    const { send } = await open(name)
    const { task } = (await send('hi')).result
    expect(task.artifacts).toEqual([
      expect.objectContaining({ artifactId: 'response', parts: [{ text: 'Echo: hi' }] }),
    ])
    expect(task.status).not.toHaveProperty('message')
  })
})

describe.each(wireNames10)('sending over %s alone', (name) => {
  test('D017: historyLength 0 leaves the history out, in Get and Send', async () => {
    const { send, wire } = await open(name)
    const configuration = { historyLength: 0 }
    const { task } = (await send('hi', { configuration })).result
    expect(task).not.toHaveProperty('history')
    const { result } = await wire.ask('GetTask', { id: task.id, historyLength: 0 })
    expect(result).not.toHaveProperty('history')
    expect(result.id).toBe(task.id)
  })

  test('C015: there is no kind and no final anywhere', async () => {
    const { wire, send } = await open(name)
    const { body } = await send('parts')
    const stream = await wire.watch('SendStreamingMessage', request('chunks a b'))
    const text = JSON.stringify([body, await all(stream.events)])
    expect(text).not.toContain('"kind"')
    expect(text).not.toContain('"final"')
  })

  test('C012: a part of each kind arrives as it was', async () => {
    const { send } = await open(name)
    const { task } = (await send('parts')).result
    expect(task.artifacts[0].parts).toEqual([
      { text: 'words' },
      { raw: 'dGNr', filename: 'a.txt', mediaType: 'text/plain' },
      { url: 'https://files.example/a.png', filename: 'a.png', mediaType: 'image/png' },
      { data: { key: 'value' } },
    ])
  })
})
