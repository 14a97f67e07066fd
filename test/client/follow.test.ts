import { describe, expect, test } from 'vitest'
import type { HttpSend } from '../../src/bindings/http.ts'
import { A2AClient, followedAgent } from '../../src/client/client.ts'
import { answerOf, type Following, follow } from '../../src/client/follow.ts'
import { connectionLost } from '../../src/client/http.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import type {
  Call,
  Dispatch,
  EventStream,
  OperationName,
  Sequenced,
} from '../../src/protocol/operations.ts'
import type { Message, StreamResponse, Task, TaskState } from '../../src/protocol/types.ts'
import { createFakeClock, type FakeClock } from '../../src/testing/index.ts'
import { toClientReply } from '../bindings/loop.ts'
import { jsonRpc, testCard } from './cards.ts'

const ids = { taskId: 't', contextId: 'c' }
const lost = connectionLost('http://agent.example/', undefined)
const message: Message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }

function taskIn(state: TaskState, ...texts: readonly string[]): Task {
  const artifacts = [{ artifactId: 'a', parts: texts.map((text) => ({ text })) }]
  return { id: 't', contextId: 'c', status: { state }, ...(texts.length > 0 && { artifacts }) }
}

function status(state: TaskState): StreamResponse {
  return { statusUpdate: { ...ids, status: { state } } }
}

function chunk(text: string): StreamResponse {
  const artifact = { artifactId: 'a', parts: [{ text }] }
  return { artifactUpdate: { ...ids, artifact, append: true } }
}

const working = taskIn('TASK_STATE_WORKING')
const completed = status('TASK_STATE_COMPLETED')

/** A stream of events numbered from `first`; ends with `end`, if that is an error. */
async function* numbered(
  first: number | undefined,
  events: readonly StreamResponse[],
  end?: A2AError,
): AsyncGenerator<readonly Sequenced[]> {
  let seq = first
  for (const event of events) yield [seq === undefined ? { event } : { event, seq: seq++ }]
  if (end) throw end
}

type Step = A2AError | EventStream | Task | { readonly task: Task } | { readonly message: Message }

/** An agent that answers operations in the order of a script, and the calls it got. */
function scripted(steps: readonly (readonly [OperationName, Step])[]): {
  dispatch: Dispatch
  calls: { name: OperationName; request: unknown; call: Call }[]
} {
  const script = [...steps]
  const calls: { name: OperationName; request: unknown; call: Call }[] = []
  const dispatch = async (name: OperationName, request: unknown, call: Call): Promise<unknown> => {
    calls.push({ name, request, call })
    const [expected, step] = script.shift() ?? []
    if (expected !== name) throw new Error(`expected ${expected}, got ${name}`)
    if (step instanceof A2AError) throw step
    return step
  }
  return { dispatch: dispatch as Dispatch, calls } // each step is its operation's result
}

interface Run {
  readonly steps: readonly (readonly [OperationName, Step])[]
  readonly start?: Parameters<typeof follow>[1]
  readonly streams?: boolean
  /** Waits that are let pass, in this order. */
  readonly waits?: readonly number[]
}

async function run(setup: Run): Promise<{ seen: StreamResponse[]; calls: { call: Call }[] }> {
  const { steps, start = { send: { message } }, streams = true, waits = [] } = setup
  const clock: FakeClock = createFakeClock()
  const { dispatch, calls } = scripted(steps)
  const context: Following = {
    agent: followedAgent(dispatch),
    canStream: async () => streams,
    clock,
    random: () => 1,
    options: {},
  }
  const passing = (async () => {
    for (const ms of waits) await clock.elapse(ms)
  })()
  const seen: StreamResponse[] = []
  for await (const event of follow(context, start)) seen.push(event)
  await passing
  return { seen, calls }
}

