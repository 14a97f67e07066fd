import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../../src/agents/function.ts'
import { A2AAgent, type A2AAgentOptions } from '../../../src/agents/remote/agent.ts'
import { answerParts, textOf, userMessage } from '../../../src/protocol/task.ts'
import { createServer, listen, type Server, type ServerOptions } from '../../../src/server/index.ts'
import { createDeferred } from '../../../src/shared/async.ts'
import { createMemoryStore, openSqliteStore } from '../../../src/store/index.ts'
import type { CallRules } from '../../../src/team/schedulers/scheduler.ts'
import { defineTeam, type Team } from '../../../src/team/team.ts'
import { createFakeClock, type FakeClock } from '../../../src/testing/index.ts'
import { Raw, type RpcCall, serveAgent } from '../../client/agent.ts'
import { member } from '../../fixtures/members.ts'
import { createTurn, foldEvents, runTurn, type ScriptedTurn } from '../../fixtures/turn.ts'

const ids = { id: 't1', contextId: 'c1' }
const working = { ...ids, status: { state: 'TASK_STATE_WORKING' } }
const unknown = { ...ids, status: { state: 'TASK_STATE_UNSPECIFIED' } }
const done = {
  ...ids,
  status: { state: 'TASK_STATE_COMPLETED' },
  artifacts: [{ artifactId: 'a', parts: [{ text: 'done' }] }],
}
const minute = 60_000
const streams = { capabilities: { streaming: true } }

/** The pauses between polls without jitter: one second at first, half as much more each time, a minute at most. */
const pollPauses = Array.from({ length: 12 }, (_, n) =>
  Math.min(minute, Math.round(1_000 * 1.5 ** n)),
)

function remote(endpoint: string, clock: FakeClock, more: Partial<A2AAgentOptions> = {}): A2AAgent {
  const options = { id: 'near', name: 'Near', timeoutSeconds: 30, maxRetries: 0, random: () => 0 }
  const agent = new A2AAgent({ ...options, endpoint, clock, ...more })
  onTestFinished(() => agent.close())
  return agent
}

/** Lets one pause after the other pass until the work is done, or that moment has come; gives them back. */
async function letPass(
  clock: FakeClock,
  pauses: readonly number[],
  until: Promise<unknown> | number,
): Promise<readonly number[]> {
  const end = typeof until === 'number' ? until : Infinity
  const work = typeof until === 'number' ? new Promise<never>(() => {}) : until
  const over = work.then(
    () => undefined,
    () => undefined,
  )
  const passed: number[] = []
  for (;;) {
    if (clock.elapsed() >= end) return passed
    const ms = await Promise.race([clock.timer((delay) => pauses.includes(delay)), over])
    if (ms === undefined) return passed
    passed.push(ms)
    clock.advance(ms)
  }
}

async function answer(agent: A2AAgent, turn: ScriptedTurn): Promise<string> {
  const { artifacts = [] } = foldEvents(turn, await runTurn(agent, turn))
  return textOf(artifacts[0]?.parts ?? [])
}

describe('a remote that is polled', () => {
  test('is waited for as long as it says that it works, at growing intervals', async () => {
    const clock = createFakeClock()
    let polls = 0
    const { url } = await serveAgent({
      SendMessage: () => ({ task: working }),
      GetTask: () => (++polls > 100 ? done : working),
    })
    const answered = answer(remote(url, clock), createTurn('go'))
    const passed = await letPass(clock, pollPauses, answered)
    expect(await answered).toBe('done')
    expect(passed.slice(0, 12)).toEqual(pollPauses)
    expect(new Set(passed.slice(12))).toEqual(new Set([minute]))
  })

  test('R-W11: in a state that is unknown is given up after its timeout, and its task cancelled', async () => {
    const clock = createFakeClock()
    const { url, calls } = await serveAgent({
      SendMessage: () => ({ task: unknown }),
      GetTask: () => unknown,
      CancelTask: () => working,
    })
    const answered = runTurn(remote(url, clock), createTurn('go'))
    const failed = expect(answered).rejects.toMatchObject({
      code: 'timeout',
      message: 'Near did not answer in time',
    })
    await letPass(clock, pollPauses, answered)
    await failed
    expect(clock.elapsed()).toBeLessThan(minute)
    expect(calls.at(-1)?.method).toBe('CancelTask')
  })
})

