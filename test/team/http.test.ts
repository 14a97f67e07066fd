import { describe, expect, onTestFinished, test } from 'vitest'
import { traceExtension } from '../../src/protocol/extensions.ts'
import { userMessage } from '../../src/protocol/task.ts'
import type { JsonObject, Message, StreamResponse } from '../../src/protocol/types.ts'
import { createServer, listen } from '../../src/server/index.ts'
import { AgentManager } from '../../src/team/manager.ts'
import { defineTeam, Team } from '../../src/team/team.ts'
import { member, untilCancelled } from '../fixtures/members.ts'
import { answerText, connect, remote, serve, taskOf, teamOf } from './scene.ts'

/** The trace entry that an event carries, if any. */
function entryOf(event: StreamResponse): JsonObject[] {
  const entry = 'statusUpdate' in event && event.statusUpdate.metadata?.[traceExtension]
  return entry ? [entry as JsonObject] : [] // entries are objects
}

async function rpc(url: string, method: string, params: unknown, headers = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
  })
  return response.json()
}

describe('R-W5: what the card says is there', () => {
  test('the well-known card has the true address and the true capabilities', async () => {
    const url = await serve(teamOf({ a: member('a') }))
    const card = await (await fetch(`${url}/.well-known/agent-card.json`)).json()
    expect(card.name).toBe('Team team')
    expect(card.url).toBe(`${url}/`)
    for (const { url: place } of card.supportedInterfaces) expect(place.startsWith(url)).toBe(true)
    expect(card.capabilities.streaming).toBe(true)
    const answered = await rpc(card.url, 'message/send', {
      message: { role: 'user', messageId: 'm', parts: [{ kind: 'text', text: 'x' }] },
    })
    expect(JSON.stringify(answered.result)).toContain('a(x)')
  })

  test('push methods are routed where the card says so, and refused by name where it does not', async () => {
    const waiting = member('waiting', (_text, turn) => untilCancelled(turn))
    const guard = { allowHttp: true, allow: ['127.0.0.1'] }
    const options = { timeouts: { shutdownMs: 0 } }
    const url = await serve(teamOf({ waiting }), { ...options, pushNotifications: { guard } })
    const client = connect(url)
    const { capabilities } = await client.fetchAgentCard()
    expect(capabilities.pushNotifications).toBe(true)
    const configuration = { returnImmediately: true }
    const { id } = taskOf(await client.sendMessage('x', { configuration }))
    const config = { id: 'hook', url: 'http://127.0.0.1:9999/hook' }
    const set = await rpc(`${url}/`, 'tasks/pushNotificationConfig/set', {
      taskId: id,
      pushNotificationConfig: config,
    })
    expect(set).toMatchObject({ id: 7, result: { taskId: id, pushNotificationConfig: config } })
    const list = await rpc(`${url}/`, 'tasks/pushNotificationConfig/list', { id })
    expect(list.result).toMatchObject([{ taskId: id, pushNotificationConfig: config }])
    const without = await serve(teamOf({ a: member('a') }), options)
    const refused = await rpc(`${without}/`, 'tasks/pushNotificationConfig/set', {
      taskId: id,
      pushNotificationConfig: config,
    })
    expect(refused).toMatchObject({ id: 7, error: { code: -32003 } })
  })

  test('health tells of every member: 503 and why when one of them is down', async () => {
    const sick = member('sick', undefined, {
      health: async () => ({ healthy: false, reason: 'out of tea' }),
    })
    const well = await fetch(`${await serve(teamOf({ a: member('a') }))}/health`)
    expect(well.status).toBe(200)
    const response = await fetch(`${await serve(teamOf({ a: member('a'), sick }))}/health`)
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({
      status: 'unhealthy',
      agents: [
        {
          id: 'team',
          healthy: false,
          reason: 'not healthy: sick',
          members: { a: { healthy: true }, sick: { healthy: false, reason: 'out of tea' } },
        },
      ],
    })
  })
})

test('R-W4: errors of single requests have their own codes and ids, as in a batch', async () => {
  const url = `${await serve(teamOf({ a: member('a') }))}/rpc`
  const post = async (body: string) =>
    (
      await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    ).json()
  const unknown = { jsonrpc: '2.0', id: 'one', method: 'foo/bar' }
  const lost = { jsonrpc: '2.0', id: 2, method: 'task/get', params: { task_id: 'none' } }
  expect(await post('{"jsonrpc":')).toMatchObject({ id: null, error: { code: -32700 } })
  expect(await post(JSON.stringify(unknown))).toMatchObject({ id: 'one', error: { code: -32601 } })
  expect(await post(JSON.stringify(lost))).toMatchObject({ id: 2, error: { code: -32004 } })
  expect(await post(JSON.stringify([unknown, lost]))).toMatchObject([
    { id: 'one', error: { code: -32601 } },
    { id: 2, error: { code: -32004 } },
  ])
})