describe('following a message', () => {
  test('gives the events of the stream up to the terminal state', async () => {
    const events = [{ task: working }, chunk('one'), completed]
    const { seen } = await run({ steps: [['SendStreamingMessage', numbered(1, events)]] })
    expect(seen).toEqual(events)
  })

  test('ends with a message that answers without a task', async () => {
    const answer = { message: { ...message, role: 'ROLE_AGENT' as const } }
    const { seen } = await run({ steps: [['SendStreamingMessage', numbered(undefined, [answer])]] })
    expect(seen).toEqual([answer])
  })

  test('resumes after a drop by Last-Event-ID, each event once and in order', async () => {
    const { seen, calls } = await run({
      steps: [
        ['SendStreamingMessage', numbered(1, [{ task: working }, chunk('one')], lost)],
        ['SubscribeToTask', numbered(2, [chunk('one'), chunk('two')], lost)],
        ['SubscribeToTask', numbered(4, [completed])],
      ],
      waits: [250],
    })
    expect(seen).toEqual([{ task: working }, chunk('one'), chunk('two'), completed])
    expect(calls.map(({ call }) => call.lastEventId)).toEqual([undefined, 2, 3])
  })

  test('resumes by the difference of snapshots where the server does not count', async () => {
    const snapshot = { task: taskIn('TASK_STATE_WORKING', 'one two ') }
    const { seen } = await run({
      steps: [
        ['SendStreamingMessage', numbered(undefined, [{ task: working }, chunk('one ')], lost)],
        ['SubscribeToTask', numbered(undefined, [snapshot, chunk('three'), completed])],
      ],
    })
    expect(seen).toEqual([
      { task: working },
      chunk('one '),
      chunk('two '),
      chunk('three'),
      completed,
    ])
  })

  test('looks at the task where a resumed stream has neither numbers nor a snapshot', async () => {
    const { seen } = await run({
      steps: [
        ['SendStreamingMessage', numbered(undefined, [{ task: working }, chunk('one ')], lost)],
        ['SubscribeToTask', numbered(undefined, [chunk('three'), completed])],
        ['GetTask', taskIn('TASK_STATE_WORKING', 'one two three')],
        ['GetTask', taskIn('TASK_STATE_COMPLETED', 'one two three')],
      ],
    })
    expect(seen).toEqual([{ task: working }, chunk('one '), chunk('two three'), completed])
  })

  test('goes on after a stream that ends before the task', async () => {
    const { seen } = await run({
      steps: [
        ['SendStreamingMessage', numbered(1, [{ task: working }])],
        ['SubscribeToTask', numbered(2, [completed])],
      ],
    })
    expect(seen).toEqual([{ task: working }, completed])
  })

  test('takes the end from the task where it finished during the drop', async () => {
    const { seen } = await run({
      steps: [
        ['SendStreamingMessage', numbered(undefined, [{ task: working }], lost)],
        ['SubscribeToTask', new A2AError('unsupportedOperation', 'finished')],
        ['GetTask', taskIn('TASK_STATE_COMPLETED')],
      ],
    })
    expect(seen).toEqual([{ task: working }, completed])
  })

  test('gives up after five drops in a row that bring nothing', async () => {
    const drops = Array.from({ length: 6 }, () => ['SubscribeToTask', lost] as const)
    const steps = [
      ['SendStreamingMessage', numbered(1, [{ task: working }], lost)],
      ...drops,
    ] as const
    await expect(run({ steps, waits: [250, 500, 1000, 2000, 4000] })).rejects.toBe(lost)
  })

  test('does not send again where the stream breaks before it brought anything', async () => {
    const steps = [['SendStreamingMessage', numbered(1, [], lost)]] as const
    await expect(run({ steps })).rejects.toBe(lost)
  })

  test('goes on with the task that has the message where its stream breaks before it brought anything', async () => {
    const task = { ...taskIn('TASK_STATE_COMPLETED'), history: [message] }
    const start = { send: { message: { ...message, taskId: 't' } } }
    const broken = () => ['SendStreamingMessage', numbered(1, [], lost)] as const
    const { seen } = await run({ start, steps: [broken(), ['GetTask', task]] })
    expect(seen).toEqual([{ task }])
    for (const other of [working, new A2AError('unavailable', 'gone')])
      await expect(run({ start, steps: [broken(), ['GetTask', other]] })).rejects.toBe(lost)
  })

  test('ends where the task asks for input, and not at a question that was answered', async () => {
    const asked = { task: taskIn('TASK_STATE_INPUT_REQUIRED') }
    const events = [asked, status('TASK_STATE_WORKING'), status('TASK_STATE_INPUT_REQUIRED')]
    const { seen } = await run({ steps: [['SendStreamingMessage', numbered(1, events)]] })
    expect(seen).toEqual(events)
  })

  test('ends where all that came is a task that asks for input', async () => {
    const asked = { task: taskIn('TASK_STATE_INPUT_REQUIRED') }
    const { seen } = await run({ steps: [['SendStreamingMessage', numbered(1, [asked])]] })
    expect(seen).toEqual([asked])
  })

  test('K010 waits through AUTH_REQUIRED by subscribing', async () => {
    const auth = status('TASK_STATE_AUTH_REQUIRED')
    const { seen } = await run({
      steps: [
        ['SendStreamingMessage', numbered(1, [{ task: working }, auth])],
        ['SubscribeToTask', numbered(3, [completed])],
      ],
    })
    expect(seen).toEqual([{ task: working }, auth, completed])
  })

  test('A015 K010 polls once a second where the agent does not stream', async () => {
    const { seen, calls } = await run({
      steps: [
        ['SendMessage', { task: working }],
        ['GetTask', taskIn('TASK_STATE_AUTH_REQUIRED')],
        ['GetTask', taskIn('TASK_STATE_WORKING', 'one ')],
        ['GetTask', taskIn('TASK_STATE_COMPLETED', 'one two')],
      ],
      streams: false,
      waits: [1000, 1000],
    })
    const first = {
      artifactUpdate: { ...ids, artifact: { artifactId: 'a', parts: [{ text: 'one ' }] } },
    }
    expect(seen).toEqual([
      { task: working },
      status('TASK_STATE_AUTH_REQUIRED'),
      first,
      status('TASK_STATE_WORKING'),
      chunk('two'),
      completed,
    ])
    expect(calls[0]).toMatchObject({ request: { configuration: { returnImmediately: true } } })
  })

  test('polls where the agent says too late that it does not stream', async () => {
    const refusal = new A2AError('unsupportedOperation', 'no streams here')
    const { seen } = await run({
      steps: [
        ['SendStreamingMessage', refusal],
        ['SendMessage', { task: working }],
        ['SubscribeToTask', refusal],
        ['GetTask', taskIn('TASK_STATE_COMPLETED')],
      ],
    })
    expect(seen).toEqual([{ task: working }, completed])
  })
})

