import { describe, expect, test } from 'vitest'
import { createScriptedAgent } from '../conformance/agent.ts'
import { ask, begin, createEngineFor, eventsOf, message, taskOf, textOf } from './scene.ts'

describe('a task that is busy', () => {
  test('takes further messages in one after the other, in their order', async () => {
    const agent = createScriptedAgent()
    const { engine, scope } = createEngineFor(agent)
    const { id: taskId } = await begin(engine, 'ask')
    const first = ask(engine, 'hold', { taskId })
    const second = engine.send(message('ask', { taskId }), {})
    expect(agent.heard).toEqual(['ask'])
    await second
    expect((await engine.get(taskId, scope)).history?.length).toBeGreaterThan(1)
    agent.release()
    expect(taskOf(await first).id).toBe(taskId)
  })

  test('has its messages in the log before they are acknowledged', async () => {
    const agent = createScriptedAgent()
    const { engine, store } = createEngineFor(agent)
    const { id: taskId } = await begin(engine, 'hold')
    const sent = await engine.send(message('later', { taskId, messageId: 'm2' }), {})
    await sent.task()
    const stored = await store.records(taskId, 0)
    expect(
      stored.flatMap((one) => (one.kind === 'message' ? one.message.messageId : [])),
    ).toContain('m2')
    expect(agent.heard).toEqual(['hold'])
  })

  test('refuses a message when its mailbox is full', async () => {
    const agent = createScriptedAgent()
    const { engine } = createEngineFor(agent, { maxMailbox: 2 })
    const { id: taskId } = await begin(engine, 'hold')
    await engine.send(message('one', { taskId }), {})
    await engine.send(message('two', { taskId }), {})
    await expect(engine.send(message('three', { taskId }), {})).rejects.toMatchObject({
      code: 'rateLimited',
      details: { retryAfterSeconds: 1 },
    })
  })

  test('tells those who wait when it ends before their turn', async () => {
    const agent = createScriptedAgent()
    const { engine, store } = createEngineFor(agent)
    const { id: taskId } = await begin(engine, 'hold')
    const waiting = await engine.send(message('too late', { taskId, messageId: 'm2' }), {})
    agent.release()
    await expect(waiting.answer.wait()).rejects.toMatchObject({ code: 'unsupportedOperation' })
    const dropped = (await store.records(taskId, 0)).filter((one) => one.kind === 'dropped')
    expect(dropped).toMatchObject([
      { messageId: 'm2', reason: expect.stringContaining('COMPLETED') },
    ])
    expect(agent.heard).toEqual(['hold'])
  })

  test('gives the answer to its question to a message that already waits', async () => {
    const agent = createScriptedAgent()
    const { engine } = createEngineFor(agent)
    const { id: taskId } = await begin(engine, 'ask')
    const held = ask(engine, 'auth', { taskId })
    expect(taskOf(await held).status.state).toBe('TASK_STATE_AUTH_REQUIRED')
    const waiting = await engine.send(message('anyone?', { taskId }), {})
    agent.release()
    await expect(waiting.answer.wait()).rejects.toMatchObject({ code: 'unsupportedOperation' })
  })

  test('streams to each sender the events of that message’s own turn and of what comes before', async () => {
    const agent = createScriptedAgent()
    const { engine } = createEngineFor(agent)
    const { id: taskId } = await begin(engine, 'hold')
    const second = await engine.send(message('more', { taskId }), {})
    const stream = eventsOf(second.events())
    agent.release()
    const events = await stream.catch((error) => error)
    expect(events).toBeDefined()
  })
})

describe('further turns', () => {
  test('see the task as it was before, and what was said', async () => {
    const seen: (string | undefined)[] = []
    const agent = createScriptedAgent()
    const { engine } = createEngineFor({
      ...agent,
      process(incoming, turn) {
        seen.push(turn.task?.status.state)
        return agent.process(incoming, turn)
      },
    })
    const first = taskOf(await ask(engine, 'ask'))
    const second = taskOf(await ask(engine, 'red', { taskId: first.id }))
    expect(seen).toEqual([undefined, 'TASK_STATE_INPUT_REQUIRED'])
    expect(second.history?.map(({ role }) => role)).toEqual([
      'ROLE_USER',
      'ROLE_AGENT',
      'ROLE_USER',
    ])
    expect(textOf(second)).toBe('Echo: red')
  })

  test('see nothing of the messages that wait behind theirs', async () => {
    const seen: string[][] = []
    const agent = createScriptedAgent()
    const { engine } = createEngineFor({
      ...agent,
      process(incoming, turn) {
        seen.push(
          turn.history.flatMap(({ role, messageId }) => (role === 'ROLE_USER' ? messageId : [])),
        )
        return agent.process(incoming, turn)
      },
    })
    const { id: taskId } = await begin(engine, 'ponder', { messageId: 'm1' })
    await engine.send(message('ask', { taskId, messageId: 'm2' }), {})
    const last = await engine.send(message('say done', { taskId, messageId: 'm3' }), {})
    agent.release()
    await last.answer.wait()
    expect(seen).toEqual([[], ['m1'], ['m1', 'm2']])
  })

  test('answer in artifacts of their own', async () => {
    const { engine, scope } = createEngineFor({
      info: () => ({ id: 'a', name: 'a', description: '', capabilities: [], metadata: {} }),
      async *process(_message, turn) {
        yield 'answer'
        yield turn.ask('more?')
      },
    })
    const { id: taskId } = taskOf(await ask(engine, 'one'))
    await ask(engine, 'two', { taskId })
    const { artifacts } = await engine.get(taskId, scope)
    expect(artifacts?.map(({ artifactId }) => artifactId)).toEqual(['response', 'response-2'])
  })
})