test('R-W14: a dead remote member does not stop the start, the card or the other members', async () => {
  const team = teamOf({ a: member('a'), dead: remote('http://127.0.0.1:1', 'dead') }, 'team', {
    type: 'router',
    defaultAgentId: 'a',
  })
  const url = await serve(team)
  const client = connect(url)
  expect(answerText(await client.sendMessage('x'))).toBe('a(x)')
  const health = await fetch(`${url}/health`)
  expect(health.status).toBe(503)
  expect(JSON.stringify(await health.json())).not.toContain('127.0.0.1:1')
})

test('R-W7: teams of two servers that contain each other show their cards and refuse the circle', async () => {
  const manager = new AgentManager()
  manager.registerWithId('other', member('placeholder'))
  const scheduler = { type: 'workflow', steps: [{ agentId: 'other' }] } as const
  const config = { id: 'a', name: 'A', description: '', agents: [{ agentId: 'other' }], scheduler }
  const first = await serve(new Team(config, manager))
  const second = await serve(teamOf({ other: remote(first, 'other') }, 'b'))
  manager.registerWithId('other', remote(second, 'other'), { replace: true })
  const client = connect(first)
  expect((await client.fetchAgentCard()).name).toBe('A')
  const { status } = taskOf(await client.sendMessage('x'))
  expect(status.state).toBe('TASK_STATE_FAILED')
  expect(JSON.stringify(status)).not.toContain('127.0.0.1')
})

test('R-W15: files and data of a remote member reach the next one and the caller', async () => {
  const raw = btoa('hello')
  const parts = [
    { text: 'see the file' },
    { raw, mediaType: 'text/plain', filename: 'hello.txt' },
    { data: { answer: 42 } },
  ]
  const source = member('source', async function* (_text, turn) {
    yield turn.artifact({ artifactId: 'report', name: 'report', parts })
    yield turn.artifact({ artifactId: 'more', parts: [{ text: 'and more' }] })
  })
  const far = remote(await serve(teamOf({ source }, 'far')), 'far')
  const heard: Message[] = []
  const last = member('last', (_text, turn, message) => {
    heard.push(message)
    return turn.reply(message.parts)
  })
  const client = connect(await serve(teamOf({ far, last })))
  const answer = taskOf(await client.sendMessage('x'))
  const all = [...parts, { text: 'and more' }]
  expect(heard[0]?.parts).toEqual(all)
  expect(answer.artifacts?.flatMap((artifact) => artifact.parts)).toEqual(all)
})

test('50 conversations with one workflow at once, over HTTP, are each in order and none mixed', async () => {
  const last = member('last', async function* (text) {
    yield 'last('
    await new Promise((resolve) => setImmediate(resolve))
    yield `${text})`
  })
  const agents = { a: member('a'), b: member('b'), last }
  const url = await serve(teamOf(agents))
  const client = connect(url)
  const texts = Array.from({ length: 50 }, (_, i) => `question ${i}`)
  const streamed = async (text: string): Promise<string> => {
    let heard = ''
    for await (const event of client.sendMessageStream(text))
      if ('artifactUpdate' in event)
        for (const part of event.artifactUpdate.artifact.parts)
          if ('text' in part) heard += part.text
    return heard
  }
  const sent = async (text: string): Promise<string> => answerText(await client.sendMessage(text))
  const answers = await Promise.all(texts.map((text, i) => (i % 2 ? sent(text) : streamed(text))))
  expect(answers).toEqual(texts.map((text) => `last(b(a(${text})))`))
})