/**
 * A 0.3 agent that answers each method with what is given for it, and the methods it was asked for. Of several answers
 * that are no stream each is given once, the last one again and again.
 */
function agent03(answers: Readonly<Record<string, string | readonly unknown[]>>): {
  client: A2AClient
  asked: string[]
  clock: FakeClock
} {
  const asked: string[] = []
  const clock = createFakeClock()
  const send: HttpSend = async ({ body = '' }) => {
    const { id, method } = JSON.parse(body)
    asked.push(method)
    const given = answers[method] ?? []
    const nth = Math.min(asked.filter((one) => one === method).length, given.length)
    const rpc = (part: unknown): string => JSON.stringify({ jsonrpc: '2.0', id, ...Object(part) })
    const isStream = /stream|resubscribe/.test(method) && given.length > 0
    const text = Array.isArray(given) ? given.map((one) => `data: ${rpc(one)}\n\n`).join('') : given
    const none = { error: { code: -32601, message: 'Unknown method' } }
    return toClientReply({
      status: 200,
      headers: { 'content-type': isStream ? 'text/event-stream' : 'application/json' },
      body: isStream ? String(text) : rpc(given[nth - 1] ?? none),
    })
  }
  const card = testCard({ supportedInterfaces: [jsonRpc('http://agent.example/', '0.3')] })
  const client = new A2AClient({
    serverUrl: 'http://agent.example/',
    card,
    send,
    clock,
  })
  return { client, asked, clock }
}

