import { describe, expect, test } from 'vitest'
import type { Agent, AgentReply, Turn } from '../../src/agents/agent.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { A2AError, type ErrorCode } from '../../src/protocol/errors.ts'
import { hopsExtension } from '../../src/protocol/extensions.ts'
import type { Json, Message, Task } from '../../src/protocol/types.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import { ask, begin, createEngineFor, message, taskOf, textOf } from './scene.ts'

const agentOf = (process: (message: Message, turn: Turn) => AgentReply): Agent =>
  defineAgent({ name: 'a', resumable: true }, process)

describe('what an agent is given', () => {
  const full = {
    metadata: { a: { b: [1] } },
    extensions: ['urn:x'],
    referenceTaskIds: ['t'],
  }

  test('is all of the message, and its own', async () => {
    const heard: Message[] = []
    const { engine, scope } = createEngineFor(
      agentOf((incoming) => {
        heard.push(structuredClone(incoming))
        Object.assign(incoming.parts[0] ?? {}, { text: 'changed' })
        Object.assign(incoming.metadata ?? {}, { a: 'changed' })
        for (const list of [incoming.extensions, incoming.referenceTaskIds])
          Array.prototype.push.call(list, 'changed')
        return 'done'
      }),
    )
    const { id, contextId } = taskOf(await ask(engine, 'go', { messageId: 'm', ...full }))
    const expected = {
      ...full,
      messageId: 'm',
      taskId: id,
      contextId,
      role: 'ROLE_USER',
      parts: [{ text: 'go' }],
    }
    expect(heard).toEqual([expected])
    expect((await engine.get(id, scope)).history).toEqual([expected])
  })

  test('is the request’s, a copy each time', async () => {
    const seen: unknown[] = []
    const { engine } = createEngineFor(
      agentOf((_message, turn) => {
        for (let i = 0; i < 2; i++) {
          const { metadata, extensions, acceptedOutputModes, traceparent, hops } = turn
          seen.push(
            structuredClone({ metadata, extensions, acceptedOutputModes, traceparent, hops }),
          )
          Object.assign(metadata ?? {}, { a: 'changed' })
          for (const list of [extensions, acceptedOutputModes])
            Array.prototype.push.call(list, 'changed')
        }
        return 'done'
      }),
    )
    const hops = ['x', 7, 'y']
    const sent = await engine.send(
      {
        ...message('go', { metadata: { [hopsExtension]: hops } }),
        metadata: { a: 1 },
        configuration: { acceptedOutputModes: ['text/plain'] },
      },
      { extensions: ['urn:x'], traceparent: '00-1' },
    )
    await sent.answer.wait()
    const expected = {
      metadata: { a: 1 },
      extensions: ['urn:x'],
      acceptedOutputModes: ['text/plain'],
      traceparent: '00-1',
      hops: ['x', 'y'],
    }
    expect(seen).toEqual([expected, expected])
  })

  test('names its caller as the request does, and later as the log does', async () => {
    const callers: unknown[] = []
    const agent = agentOf((_message, turn) => {
      callers.push(turn.caller)
      return 'done'
    })
    const { engine } = createEngineFor(agent)
    const auth = { userId: 'ann', name: 'Ann' }
    await ask(engine, 'go', { call: { auth } })
    await ask(engine, 'go')
    expect(callers).toMatchObject([auth, { userId: '' }])
  })

  test('is the task as it was, its own copy', async () => {
    const seen: (string | undefined)[] = []
    const { engine, scope } = createEngineFor(
      agentOf(async function* (_message, turn) {
        seen.push(turn.task?.status.state)
        for (const one of turn.history) Object.assign(one.parts[0] ?? {}, { text: 'changed' })
        yield turn.ask('Which one?')
      }),
    )
    const { id: taskId } = taskOf(await ask(engine, 'one'))
    await ask(engine, 'two', { taskId })
    expect(seen).toEqual([undefined, 'TASK_STATE_INPUT_REQUIRED'])
    expect(JSON.stringify(await engine.get(taskId, scope))).not.toContain('changed')
  })
})