describe('the trace', () => {
  let fails = 1
  const flaky = () =>
    member('flaky', (text) => {
      if (fails-- > 0) throw new Error('not yet')
      return `flaky(${text})`
    })

  async function served(): Promise<string> {
    fails = 1
    const team = defineTeam({
      id: 'team',
      name: 'Team',
      agents: { first: member('first'), flaky: flaky() },
      scheduler: {
        type: 'workflow',
        steps: [{ agentId: 'first' }, { agentId: 'flaky', maxRetries: 1 }],
      },
      random: () => 0,
    })
    return serve(team)
  }

  test('is in the task for a request that activates the extension, and for no other', async () => {
    const url = await served()
    const client = connect(url)
    const { id, metadata } = taskOf(await client.sendMessage('x'))
    expect(metadata?.[traceExtension]).toBeUndefined()
    const traced = await client.getTask(id, { extensions: [traceExtension] })
    const entries = traced.metadata?.[traceExtension]
    expect(entries).toMatchObject([
      { type: 'delegation', member: 'first', try: 1 },
      { type: 'reply', member: 'first', durationMs: expect.any(Number), text: 'first(x)' },
      { type: 'delegation', member: 'flaky', try: 1 },
      { type: 'failure', member: 'flaky', durationMs: expect.any(Number) },
      { type: 'retry', member: 'flaky', try: 2, delayMs: expect.any(Number) },
      { type: 'delegation', member: 'flaky', try: 2 },
      { type: 'reply', member: 'flaky', text: 'flaky(first(x))' },
    ])
    const plain = JSON.stringify([await client.getTask(id), await client.listTasks()])
    expect(plain).not.toContain('delegation')
    expect(plain).not.toContain(traceExtension)
  })

  test('is in the answer to the message itself, and to a cancel', async () => {
    const client = connect(await served())
    const extensions = [traceExtension]
    const message = userMessage('x')
    const configuration = { historyLength: 0 }
    const sent = taskOf(await client.sendMessage({ message, configuration }, { extensions }))
    expect(sent.metadata?.[traceExtension]).toHaveLength(7)
    expect(sent.history).toBeUndefined()
    const asks = member('asks', async function* (_, turn) {
      yield turn.ask('Which?')
    })
    const waiting = connect(await serve(teamOf({ asks })))
    const { id } = taskOf(await waiting.sendMessage('x'))
    const canceled = await waiting.cancelTask(id, { extensions })
    expect(canceled.metadata?.[traceExtension]).toMatchObject([
      { type: 'delegation' },
      { type: 'reply', state: 'TASK_STATE_INPUT_REQUIRED' },
    ])
  })

  test('says of every entry when it was and by which way it was reached, one beside the other', async () => {
    const inner = teamOf({ leaf: member('leaf') })
    const client = connect(await serve(teamOf({ inner }, 'outer')))
    const traced = await client.sendMessage('x', { extensions: [traceExtension] })
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT/)
    const { metadata, id } = taskOf(traced)
    expect(metadata?.[traceExtension]).toMatchObject([
      { member: 'inner', time },
      { member: 'leaf', time, path: '1:inner', at: '1:inner' },
      { member: 'leaf', time, path: '1:inner' },
      { member: 'inner', time },
    ])
    const streamed: JsonObject[] = []
    const options = { lastEventId: 0, extensions: [traceExtension] }
    for await (const event of client.subscribeToTask(id, options)) streamed.push(...entryOf(event))
    expect(streamed[1]).toMatchObject({ member: 'leaf', time, path: '1:inner' })
  })

  test('is in the stream for a request that activates the extension, and for no other', async () => {
    const heard = async (extensions: readonly string[]): Promise<readonly StreamResponse[]> => {
      const client = connect(await served())
      const events: StreamResponse[] = []
      for await (const event of client.sendMessageStream('x', { extensions })) events.push(event)
      return events
    }
    const traced = await heard([traceExtension])
    expect(traced.flatMap(entryOf).map(({ type }) => type)).toEqual([
      'delegation',
      'reply',
      'delegation',
      'failure',
      'retry',
      'delegation',
      'reply',
    ])
    const plain = await heard([])
    expect(plain.flatMap(entryOf)).toEqual([])
    // An entry repeats the status that holds; without the entries both streams say the same.
    const states = (events: readonly StreamResponse[]) => [
      ...new Set(
        events.flatMap((one) => ('statusUpdate' in one ? one.statusUpdate.status.state : [])),
      ),
    ]
    expect(states(traced)).toEqual(states(plain))
  })

  test('is replayed after the end, and does not end the replay early', async () => {
    const client = connect(await served())
    const { id } = taskOf(await client.sendMessage('x'))
    const options = { lastEventId: 0, extensions: [traceExtension] }
    const events: StreamResponse[] = []
    for await (const event of client.subscribeToTask(id, options)) events.push(event)
    expect(events.flatMap(entryOf)).toHaveLength(7)
    const ended = events.findIndex(
      (one) => 'statusUpdate' in one && one.statusUpdate.status.state === 'TASK_STATE_COMPLETED',
    )
    expect(ended).toBe(events.length - 1)
  })

  test('is nobody’s where the server keeps it to itself', async () => {
    const server = await createServer({ agents: [teamOf({ a: member('a') })], trace: false })
    const listening = await listen(server, { port: 0, host: '127.0.0.1' })
    onTestFinished(listening.close)
    const client = connect(listening.url)
    const message = userMessage('x')
    const sent = await client.sendMessage({ message }, { extensions: [traceExtension] })
    expect(JSON.stringify(sent)).not.toContain('delegation')
  })
})
