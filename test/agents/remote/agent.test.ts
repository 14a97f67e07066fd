import { afterEach, describe, expect, test } from 'vitest'
import type { Agent } from '../../../src/agents/agent.ts'
import { type AgentFunction, defineAgent } from '../../../src/agents/function.ts'
import { A2AAgent, type A2AAgentOptions } from '../../../src/agents/remote/agent.ts'
import { hopsExtension } from '../../../src/protocol/extensions.ts'
import { textOf } from '../../../src/protocol/task.ts'
import type { Message } from '../../../src/protocol/types.ts'
import {
  apiKey,
  bearer,
  createServer,
  listen,
  type Server,
  type ServerOptions,
} from '../../../src/server/index.ts'
import { createTurn, foldEvents, runTurn, type ScriptedTurn } from '../../fixtures/turn.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A real server elsewhere: another engine, behind a socket. */
async function serve(
  agent: Agent | AgentFunction,
  options: Partial<ServerOptions> = {},
): Promise<{ url: string; server: Server }> {
  const served = typeof agent === 'function' ? defineAgent({ name: 'Far' }, agent) : agent
  const server = await createServer({
    agents: [served],
    timeouts: { shutdownMs: 0 },
    ...options,
  })
  const listening = await listen(server, { port: 0, host: '127.0.0.1' })
  closing.push(listening.close)
  return { url: listening.url, server }
}

function remote(endpoint: string, change: Partial<A2AAgentOptions> = {}): A2AAgent {
  const agent = new A2AAgent({
    id: 'near',
    name: 'Near',
    endpoint,
    timeoutSeconds: 10,
    maxRetries: 0,
    taskHandling: 'PollUntilComplete',
    ...change,
  })
  closing.push(() => agent.close())
  return agent
}

async function answer(agent: Agent, turn: ScriptedTurn): Promise<string> {
  const [artifact] = foldEvents(turn, await runTurn(agent, turn)).artifacts ?? []
  return textOf(artifact?.parts ?? [])
}

/** Works until it is cancelled, and says when it began and why it ended. */
function endless(): { work: AgentFunction; begun: Promise<void>; ended: Promise<unknown> } {
  let begin = (): void => {}
  let end = (_reason: unknown): void => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const ended = new Promise((resolve) => {
    end = resolve
  })
  const work: AgentFunction = async function* (_, turn) {
    yield 'begun'
    begin()
    await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
    end(turn.signal.reason)
  }
  return { work, begun, ended }
}

describe('the remote’s events', () => {
  test('go through: artifacts, files, data, status texts, metadata', async () => {
    const { url } = await serve(async function* (_, turn) {
      yield turn.status('TASK_STATE_WORKING', 'reading')
      yield 'one '
      yield 'two'
      yield turn.artifact({
        artifactId: 'files',
        name: 'Files',
        parts: [{ raw: 'aGk=', mediaType: 'image/png' }, { data: { n: 1 } }],
        metadata: { kind: 'x' },
      })
    })
    const turn = createTurn('go')
    const events = await runTurn(remote(url), turn)
    expect(events[0]).toMatchObject({
      statusUpdate: { status: { message: { parts: [{ text: 'reading' }], taskId: turn.taskId } } },
    })
    const task = foldEvents(turn, events)
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(task.artifacts).toEqual([
      { artifactId: 'response', name: 'response', parts: [{ text: 'one two' }] },
      {
        artifactId: 'files',
        name: 'Files',
        parts: [{ raw: 'aGk=', mediaType: 'image/png' }, { data: { n: 1 } }],
        metadata: { kind: 'x' },
      },
    ])
  })

  test('go through live, before the remote has ended', async () => {
    let release = (): void => {}
    const { url } = await serve(async function* () {
      yield 'first'
      await new Promise<void>((resolve) => {
        release = resolve
      })
      yield 'last'
    })
    const turn = createTurn('go')
    const events = remote(url).process(turn.message, turn)
    const { value } = await events.next()
    expect(value).toMatchObject({ artifactUpdate: { artifact: { parts: [{ text: 'first' }] } } })
    release()
    expect((await events.next()).value).toMatchObject({
      artifactUpdate: { append: true, artifact: { parts: [{ text: 'last' }] } },
    })
    await events.return(undefined)
  })

  test('of a remote that does not stream are polled', async () => {
    const { url } = await serve(async () => 'slowly', { streaming: false })
    expect(await answer(remote(url), createTurn('go'))).toBe('slowly')
  })

  test.each([
    ['TASK_STATE_FAILED', 'out of ink'],
    ['TASK_STATE_REJECTED', 'not my job'],
  ] as const)('%s is passed on with its words', async (state, words) => {
    const { url } = await serve(async function* (_, turn) {
      yield turn.status(state, words)
    })
    const turn = createTurn('go')
    const { status } = foldEvents(turn, await runTurn(remote(url), turn))
    expect(status.state).toBe(state)
    expect(textOf(status.message?.parts ?? [])).toBe(words)
  })
})