describe('what an agent keeps', () => {
  test('is a copy, in and out', async () => {
    const seen: Json[] = []
    const { engine } = createEngineFor(
      agentOf(async (_message, turn) => {
        const value = { a: [1] }
        await turn.save('key', value)
        turn.context.set('key', value)
        value.a.push(2)
        for (const load of [() => turn.load('key'), () => turn.context.get('key')])
          for (let i = 0; i < 2; i++) {
            const loaded = (await load()) as { a: number[] }
            seen.push(structuredClone(loaded))
            loaded.a.push(3)
          }
        return 'done'
      }),
    )
    await ask(engine, 'go')
    expect(seen).toEqual([{ a: [1] }, { a: [1] }, { a: [1] }, { a: [1] }])
  })

  test.each<[Json]>([[0], [''], [false], [null], [[]]])(
    'as the result of a step is %o again after a crash',
    async (result) => {
      let runs = 0
      const never = new Promise<never>(() => {})
      const stepping = (isStuck: boolean): Agent =>
        agentOf(async (_message, turn) => {
          const done = await turn.step('one', () => {
            runs++
            return result
          })
          return isStuck ? never : JSON.stringify(done)
        })
      const before = createEngineFor(stepping(true))
      const { id } = await begin(before.engine, 'go')
      const kinds = async () => (await before.store.records(id, 0)).map(({ kind }) => kind)
      await expect.poll(kinds).toContain('step')
      const after = createEngineFor(stepping(false), { store: before.store })
      await after.engine.recover()
      const task = () => after.engine.get(id, after.scope)
      await expect.poll(async () => (await task()).status.state).toBe('TASK_STATE_COMPLETED')
      expect(textOf(await task())).toBe(JSON.stringify(result))
      expect(runs).toBe(1)
    },
  )

  test('a value that is set to null is none', async () => {
    const seen: unknown[] = []
    const { engine, store, scope } = createEngineFor(
      agentOf(async (_message, turn) => {
        seen.push(await turn.context.get('key'))
        turn.context.set('key', 1)
        seen.push(await turn.context.get('key'))
        turn.context.set('key', null)
        seen.push(await turn.context.get('key'))
        return 'done'
      }),
    )
    await ask(engine, 'go', { contextId: 'c' })
    expect(seen).toEqual([undefined, 1, undefined])
    expect((await store.contextValues(scope, 'c')).size).toBe(0)
  })

  const limits = { maxTaskBytes: 100_000, maxTaskEvents: 100, maxContextBytes: 20 }
  // A key of one character and a text of `n` are n + 3 bytes.
  test.each<[string, readonly (readonly [string, number | null])[], boolean]>([
    ['as much as there may be', [['a', 17]], true],
    ['one more', [['a', 18]], false],
    [
      'two that are as much',
      [
        ['a', 7],
        ['b', 7],
      ],
      true,
    ],
    [
      'two that are more',
      [
        ['a', 7],
        ['b', 8],
      ],
      false,
    ],
    [
      'one in place of another',
      [
        ['a', 17],
        ['a', 16],
      ],
      true,
    ],
    [
      'one after another is taken away',
      [
        ['a', 17],
        ['a', null],
        ['b', 17],
      ],
      true,
    ],
    [
      'none beside as much',
      [
        ['a', 17],
        ['b', null],
      ],
      true,
    ],
  ])('together has an end: %s', async (_, values, isKept) => {
    for (const asksFirst of [true, false]) {
      const { engine } = createEngineFor(
        agentOf(async (_message, turn) => {
          if (asksFirst) await turn.context.get('a')
          for (const [key, size] of values)
            turn.context.set(key, size === null ? null : 'x'.repeat(size))
          await turn.step('wait', () => 1)
          return 'kept'
        }),
        { limits },
      )
      const { state } = taskOf(await ask(engine, 'go')).status
      expect(state).toBe(isKept ? 'TASK_STATE_COMPLETED' : 'TASK_STATE_FAILED')
    }
  })

  test('of our own makes no task', async () => {
    const { engine, scope } = createEngineFor(
      agentOf(async (_message, turn) => {
        await turn.save('corral:own', 1)
        turn.context.set('corral:own', 1)
        return turn.reply('hi')
      }),
    )
    expect(await ask(engine, 'go')).toMatchObject({ message: { parts: [{ text: 'hi' }] } })
    expect((await engine.list({ scope, limit: 1 })).total).toBe(0)
  })
})

