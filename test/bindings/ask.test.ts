import { describe, expect, test } from 'vitest'
import { ask, readAll } from '../../src/bindings/ask.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import type { Dispatch, EventStream } from '../../src/protocol/operations.ts'
import { agentMessage, userMessage } from '../../src/protocol/task.ts'
import type { StreamResponse, TaskState } from '../../src/protocol/types.ts'

const ids = { taskId: 't', contextId: 'c' }
const status = (state: TaskState): StreamResponse => ({
  statusUpdate: { ...ids, status: { state } },
})
const task = (state: TaskState): StreamResponse => ({
  task: { id: 't', contextId: 'c', status: { state } },
})
const chunk = (text: string): StreamResponse => ({
  artifactUpdate: { ...ids, artifact: { artifactId: 'a', parts: [{ text }] } },
})

/** An agent that gives these events, and remembers what else it was asked. */
function scripted(events: readonly StreamResponse[] | 'no streams', whole?: StreamResponse) {
  const operations: string[] = []
  async function* stream(): EventStream {
    if (events === 'no streams') return
    for (const event of events) yield [{ event }]
  }
  const answer = async (name: string): Promise<unknown> => {
    operations.push(name)
    if (name === 'SendStreamingMessage' && events === 'no streams')
      throw new A2AError('unsupportedOperation', 'no streams')
    return name === 'SendStreamingMessage' ? stream() : whole
  }
  return { operations, dispatch: answer as Dispatch } // only the operations that `ask` uses are called
}

async function collect(dispatch: Dispatch, taskId?: string): Promise<StreamResponse[]> {
  const message = userMessage('hi', taskId === undefined ? {} : { taskId })
  const events: StreamResponse[] = []
  const stream = await ask(dispatch, { message }, {})
  await readAll(stream, undefined, (event) => void events.push(event))
  return events
}

describe('an answer', () => {
  test('ends with the task, whatever else might come', async () => {
    const events = [task('TASK_STATE_WORKING'), chunk('x'), status('TASK_STATE_COMPLETED')]
    const { dispatch, operations } = scripted([...events, chunk('late')])
    expect(await collect(dispatch)).toEqual(events)
    expect(operations).toEqual(['SendStreamingMessage'])
  })

  test('ends with a lone message, or with a question', async () => {
    const message: StreamResponse = { message: agentMessage('hello') }
    expect(await collect(scripted([message]).dispatch)).toEqual([message])
    const question = [task('TASK_STATE_WORKING'), status('TASK_STATE_INPUT_REQUIRED')]
    expect(await collect(scripted(question).dispatch)).toEqual(question)
  })

  test('comes whole from an agent without streams', async () => {
    const { dispatch, operations } = scripted('no streams', task('TASK_STATE_COMPLETED'))
    expect(await collect(dispatch)).toEqual([task('TASK_STATE_COMPLETED')])
    expect(operations).toEqual(['SendStreamingMessage', 'SendMessage'])
  })

  test('that does not come is a timeout, and its task is cancelled', async () => {
    for (const { dispatch, operations } of [
      scripted([task('TASK_STATE_WORKING'), chunk('half')]),
      scripted('no streams', task('TASK_STATE_WORKING')),
    ]) {
      await expect(collect(dispatch)).rejects.toMatchObject({ code: 'timeout' })
      expect(operations.at(-1)).toBe('CancelTask')
    }
  })
})

describe('an answer in a task that goes on', () => {
  test('does not begin with the question that it answers', async () => {
    const news = [status('TASK_STATE_WORKING'), status('TASK_STATE_COMPLETED')]
    const { dispatch } = scripted([task('TASK_STATE_INPUT_REQUIRED'), ...news])
    expect(await collect(dispatch, 't')).toEqual(news)
  })

  test('is the snapshot, where nothing follows it', async () => {
    const asked = task('TASK_STATE_INPUT_REQUIRED')
    expect(await collect(scripted([asked]).dispatch, 't')).toEqual([asked])
    const done = task('TASK_STATE_COMPLETED')
    expect(await collect(scripted([done]).dispatch, 't')).toEqual([done])
  })
})

test('whoever leaves early cancels the task, once', async () => {
  const { dispatch, operations } = scripted([task('TASK_STATE_WORKING'), chunk('x'), chunk('y')])
  const stream = await ask(dispatch, { message: userMessage('hi') }, {})
  for await (const _ of stream) break
  await stream[Symbol.asyncIterator]().return?.()
  expect(operations).toEqual(['SendStreamingMessage', 'CancelTask'])
})

test('a caller that is gone ends the waiting with its reason', async () => {
  const endless: EventStream = {
    [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
  }
  const controller = new AbortController()
  const reading = readAll(endless, controller.signal, () => {})
  controller.abort(new Error('gone'))
  await expect(reading).rejects.toThrow('gone')
})