describe('what goes to the remote', () => {
  test('is the whole message, with hops and trace', async () => {
    const heard: Message[] = []
    const traces: (string | undefined)[] = []
    const { url } = await serve((message, turn) => {
      heard.push(message)
      traces.push(turn.traceparent)
      return 'ok'
    })
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    const message: Message = {
      messageId: 'm-1',
      role: 'ROLE_USER',
      parts: [{ text: 'hi' }, { data: [1] }],
      metadata: { mood: 'glad' },
    }
    await runTurn(remote(url), createTurn(message, { hops: ['team'], traceparent }))
    expect(heard[0]?.parts).toEqual(message.parts)
    expect(heard[0]?.metadata?.mood).toBe('glad')
    expect(heard[0]?.metadata?.[hopsExtension]).toEqual(['team', expect.stringMatching(/^a2a:/)])
    expect(JSON.stringify(heard[0]?.metadata)).not.toContain('127.0.0.1')
    expect(traces[0]?.slice(0, 36)).toBe(traceparent.slice(0, 36))
  })

  test('stays in one remote context per context and caller of ours', async () => {
    const contexts: (string | undefined)[] = []
    const { url } = await serve((message) => {
      contexts.push(message.contextId)
      return 'ok'
    })
    const agent = remote(url)
    const ask = (contextId: string, userId = ''): Promise<unknown> =>
      runTurn(agent, createTurn('hi', { contextId, caller: { userId } }))
    await ask('c-1')
    await ask('c-1')
    await ask('c-2')
    await ask('c-1', 'ada')
    expect(contexts[1]).toBe(contexts[0])
    expect(new Set(contexts).size).toBe(3)
  })

  test.each([
    ['an API key', { type: 'api_key', key: 'k-1', header: 'X-Mine' } as const],
    ['a bearer token', { type: 'bearer', token: 't-1' } as const],
  ])('has %s', async (_, auth) => {
    const authenticators = [
      apiKey({ keys: { 'k-1': 'near' }, name: 'X-Mine', location: 'header' }),
      bearer({ tokens: { 't-1': 'near' } }),
    ]
    const { url } = await serve((_message, turn) => `for ${turn.caller.userId}`, {
      auth: { authenticators },
    })
    expect(await answer(remote(url, { auth }), createTurn('hi'))).toBe('for near')
    const error = await answer(remote(url), createTurn('hi')).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'processingError' })
    expect(String(error)).toContain('Near refused our credentials')
  })
})

describe('a question of the remote', () => {
  const asker: AgentFunction = async function* (message, turn) {
    if (turn.task) yield `${textOf(message.parts)} it is`
    else yield turn.ask('Which colour?')
  }

  test('becomes ours, and the answer goes back to its task', async () => {
    const { url, server } = await serve(asker)
    const agent = remote(url)
    const first = createTurn('paint')
    const asked = foldEvents(first, await runTurn(agent, first))
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(textOf(asked.status.message?.parts ?? [])).toBe('Which colour?')
    const second = createTurn('blue', { saved: first.saved, task: asked })
    expect(await answer(agent, second)).toBe('blue it is')
    const { tasks } = await server.dispatch()('ListTasks', {}, {})
    expect(tasks).toHaveLength(1)
  })

  test('is called off with our task', async () => {
    const { url, server } = await serve(asker)
    const agent = remote(url)
    const turn = createTurn('paint')
    await runTurn(agent, turn)
    const { taskId, contextId, load, saved } = turn
    await agent.cancel({ taskId, contextId, load, keys: () => saved.keys() })
    const { tasks } = await server.dispatch()('ListTasks', {}, {})
    expect(tasks[0]?.status.state).toBe('TASK_STATE_CANCELED')
  })
})