test('a step is called by its task, its turn and its name elsewhere', async () => {
  const keys: string[] = []
  const { engine } = createEngineFor(
    agentOf(async function* (_message, turn) {
      keys.push(turn.stepKey('pay'))
      yield turn.ask('Which one?')
    }),
  )
  const { id: taskId } = taskOf(await ask(engine, 'go'))
  await ask(engine, 'on', { taskId })
  expect(keys).toEqual([`${taskId}/1/pay`, `${taskId}/2/pay`])
})

test('a turn that is over does nothing more, and its signal says so', async () => {
  const late = createDeferred<unknown[]>()
  const cancelled = createDeferred<void>()
  const { engine, scope } = createEngineFor(
    agentOf(async (_message, turn) => {
      turn.trace({ kind: 'begun' })
      await cancelled.promise
      const fails = async (work: () => unknown): Promise<unknown> => {
        try {
          return await work()
        } catch (thrown) {
          return (thrown as A2AError).code
        }
      }
      late.resolve([
        turn.signal.aborted,
        await fails(() => turn.save('key', 1)),
        await fails(() => turn.step('late', () => 1)),
        await fails(() => turn.context.set('key', 1)),
      ])
      return 'done'
    }),
  )
  const { id } = await begin(engine, 'go')
  await engine.cancel(id, scope)
  cancelled.resolve()
  const refused = 'taskCanceled'
  expect(await late.promise).toEqual([true, refused, refused, refused])
})

test('what an agent saves while its signal fires is stored with the end', async () => {
  const { engine, scope, store } = createEngineFor(
    agentOf((_message, turn) => {
      turn.trace({ kind: 'begun' })
      turn.signal.addEventListener('abort', () => void turn.save('last', 'words').catch(() => {}))
      return new Promise<never>(() => {})
    }),
  )
  const { id } = await begin(engine, 'go')
  await engine.cancel(id, scope)
  const saved = (await store.records(id, 0)).filter(({ kind }) => kind === 'state')
  expect(saved).toMatchObject([{ key: 'last', value: 'words' }])
})

describe('a fault of the caller that an agent finds', () => {
  const faults: readonly ErrorCode[] = [
    'invalidParams',
    'invalidMessage',
    'contentTypeNotSupported',
    'unsupportedOperation',
    'extensionSupportRequired',
    'unauthenticated',
    'forbidden',
    'rateLimited',
  ]
  const failing = (code: ErrorCode, isLate = false): Agent =>
    agentOf((_message, turn) => {
      if (isLate) turn.trace({ kind: 'begun' })
      throw new A2AError(code, 'Not so')
    })

  test.each(faults)('%s answers the request where there is no task', async (code) => {
    const { engine } = createEngineFor(failing(code))
    await expect(ask(engine, 'go')).rejects.toMatchObject({ code })
  })

  test.each<[ErrorCode, boolean, string]>([
    ['forbidden', true, 'TASK_STATE_FAILED'],
    ['unauthenticated', true, 'TASK_STATE_AUTH_REQUIRED'],
    ['internal', false, 'TASK_STATE_FAILED'],
    ['agentUnavailable', false, 'TASK_STATE_FAILED'],
  ])('%s otherwise is what becomes of the task', async (code, isLate, state) => {
    const { engine } = createEngineFor(failing(code, isLate))
    expect(taskOf(await ask(engine, 'go')).status.state).toBe(state)
  })
})