/** A stream that has begun and brings no more until the test writes to it. */
function openStream(call: RpcCall, first: object) {
  const closed = createDeferred<void>()
  let write = (_result: object): void => {}
  const raw = new Raw((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.on('close', () => closed.resolve())
    write = (result) =>
      void response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: call.id, result })}\n\n`)
    write(first)
  })
  return { raw, closed: closed.promise, write: (result: object) => write(result) }
}

describe('a remote whose stream is quiet', () => {
  // The stream is checked after a minute; the timeout is another length of time, which the clock can tell apart.
  const quiet = [minute]
  const timeoutSeconds = 900

  test('is waited for as long as it says that it works', async () => {
    const clock = createFakeClock()
    let stream: ReturnType<typeof openStream> | undefined
    let polls = 0
    const { url, calls } = await serveAgent(
      {
        SendStreamingMessage(call) {
          stream = openStream(call, { task: working })
          return stream.raw
        },
        GetTask() {
          if (++polls === 12) stream?.write({ task: done })
          return working
        },
      },
      streams,
    )
    const answered = answer(remote(url, clock, { timeoutSeconds }), createTurn('go'))
    await letPass(clock, quiet, answered)
    expect(await answered).toBe('done')
    expect(calls.filter(({ method }) => method !== 'GetTask')).toHaveLength(1)
  })

  test('is done where the task is, though the stream does not say so', async () => {
    const clock = createFakeClock()
    let stream: ReturnType<typeof openStream> | undefined
    const { url } = await serveAgent(
      {
        SendStreamingMessage(call) {
          stream = openStream(call, { task: working })
          return stream.raw
        },
        GetTask: () => done,
      },
      streams,
    )
    const answered = answer(remote(url, clock, { timeoutSeconds }), createTurn('go'))
    await letPass(clock, quiet, answered)
    expect(await answered).toBe('done')
    await stream?.closed
  })

  test('and does not answer when it is asked is given up after its timeout', async () => {
    const clock = createFakeClock()
    const asked = createDeferred<void>()
    const { url, calls } = await serveAgent(
      {
        SendStreamingMessage: (call) => openStream(call, { task: working }).raw,
        GetTask: () => new Raw(() => asked.resolve()),
        CancelTask: () => working,
      },
      streams,
    )
    const answered = runTurn(remote(url, clock, { timeoutSeconds }), createTurn('go'))
    const failed = expect(answered).rejects.toMatchObject({
      code: 'timeout',
      message: 'Near did not answer in time',
    })
    await clock.elapse(minute)
    await asked.promise
    clock.advance(timeoutSeconds * 1_000)
    await failed
    expect(calls.map(({ method }) => method)).toEqual([
      'SendStreamingMessage',
      'GetTask',
      'CancelTask',
    ])
  })
})

type Rules = CallRules<'near' | 'spare'>

/** An agent on a server of its own that works until the gate opens, and how often it was asked. */
function worker(gate: Promise<unknown>) {
  const asked: string[] = []
  const agent = defineAgent({ name: 'Far', resumable: true }, async function* (message) {
    asked.push(textOf(message.parts))
    yield 'begun, '
    await gate
    yield 'done'
  })
  return { agent, asked }
}

async function start(options: ServerOptions, port = 0) {
  const server = await createServer({ timeouts: { shutdownMs: 0 }, ...options })
  await server.recover()
  const { url, close } = await listen(server, { port, host: '127.0.0.1' })
  onTestFinished(close)
  return { url, server, close }
}

function teamOf(far: A2AAgent, clock: FakeClock, rules: Rules = {}): Team {
  const agents = { near: far, spare: member('spare') }
  const scheduler = { type: 'workflow', steps: [{ agentId: 'near', ...rules }] } as const
  return defineTeam({ id: 'team', name: 'Team', agents, scheduler, clock, random: () => 0 })
}

/** Sends a message without waiting; gives the id of its task. */
async function begin(server: Server): Promise<string> {
  const configuration = { returnImmediately: true }
  const request = { message: userMessage('go'), configuration }
  const sent = await server.dispatch()('SendMessage', request, {})
  if (!('task' in sent)) throw new Error('a task was expected')
  return sent.task.id
}

async function taskText(server: Server, id: string): Promise<string> {
  const task = await server.dispatch()('GetTask', { id }, {})
  return `${task.status.state}: ${textOf(answerParts(task))}`
}

async function ended(server: Server, id: string): Promise<void> {
  for await (const _ of await server.dispatch()('SubscribeToTask', { id }, {}));
}

/** Pauses after which a lost remote is asked again, without jitter. */
const outagePauses = Array.from({ length: 10 }, (_, n) => Math.min(30_000, 125 * 2 ** n))

const hour = 60 * minute

test.each([
  ['polled', false],
  ['subscribed to', true],
])(
  'a remote task that takes a day, and is %s, survives a crash of its team',
  async (_, streaming) => {
    const gate = createDeferred<void>()
    const { agent, asked } = worker(gate.promise)
    const far = await start({ agents: [agent], streaming })
    const folder = await mkdtemp(join(tmpdir(), 'corral-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const clock = createFakeClock()
    const open = async (name: string) => {
      await mkdir(join(folder, name), { recursive: true })
      const store = await openSqliteStore(join(folder, name, 'tasks.db'))
      const near = remote(far.url, clock, { timeoutSeconds: 90 })
      const server = await createServer({
        agents: [teamOf(near, clock)],
        store,
        timeouts: { shutdownMs: 0 },
      })
      onTestFinished(async () => {
        await server.close()
        await store.close()
      })
      return { server, near }
    }
    const pauses = [...pollPauses, ...outagePauses]

    const first = await open('before')
    const id = await begin(first.server)
    await letPass(clock, pauses, 12 * hour)
    // What a crash leaves: the files as they are at this moment.
    await cp(join(folder, 'before'), join(folder, 'after'), { recursive: true })
    await first.server.close()

    const second = await open('after')
    expect(await second.server.recover()).toMatchObject({ resumed: 1 })
    await letPass(clock, pauses, 24 * hour)
    gate.resolve()
    await letPass(clock, pauses, ended(second.server, id))
    expect(await taskText(second.server, id)).toBe('TASK_STATE_COMPLETED: begun, done')
    expect(asked).toEqual(['go'])
  },
)

describe('a remote server that is out of reach', () => {
  /** A remote with a task of ours, stopped in the middle; `back` starts it again at the same place. */
  async function stopped(step: Rules = {}, streaming = true) {
    const gate = createDeferred<void>()
    const { agent, asked } = worker(gate.promise)
    const options = { agents: [agent], streaming, store: createMemoryStore() }
    const far = await start(options)
    const clock = createFakeClock()
    const near = remote(far.url, clock, { timeoutSeconds: 90 })
    const { server } = await start({ agents: [teamOf(near, clock, step)] })
    const id = await begin(server)
    for await (const batch of await server.dispatch()('SubscribeToTask', { id }, {}))
      if (JSON.stringify(batch).includes('begun')) break
    await far.close()
    const back = async () => {
      const again = await start(options, Number(new URL(far.url).port))
      gate.resolve()
      return again
    }
    return { server, id, clock, asked, back }
  }
  const pauses = [...pollPauses, ...outagePauses]

  test.each([true, false])(
    'is waited for, and gives its result (streaming: %s)',
    async (streaming) => {
      const { server, id, clock, back } = await stopped({}, streaming)
      await letPass(clock, pauses, 2 * hour)
      const far = await back()
      await letPass(clock, pauses, ended(server, id))
      expect(await taskText(server, id)).toBe('TASK_STATE_COMPLETED: begun, done')
      const { tasks } = await far.server.dispatch()('ListTasks', {}, {})
      expect(tasks).toHaveLength(1)
    },
  )

  test.each<[string, Rules, string]>([
    ['timeoutSeconds', { timeoutSeconds: 1_800, fallbackAgentId: 'spare' }, 'COMPLETED: spare(go)'],
    ['maxTaskSeconds', { maxTaskSeconds: 1_800, fallbackAgentId: 'spare' }, 'FAILED: begun, '],
  ])('is waited for no longer than the step’s %s allows', async (_, step, expected) => {
    const { server, id, clock } = await stopped(step)
    await letPass(clock, pauses, ended(server, id))
    expect(await taskText(server, id)).toBe(`TASK_STATE_${expected}`)
    expect(clock.elapsed()).toBeGreaterThanOrEqual(1_800_000)
    expect(clock.elapsed()).toBeLessThan(1_800_000 + 2 * minute)
  })

  test('is waited for by a turn that runs again after a crash', async () => {
    const first = await serveAgent({ SendMessage: () => ({ task: working }) })
    const before = createTurn('go')
    const rules = { timeoutSeconds: 90 }
    const dead = remote(`${first.url}/rpc`, createFakeClock(), rules)
    void runTurn(dead, before).catch(() => {})
    await expect.poll(() => before.saved.size).toBeGreaterThan(0)
    await first.close()

    const clock = createFakeClock()
    const again = createTurn(before.message, { saved: before.saved })
    const answered = answer(remote(`${first.url}/rpc`, clock, rules), again)
    await letPass(clock, pauses, hour)
    const { port } = new URL(first.url)
    await serveAgent({ GetTask: () => done }, {}, Number(port))
    await letPass(clock, pauses, answered)
    expect(await answered).toBe('done')
  })

  test('that no longer knows the task has failed', async () => {
    const clock = createFakeClock()
    const error = { code: -32001, message: 'Task not found' }
    const { url } = await serveAgent({
      SendMessage: () => ({ task: working }),
      GetTask: ({ id }) => new Raw({ body: { jsonrpc: '2.0', id, error } }),
    })
    await expect(runTurn(remote(url, clock), createTurn('go'))).rejects.toMatchObject({
      message: 'Near no longer knows the task',
    })
  })
})

describe('the time that a remote task may take in all', () => {
  const endless = { SendMessage: () => ({ task: working }), GetTask: () => working }

  test('is counted from its beginning, also after a crash; then the task is cancelled', async () => {
    const { url, calls } = await serveAgent({ ...endless, CancelTask: () => working })
    const limits = { maxTaskSeconds: 3_600 }
    const before = createTurn('go')
    const dead = createFakeClock()
    void runTurn(remote(url, dead, limits), before).catch(() => {})
    await letPass(dead, pollPauses, 40 * minute)

    const clock = createFakeClock(dead.now())
    const again = createTurn(before.message, { saved: before.saved })
    const answered = runTurn(remote(url, clock, limits), again)
    const failed = expect(answered).rejects.toMatchObject({
      code: 'timeout',
      message: 'Near took longer than 3600 s',
    })
    await letPass(clock, pollPauses, answered)
    await failed
    expect(clock.elapsed()).toBeLessThan(22 * minute)
    expect(calls.filter(({ method }) => method === 'SendMessage')).toHaveLength(1)
    expect(calls.some(({ method }) => method === 'CancelTask')).toBe(true)
  })

  test('of a step is counted from its beginning, over its tries and a crash', async () => {
    const { url } = await serveAgent({ ...endless, CancelTask: () => working })
    const step = { maxTaskSeconds: 3_600, maxRetries: 3 }
    const before = createTurn('go')
    const dead = createFakeClock()
    void runTurn(teamOf(remote(url, dead), dead, step), before).catch(() => {})
    await letPass(dead, pollPauses, 40 * minute)

    const clock = createFakeClock(dead.now())
    const again = createTurn(before.message, { saved: before.saved })
    const answered = runTurn(teamOf(remote(url, clock), clock, step), again)
    const failed = expect(answered).rejects.toMatchObject({ code: 'timeout' })
    await letPass(clock, pollPauses, answered)
    await failed
    expect(clock.elapsed()).toBeLessThan(22 * minute)
    expect(again.traces.filter(({ type }) => type === 'retry')).toEqual([])
  })
})