describe('following a message to a 0.3 agent', () => {
  const done = { id: 't', status: { state: 'completed' }, kind: 'task' }
  const answered = { result: done }
  const unknown = { error: { code: -32001, message: 'Task not found' } }
  const separated = (state: string): string =>
    `data: \u001e${JSON.stringify({ jsonrpc: '2.0', result: { ...done, status: { state } } })}\n\n`
  const garbled = { result: { kind: 'status-update', taskId: 't', status: 7 } }
  const streams: readonly (readonly [
    quirk: string,
    answers: Readonly<Record<string, string | readonly unknown[]>>,
    asked: readonly string[],
  ])[] = [
    [
      'VoltAgent: a record separator before each event',
      { 'message/stream': separated('working') + separated('completed') },
      ['message/stream'],
    ],
    [
      'a first event that is no JSON',
      { 'message/stream': 'data: hello\n\n', 'message/send': [answered] },
      ['message/stream', 'message/send'],
    ],
    [
      'a stream without an event',
      { 'message/stream': ': nothing\n\n', 'message/send': [answered] },
      ['message/stream', 'message/send'],
    ],
    [
      'a first event that names its task and is wrong otherwise',
      { 'message/stream': [garbled], 'tasks/get': [answered] },
      ['message/stream', 'tasks/get'],
    ],
    [
      'a first event that names a task which cannot be asked for',
      { 'message/stream': [garbled], 'tasks/get': [unknown], 'message/send': [answered] },
      ['message/stream', 'tasks/get', 'message/send'],
    ],
    [
      'a later event that is no JSON, in every stream',
      {
        'message/stream': `${separated('working')}data: x\n\n`,
        'tasks/resubscribe': 'data: x\n\n',
        'tasks/get': [answered],
      },
      ['message/stream', 'tasks/resubscribe', 'tasks/get'],
    ],
  ]

  test.each(streams)('%s', async (_, answers, expected) => {
    const { client, asked } = agent03(answers)
    let last: StreamResponse | undefined
    for await (const event of client.sendAndFollow('hi')) last = event
    const { task, statusUpdate } = Object(last)
    expect((task ?? statusUpdate)?.status.state).toBe('TASK_STATE_COMPLETED')
    expect(asked).toEqual(expected)
  })

  describe.each([
    ['that no one can read', 'data: hello\n\n'],
    ['without an event', ': nothing\n\n'],
  ])('where a stream %s answers a question', (_, stream) => {
    const message = { kind: 'message', messageId: 'q', role: 'agent', parts: [] }
    const asking = { ...done, status: { state: 'input-required', message } }

    async function answer(
      answers: Readonly<Record<string, readonly unknown[]>>,
      polls: number,
    ): Promise<{ seen: StreamResponse[]; asked: string[] }> {
      const { client, asked, clock } = agent03({ 'message/stream': stream, ...answers })
      const seen: StreamResponse[] = []
      const following = (async () => {
        for await (const event of client.sendAndFollow('yes', { taskId: 't' })) seen.push(event)
      })()
      for (let poll = 0; poll < polls; poll++) await clock.elapse(1000)
      await following
      return { seen, asked }
    }

    test('waits until the task shows something else than that question', async () => {
      const gets = [{ result: asking }, { result: asking }, answered]
      const { seen, asked } = await answer({ 'tasks/get': gets }, 2)
      expect(seen).toMatchObject([{ task: { status: { state: 'TASK_STATE_COMPLETED' } } }])
      expect(asked).toEqual(['message/stream', 'tasks/get', 'tasks/get', 'tasks/get'])
    })

    test('takes another question at once', async () => {
      const next = { ...asking.status, message: { ...message, messageId: 'q2' } }
      const gets = [{ result: asking }, { result: { ...asking, status: next } }]
      const { seen } = await answer({ 'tasks/get': gets }, 1)
      expect(seen).toMatchObject([{ task: { status: { message: { messageId: 'q2' } } } }])
    })

    test('sends again, in the end, to a task that has no trace of the message', async () => {
      const untouched = { ...asking, history: [{ ...message, messageId: 'first' }] }
      const answers = { 'tasks/get': [{ result: untouched }], 'message/send': [answered] }
      const { seen, asked } = await answer(answers, 5)
      expect(seen).toMatchObject([{ task: { status: { state: 'TASK_STATE_COMPLETED' } } }])
      expect(asked.filter((method) => method !== 'tasks/get')).toEqual([
        'message/stream',
        'message/send',
      ])
    })
  })

  test('an error that the agent tells is one', async () => {
    const { client, asked } = agent03({ 'message/stream': [unknown] })
    await expect(async () => {
      for await (const _ of client.sendAndFollow('hi'));
    }).rejects.toMatchObject({ code: 'taskNotFound' })
    expect(asked).toEqual(['message/stream'])
  })
})

