import { describe, expect, test } from 'vitest'
import { Relay, RemoteWatch } from '../../../src/agents/remote/agent.ts'
import { RemoteContexts } from '../../../src/agents/remote/memory.ts'
import { agentMessage } from '../../../src/protocol/task.ts'
import type { Json, StreamResponse, Task, TaskState } from '../../../src/protocol/types.ts'
import { createFakeClock } from '../../../src/testing/index.ts'
import { createTurn } from '../../fixtures/turn.ts'

const ids = { taskId: 'far-1', contextId: 'far-c' }

function status(state: TaskState, text?: string): StreamResponse {
  const message = text === undefined ? {} : { message: agentMessage(text) }
  return { statusUpdate: { ...ids, status: { state, ...message } } }
}

function task(state: TaskState, rest: Partial<Task> = {}): StreamResponse {
  return { task: { id: 'far-1', contextId: 'far-c', status: { state }, ...rest } }
}

describe('a relay', () => {
  test('says nothing of states that are no news', () => {
    const relay = new Relay(createTurn('hi'))
    expect(relay.take(task('TASK_STATE_SUBMITTED'))).toEqual([])
    expect(relay.take(status('TASK_STATE_WORKING'))).toEqual([])
    expect(relay.phase()).toBe('running')
  })

  test('makes ids and messages ours', () => {
    const relay = new Relay(createTurn('hi'))
    const [event] = relay.take(status('TASK_STATE_FAILED', 'broken'))
    expect(event).toMatchObject({
      statusUpdate: { status: { message: { taskId: 'task-1', contextId: 'context-1' } } },
    })
    expect(relay.phase()).toBe('done')
  })

  test('begins an artifact whose beginning it has not seen', () => {
    const relay = new Relay(createTurn('hi'))
    const chunk = (text: string): StreamResponse => ({
      artifactUpdate: { ...ids, artifact: { artifactId: 'a', parts: [{ text }] }, append: true },
    })
    expect(relay.take(chunk('x'))[0]).not.toHaveProperty('artifactUpdate.append')
    expect(relay.take(chunk('y'))[0]).toHaveProperty('artifactUpdate.append', true)
  })

  test('takes a snapshot’s question for one only when nothing follows', () => {
    const question = {
      message: agentMessage('Which?'),
      state: 'TASK_STATE_INPUT_REQUIRED',
    } as const
    const stale = new Relay(createTurn('blue'))
    expect(stale.take(task('TASK_STATE_INPUT_REQUIRED', { status: question }))).toEqual([])
    stale.take(status('TASK_STATE_WORKING'))
    expect(stale.end()).toEqual([])
    const real = new Relay(createTurn('paint'))
    real.take(task('TASK_STATE_INPUT_REQUIRED', { status: question }))
    expect(real.end()).toHaveLength(1)
    expect(real.phase()).toBe('waiting')
  })

  test('finds an answer that is only in the history', () => {
    const relay = new Relay(createTurn('hi'))
    const history = [agentMessage('there')]
    const [event] = relay.take(task('TASK_STATE_COMPLETED', { history }))
    expect(event).toMatchObject({
      statusUpdate: { status: { message: { parts: [{ text: 'there' }] } } },
    })
  })

  test('tells that work goes on after credentials were asked for', () => {
    const relay = new Relay(createTurn('hi'))
    expect(relay.take(status('TASK_STATE_AUTH_REQUIRED', 'log in'))).toHaveLength(1)
    expect(relay.phase()).toBe('waiting')
    expect(relay.take(status('TASK_STATE_WORKING'))).toHaveLength(1)
    expect(relay.phase()).toBe('running')
  })

  test('makes a lone message ours and is done', () => {
    const relay = new Relay(createTurn('hi'))
    const [event] = relay.take({ message: agentMessage('plain', { contextId: 'far-c' }) })
    expect(event).toMatchObject({ role: 'ROLE_AGENT', contextId: 'context-1' })
    expect(relay.phase()).toBe('done')
  })
})

describe('a watch', () => {
  const options = { name: 'Near', timeoutMs: 30_000 }

  test('ends the conversation when nothing comes for too long', () => {
    const clock = createFakeClock()
    const watch = new RemoteWatch({ ...options, clock, signal: new AbortController().signal })
    clock.advance(30_000)
    expect(watch.signal.reason).toMatchObject({ code: 'timeout' })
    watch.close()
    expect(clock.pending()).toEqual([])
  })

  test('waits a moment for the id of the task that a cancelled turn has caused', () => {
    const clock = createFakeClock()
    const turn = new AbortController()
    const watch = new RemoteWatch({ ...options, clock, signal: turn.signal })
    turn.abort(new Error('enough'))
    expect(watch.signal.aborted).toBe(false)
    watch.known()
    expect(watch.signal.reason).toMatchObject({ message: 'enough' })
    watch.close()
  })

  test('does not wait for it for ever', () => {
    const clock = createFakeClock()
    const turn = new AbortController()
    const watch = new RemoteWatch({ ...options, clock, signal: turn.signal })
    turn.abort(new Error('enough'))
    clock.advance(2_000)
    expect(watch.signal.aborted).toBe(true)
    watch.close()
  })
})

test('contexts are remembered up to a limit, the oldest forgotten first', async () => {
  const contexts = new RemoteContexts('corral:a2a:far', 2)
  const turns = ['a', 'b', 'c'].map((contextId) => createTurn('hi', { contextId }))
  for (const turn of turns) contexts.set(turn, `far-${turn.contextId}`)
  const fresh = turns.map(({ contextId }) => createTurn('hi', { contextId }))
  const known = await Promise.all(fresh.map((turn) => contexts.get(turn)))
  expect(known).toEqual([undefined, 'far-b', 'far-c'])
})

test('contexts are kept with our context, where another process finds them', async () => {
  const values = new Map<string, Json>()
  new RemoteContexts('corral:a2a:far').set(createTurn('hi', { values }), 'far-away')
  const later = new RemoteContexts('corral:a2a:far')
  expect(await later.get(createTurn('hi', { values }))).toBe('far-away')
})
