import { describe, expect, onTestFinished, test } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import { collectTask } from '../../src/agents/reply.ts'
import { wrapAgent } from '../../src/agents/wrap.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import { answerParts, textOf } from '../../src/protocol/task.ts'
import type { SendMessageResponse } from '../../src/protocol/types.ts'
import { ask, begin, createEngineFor, eventsOf, message } from '../engine/scene.ts'
import { createTurn } from '../fixtures/turn.ts'

/** An agent of some kind under test, with what it stands on. */
export interface OpenAgent {
  readonly agent: Agent
  /** Takes away what the agent needs to answer, where it needs something outside this process. */
  breakDown?(): Promise<void>
  close?(): Promise<void>
}

/** A kind of agent. */
export interface AgentSubject {
  /** Makes one that answers a text with words that contain the text. */
  open(): Promise<OpenAgent> | OpenAgent
  readonly resumable: boolean
  /** Whether it works on the text `wait` until its signal fires; false for kinds that have no signal to hear. */
  readonly hears: boolean
}

const waiting = { load: () => undefined, keys: () => [] }

/** What every kind of agent owes whoever asks it. A new kind passes this. */
export function describeAgent(name: string, subject: AgentSubject): void {
  async function open(): Promise<OpenAgent> {
    const opened = await subject.open()
    onTestFinished(async () => {
      await opened.agent.close?.()
      await opened.close?.()
    })
    return opened
  }

  describe(`${name}: the contract of agents`, () => {
    test('says who it is, the same each time', async () => {
      const { agent } = await open()
      const info = await agent.info()
      expect(info.id).not.toBe('')
      expect(info.name).not.toBe('')
      expect(info.description).not.toBe('')
      expect(new Set(info.capabilities).size).toBe(info.capabilities.length)
      expect(await agent.info()).toEqual(info)
    })

    test('answers in a form that can be read', async () => {
      const { agent } = await open()
      const turn = createTurn('a question')
      const task = await collectTask(agent.process(turn.message, turn), turn)
      expect(textOf(answerParts(task))).toContain('a question')
    })

    test('answers through an engine, and its stream says the same', async () => {
      const { agent } = await open()
      const { engine } = createEngineFor(agent)
      expect(wordsOf(await ask(engine, 'a question'))).toContain('a question')
      const sent = await engine.send(message('another one'), {})
      const events = await eventsOf(sent.events())
      expect(JSON.stringify(events)).toContain('another one')
      expect(engine.live()).toBe(0)
    })

    test('answers several at once, each its own', async () => {
      const { agent } = await open()
      const { engine } = createEngineFor(agent)
      const texts = ['one', 'two', 'three']
      const answers = await Promise.all(texts.map((text) => ask(engine, text)))
      for (const [index, text] of texts.entries()) {
        const answer = answers[index]
        expect(answer && wordsOf(answer)).toContain(text)
      }
    })

    test('says whether an interrupted turn may run again', async () => {
      const { agent } = await open()
      expect(agent.resumable ?? false).toBe(subject.resumable)
    })

    test('is the same behind a wrapper', async () => {
      const { agent } = await open()
      const wrapped = wrapAgent(agent, {})
      expect(await wrapped.info()).toEqual(await agent.info())
      expect(wrapped.resumable).toBe(agent.resumable)
      expect(wrapped.definition).toEqual(agent.definition)
      expect(typeof wrapped.health).toBe(typeof agent.health)
      expect(typeof wrapped.cancel).toBe(typeof agent.cancel)
      const { engine } = createEngineFor(wrapped)
      expect(wordsOf(await ask(engine, 'a question'))).toContain('a question')
    })

    test('is healthy while it can answer', async () => {
      const { agent } = await open()
      const { healthy } = (await agent.health?.()) ?? { healthy: true }
      expect(healthy).toBe(true)
    })

    test('is not healthy when it cannot answer, and says why', async () => {
      const { agent, breakDown } = await open()
      if (!breakDown) return
      await breakDown()
      const health = await agent.health?.()
      expect(health?.healthy).toBe(false)
      expect(health?.reason).toBeTruthy()
    })

    test('fails its task, not the process, when it cannot answer', async () => {
      const { agent, breakDown } = await open()
      if (!breakDown) return
      await breakDown()
      const { engine } = createEngineFor(agent)
      const answer = await ask(engine, 'anyone there?')
      expect('task' in answer && answer.task.status.state).toBe('TASK_STATE_FAILED')
    })

    test('bears to hear of a cancelled task that it has nothing to do with', async () => {
      const { agent } = await open()
      await agent.cancel?.({ taskId: 'unknown', contextId: 'unknown', ...waiting })
    })

    test('may be closed twice', async () => {
      const { agent } = await open()
      await agent.close?.()
      await agent.close?.()
    })

    test.runIf(subject.hears)('ends when its signal fires', async () => {
      const { agent } = await open()
      const turn = createTurn('wait')
      const reply = collectTask(agent.process(turn.message, turn), turn)
      const ended = expect(reply).rejects.toThrow()
      await new Promise(setImmediate)
      turn.cancel(new A2AError('taskCanceled', 'cancelled'))
      await ended
    })

    test.runIf(subject.hears)('is cancelled in the middle of its work', async () => {
      const { agent } = await open()
      const { engine, scope } = createEngineFor(agent)
      const { id } = await begin(engine, 'wait')
      expect((await engine.cancel(id, scope)).status.state).toBe('TASK_STATE_CANCELED')
      await engine.close(5_000)
      expect(engine.live()).toBe(0)
    })
  })
}

function wordsOf(answer: SendMessageResponse): string {
  return textOf('task' in answer ? answerParts(answer.task) : answer.message.parts)
}