describe('following a task', () => {
  test('begins with its snapshot', async () => {
    const events = [{ task: working }, completed]
    const steps = [['SubscribeToTask', numbered(3, events)]] as const
    expect((await run({ steps, start: { id: 't' } })).seen).toEqual(events)
  })

  test('tells only what is new to a task in hand', async () => {
    const steps = [['SubscribeToTask', numbered(3, [{ task: working }, completed])]] as const
    const { seen } = await run({ steps, start: { task: working } })
    expect(seen).toEqual([{ task: working }, completed])
  })

  test('asks nobody about a task that is over', async () => {
    const task = taskIn('TASK_STATE_COMPLETED')
    expect((await run({ steps: [], start: { task } })).seen).toEqual([{ task }])
  })

  test('fails where there is no such task', async () => {
    const absent = new A2AError('taskNotFound', 'Task t not found')
    const steps = [['SubscribeToTask', absent]] as const
    await expect(run({ steps, start: { id: 't' } })).rejects.toBe(absent)
  })
})

describe('the answer of events', () => {
  async function* list(...events: readonly StreamResponse[]): AsyncGenerator<StreamResponse> {
    yield* events
  }

  test('D021 F018 is the text of the artifacts, put together by artifactId', async () => {
    const talk = { message: { ...message, role: 'ROLE_AGENT' as const } }
    const events = list({ task: working }, chunk('one '), talk, chunk('two'), completed)
    expect((await answerOf(events)).text).toBe('one two')
  })

  test('is the text of a message', async () => {
    expect((await answerOf(list({ message }))).text).toBe('hi')
  })

  test('is the question of a task that asks', async () => {
    const asking = { state: 'TASK_STATE_INPUT_REQUIRED', message } as const
    const events = list({ task: working }, { statusUpdate: { ...ids, status: asking } })
    expect((await answerOf(events)).text).toBe('hi')
  })

  test.each([
    ['TASK_STATE_FAILED', 'taskFailed'],
    ['TASK_STATE_REJECTED', 'taskFailed'],
    ['TASK_STATE_CANCELED', 'taskCanceled'],
  ] as const)('is a fault after %s', async (state, code) => {
    await expect(answerOf(list({ task: taskIn(state) }))).rejects.toMatchObject({ code })
  })

  test('is a fault where nothing came', async () => {
    const code = 'invalidAgentResponse'
    await expect(answerOf(list())).rejects.toMatchObject({ code })
  })
})