describe('the end of our turn', () => {
  test('cancels the remote task', async () => {
    const { work, ended } = endless()
    const { url } = await serve(work)
    const turn = createTurn('go')
    const events = remote(url).process(turn.message, turn)
    await events.next()
    const next = events.next()
    turn.cancel(new Error('enough'))
    await expect(next).rejects.toThrow('enough')
    expect(await ended).toMatchObject({ code: 'taskCanceled' })
  })

  test('through a server of ours: cancelling the task there cancels it here', async () => {
    const { work, begun, ended } = endless()
    const { url } = await serve(work)
    const front = await serve(remote(url))
    const dispatch = front.server.dispatch()
    const message: Message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] }
    const configuration = { returnImmediately: true }
    const sent = await dispatch('SendMessage', { message, configuration }, {})
    await begun
    if (!('task' in sent)) throw new Error('a task was expected')
    await dispatch('CancelTask', { id: sent.task.id }, {})
    expect(await ended).toMatchObject({ code: 'taskCanceled' })
  })

  test('leaving the events cancels the remote task', async () => {
    const { work, ended } = endless()
    const { url } = await serve(work)
    const turn = createTurn('go')
    for await (const _ of remote(url).process(turn.message, turn)) break
    expect(await ended).toMatchObject({ code: 'taskCanceled' })
  })
})

test('a turn that runs again after a crash takes up its remote task and does not send twice', async () => {
  let turns = 0
  let release = (): void => {}
  const { url } = await serve(async function* () {
    turns += 1
    yield 'half '
    await new Promise<void>((resolve) => {
      release = resolve
    })
    yield 'whole'
  })
  const first = createTurn('go')
  const interrupted = remote(url).process(first.message, first)
  await interrupted.next()
  const again = createTurn(first.message, { saved: first.saved })
  const events = remote(url).process(again.message, again)
  const seen = [(await events.next()).value]
  release()
  for await (const event of events) seen.push(event)
  const [artifact] = foldEvents(again, seen).artifacts ?? []
  expect(textOf(artifact?.parts ?? [])).toBe('half whole')
  expect(turns).toBe(1)
})

test('a message that is tried again on purpose is a further send, not the old answer', async () => {
  let turns = 0
  const { url } = await serve(async function* (_, turn) {
    turns += 1
    if (turns === 1) yield turn.status('TASK_STATE_FAILED', 'not yet')
    else yield 'there'
  })
  const agent = remote(url)
  const turn = createTurn('go')
  await runTurn(agent, turn)
  expect(await answer(agent, turn)).toBe('there')
})

test('ids and extensions of a message that no header can hold do no harm', async () => {
  const { url } = await serve(async () => 'ok')
  const message: Message = {
    messageId: '日本 x',
    role: 'ROLE_USER',
    parts: [{ text: 'hi' }],
    extensions: ['urn:a b', 'urn:fine'],
  }
  expect(await answer(remote(url), createTurn(message))).toBe('ok')
})

describe('a remote that fails', () => {
  test('that is not there is unavailable, and its host is not told', async () => {
    const agent = remote('http://127.0.0.1:9')
    const error = await answer(agent, createTurn('go')).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'agentUnavailable', message: 'Near cannot be reached' })
    expect(await agent.health()).toMatchObject({ healthy: false, reason: 'Near cannot be reached' })
    expect(await agent.info()).toMatchObject({
      id: 'near',
      name: 'Near',
      metadata: { type: 'a2a' },
    })
  })

  test('a message that comes back to a URL it passed is refused', async () => {
    let url = ''
    const calls: number[] = []
    const loop = defineAgent({ name: 'Far' }, async function* (message, turn) {
      calls.push(turn.hops.length)
      yield* remote(url).process(message, turn)
    })
    ;({ url } = await serve(loop))
    const turn = createTurn('round and round')
    const { status } = foldEvents(turn, await runTurn(remote(url), turn).catch(failed))
    expect(status.state).toBe('TASK_STATE_FAILED')
    expect(calls).toEqual([1])
  })
})