test.each([
  ['reject', 'taskFailed'],
  ['fail', 'taskFailed'],
  ['hold', 'taskCanceled'],
  ['chunks a', 'unsupportedOperation'],
] as const)('a task that ended by "%s" takes no more messages: %s', async (text, code) => {
  const { engine, scope } = createEngineFor(createScriptedAgent())
  const { id: taskId } = await begin(engine, text)
  if (text === 'hold') await engine.cancel(taskId, scope)
  await expect.poll(() => engine.live()).toBe(0)
  await expect(ask(engine, 'more', { taskId })).rejects.toMatchObject({ code })
})

describe('a task that an agent makes', () => {
  const made = (more: Partial<Task>, wait?: Promise<unknown>): Agent =>
    agentOf(async (_message, turn) => {
      if (wait) turn.trace({ kind: 'begun' })
      await wait
      const { taskId: id, contextId } = turn
      return { task: { id, contextId, status: { state: 'TASK_STATE_COMPLETED' }, ...more } }
    })
  const timestamp = '2020-01-01T00:00:00.000Z'
  const message: Message = { messageId: 'x', role: 'ROLE_AGENT', parts: [{ text: 'Bye' }] }

  test('keeps its time, its words and its history', async () => {
    const status = { state: 'TASK_STATE_COMPLETED', timestamp, message } as const
    const { engine } = createEngineFor(made({ status, history: [message] }))
    const task = taskOf(await ask(engine, 'go'))
    expect(task.status).toMatchObject({ timestamp, message: { parts: [{ text: 'Bye' }] } })
    expect(task.history?.map(({ messageId }) => messageId)).toEqual(['x'])
  })

  test.each([[undefined], [[]]])('has its message where its history is %o', async (history) => {
    const { engine } = createEngineFor(made(history ? { history } : {}))
    const task = taskOf(await ask(engine, 'go', { messageId: 'm' }))
    expect(task.history?.map(({ messageId }) => messageId)).toEqual(['m'])
  })

  test('changes the one that is there, its words too', async () => {
    const status = { state: 'TASK_STATE_COMPLETED', message } as const
    const artifacts = [{ artifactId: 'a', parts: [{ text: 'x' }] }]
    const { engine } = createEngineFor(made({ status, artifacts }, Promise.resolve()))
    const task = taskOf(await ask(engine, 'go'))
    expect(task.status).toMatchObject({ state: 'TASK_STATE_COMPLETED', message })
    expect(task.artifacts).toEqual(artifacts)
  })

  test.each([
    ['TASK_STATE_WORKING', true],
    ['TASK_STATE_SUBMITTED', true],
    ['TASK_STATE_INPUT_REQUIRED', false],
    ['TASK_STATE_AUTH_REQUIRED', false],
  ] as const)('and leaves in %s is finished later: %s', async (state, isLater) => {
    const { engine, store } = createEngineFor(made({ status: { state } }))
    const { id, status } = taskOf(await ask(engine, 'go'))
    expect(status.state).toBe(state)
    await expect.poll(() => engine.live()).toBe(0)
    expect((await store.get(id))?.head.busy).toBe(false)
    const rests = (await store.records(id, 0)).filter(({ kind }) => kind === 'rest')
    expect(rests).toHaveLength(isLater || state === 'TASK_STATE_AUTH_REQUIRED' ? 1 : 0)
  })
})

test('a turn that takes no messages of the conversation reads none', async () => {
  const memory = createMemoryStore()
  let reads = 0
  const heard: unknown[] = []
  const store = {
    ...memory,
    list: (...args: Parameters<typeof memory.list>) => {
      reads++
      return memory.list(...args)
    },
  }
  const { engine } = createEngineFor(
    agentOf(async (_message, turn) => {
      for (const limit of [0, -1]) heard.push(await turn.conversation(limit))
      return 'done'
    }),
    { store },
  )
  await ask(engine, 'go')
  expect([heard, reads]).toEqual([[[], []], 0])
})