/** A refusal of the remote before there is a task comes as an error; either is an end. */
function failed(): [{ statusUpdate: { status: { state: 'TASK_STATE_FAILED' } } }] {
  return [{ statusUpdate: { status: { state: 'TASK_STATE_FAILED' } } }]
}

describe('task handling', () => {
  test('ReturnTaskInfo tells the task and leaves it', async () => {
    const { url, server } = await serve(async function* () {
      yield 'later'
    })
    const [text] = await runTurn(remote(url, { taskHandling: 'ReturnTaskInfo' }), createTurn('go'))
    const { tasks } = await server.dispatch()('ListTasks', {}, {})
    expect(text).toMatch(
      new RegExp(`^Task created: ${tasks[0]?.id} \\((submitted|working|completed)\\)$`),
    )
  })

  test('RejectTasks takes a message', async () => {
    const { url } = await serve(async (_, turn) => turn.reply('at once'))
    const agent = remote(url, { taskHandling: 'RejectTasks' })
    const [event] = await runTurn(agent, createTurn('go'))
    expect(event).toMatchObject({ role: 'ROLE_AGENT', parts: [{ text: 'at once' }] })
  })

  test('RejectTasks refuses a task that is not done, and cancels it', async () => {
    const { url, server } = await serve(async function* (_, turn) {
      yield turn.ask('Sure?')
    })
    const agent = remote(url, { taskHandling: 'RejectTasks' })
    await expect(runTurn(agent, createTurn('go'))).rejects.toMatchObject({
      code: 'processingError',
      message: 'Near answered with a task; tasks are rejected',
    })
    const { tasks } = await server.dispatch()('ListTasks', {}, {})
    expect(tasks[0]?.status.state).toBe('TASK_STATE_CANCELED')
  })
})

describe('info and endpoint', () => {
  const far = defineAgent(
    { name: 'Far', description: 'Far away', abilities: ['write'], version: '2.1.0' },
    () => 'ok',
  )

  test('local names come before the card’s', async () => {
    const { url } = await serve(far)
    expect(await remote(url).info()).toMatchObject({
      id: 'near',
      name: 'Near',
      description: 'Far away',
      capabilities: ['write'],
      details: { version: '2.1.0' },
    })
    const local = remote(url, { description: 'Here', capabilities: ['read'] })
    expect(await local.info()).toMatchObject({ description: 'Here', capabilities: ['read'] })
    const config = { endpoint: url, timeoutSeconds: 1, maxRetries: 0 }
    const unnamed = new A2AAgent({ ...config, taskHandling: 'PollUntilComplete' })
    closing.push(() => unnamed.close())
    expect(await unnamed.info()).toMatchObject({ id: 'Far', name: 'Far' })
    expect(await unnamed.health()).toEqual({ healthy: true })
  })

  test('an endpoint that is the JSON-RPC URL finds the card beside it', async () => {
    const { url } = await serve(far)
    for (const path of ['/rpc', '/v1/rpc']) {
      const agent = remote(`${url}${path}`)
      expect(await answer(agent, createTurn('go'))).toBe('ok')
      expect(await agent.info()).toMatchObject({ description: 'Far away' })
    }
  })

  test('a RANCH server without a card is spoken to at its endpoint', async () => {
    const { url } = await serve(far, {
      routes: ({ path }) =>
        path.startsWith('/.well-known') ? { status: 404, headers: {} } : undefined,
    })
    const agent = remote(`${url}/rpc`)
    const turn = createTurn('go')
    const [event] = await runTurn(agent, turn)
    expect(JSON.stringify(event)).toContain('ok')
    expect(await agent.health()).toEqual({ healthy: true })
  })

  test('the card is fetched once, and again when the cache is cleared', async () => {
    let fetched = 0
    const { url } = await serve(far, {
      routes({ path }) {
        if (path.startsWith('/.well-known')) fetched += 1
        return undefined
      },
    })
    const agent = remote(url)
    await agent.info()
    await answer(agent, createTurn('go'))
    expect(fetched).toBe(1)
    agent.clearCache()
    await agent.info()
    expect(fetched).toBe(2)
  })
})
