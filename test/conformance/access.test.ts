import { describe, expect, test } from 'vitest'
import { createGate } from '../../src/operations/gate.ts'
import { handlers } from '../../src/operations/handlers.ts'
import { bearer, type ServerOptions } from '../../src/server/index.ts'
import { systemClock } from '../../src/shared/clock.ts'
import type { Logger } from '../../src/shared/log.ts'
import type { Answer } from '../contracts/binding.ts'
import { createEngineFor } from '../engine/scene.ts'
import { createScriptedAgent } from './agent.ts'
import { open, request, type Scene, statesOf, type WireName, wireNames } from './scene.ts'

const ann = { authorization: 'Bearer ann-key' }
const bob = { authorization: 'Bearer bob-key' }

const guarded: Partial<ServerOptions> = {
  auth: { authenticators: [bearer({ tokens: { 'ann-key': 'ann', 'bob-key': 'bob' } })] },
  pushNotifications: true,
}

/** Every operation on a task, as a stranger might try it. */
async function tryAll(
  { wire }: Scene,
  id: string,
  headers: Record<string, string>,
): Promise<Readonly<Record<string, Answer>>> {
  const url = 'https://hooks.example/a2a'
  const taskId = id
  return {
    send: await wire.ask('SendMessage', request('hi', { message: { taskId } }), headers),
    stream: await wire.watch(
      'SendStreamingMessage',
      request('hi', { message: { taskId } }),
      headers,
    ),
    get: await wire.ask('GetTask', { id }, headers),
    cancel: await wire.ask('CancelTask', { id }, headers),
    subscribe: await wire.watch('SubscribeToTask', { id }, headers),
    createPush: await wire.ask('CreateTaskPushNotificationConfig', { taskId, url }, headers),
    getPush: await wire.ask('GetTaskPushNotificationConfig', { taskId, id: 'a' }, headers),
    listPush: await wire.ask('ListTaskPushNotificationConfigs', { taskId }, headers),
    deletePush: await wire.ask('DeleteTaskPushNotificationConfig', { taskId, id: 'a' }, headers),
  }
}

describe.each(wireNames)('callers over %s', (name) => {
  test('K001: every operation asks who calls, as the card says', async () => {
    const scene = await open(name, guarded)
    const answers = await tryAll(scene, 'any', {})
    for (const [operation, { status }] of Object.entries(answers))
      expect(status, operation).toBe(401)
    const reply = await scene.server.handle({
      method: 'GET',
      path: '/.well-known/agent-card.json',
      query: '',
      headers: {},
      body: '',
    })
    const card = JSON.parse(String(reply.body))
    expect(Object.keys(card.securitySchemes)).toHaveLength(1)
    expect(card.securityRequirements).toHaveLength(1)
  })

  test('K002: credentials that do not hold are refused, and nothing happens', async () => {
    const { send, agent } = await open(name, guarded)
    for (const authorization of ['Bearer wrong', 'Bearer ', 'Basic YTpi', 'ann-key'])
      expect((await send('hi', {}, { authorization })).status).toBe(401)
    expect(agent.heard).toEqual([])
    expect((await send('hi', {}, ann)).result.task.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('K003: the refusal says which scheme is asked for', async () => {
    const { send } = await open(name, guarded)
    expect((await send('hi')).headers['www-authenticate']).toMatch(/^Bearer/)
  })

  test('K004: who may not is told so before anything is looked up', async () => {
    const auth = {
      authenticators: [bearer({ tokens: { 'ann-key': 'ann' } })],
      authorize: (_auth: unknown, operation: string) => operation === 'SendMessage',
    }
    const scene = await open(name, { ...guarded, auth })
    const { id } = await scene.begin('ask', {}, ann)
    for (const task of [id, 'made-up']) {
      const { send, ...others } = await tryAll(scene, task, ann)
      expect(send?.status).not.toBe(403)
      for (const [operation, { status }] of Object.entries(others))
        expect(status, operation).toBe(403)
    }
  })

  test('K006: a task of somebody else answers exactly like none', async () => {
    const scene = await open(name, guarded)
    const { id } = await scene.begin('hold', {}, ann)
    const foreign = await tryAll(scene, id, bob)
    const absent = await tryAll(scene, id.replace(/^./, 'x'), bob)
    for (const [operation, answer] of Object.entries(foreign)) {
      expect(answer.error, operation).toBe('TaskNotFound')
      const other = absent[operation]
      expect([answer.status, answer.headers]).toEqual([other?.status, other?.headers])
      const words = ({ body }: Answer): string =>
        JSON.stringify(body.error ?? body).replaceAll(/[0-9a-fx]{8}-[0-9a-f-]+/g, 'ID')
      if (other) expect(words(answer)).toBe(words(other))
    }
    expect((await scene.get(id, ann)).status.state).toBe('TASK_STATE_WORKING')
  })

  test('K007: an agent that needs a sign-in says so in a task that waits', async () => {
    const { send } = await open(name)
    const { task } = (await send('auth')).result
    expect(task.status.state).toBe('TASK_STATE_AUTH_REQUIRED')
    expect(task.status.message.parts[0].text).toContain('https://auth.example')
  })

  test('K008: messages are taken in while a sign-in is awaited', async () => {
    const { send, begin, wire, agent } = await open(name)
    const { id: taskId } = (await send('auth')).result.task
    const more = await begin('still there?', { message: { taskId } })
    expect(more.id).toBe(taskId)
    const stream = await wire.watch('SubscribeToTask', { id: taskId })
    agent.release()
    const events = []
    for await (const event of stream.events) events.push(event)
    expect(statesOf(events).at(-1)).toBe('TASK_STATE_COMPLETED')
  })

  test('K009: a sign-in that is awaited grants nobody anything', async () => {
    const scene = await open(name, guarded)
    const { id } = (await scene.send('auth', {}, ann)).result.task
    for (const [operation, { error }] of Object.entries(await tryAll(scene, id, bob)))
      expect(error, operation).toBe('TaskNotFound')
    expect((await scene.wire.ask('GetTask', { id })).status).toBe(401)
  })

  test('K014: neither log nor answer holds a credential or what the agent threw', async () => {
    const lines: unknown[] = []
    const note = (fields: object): void =>
      void lines.push(JSON.stringify(fields, (_key, value) => value, 0))
    const logger: Logger = { debug: note, info: note, warn: note, error: note }
    const { send, wire } = await open(name, { ...guarded, logger })
    await send('hi', {}, { authorization: 'Bearer stolen-key' })
    const { body, result } = await send('fail', {}, ann)
    const webhook = { url: 'https://hooks.example/', token: 'hook-token' }
    const taskId = result.task.id
    await wire.ask('CreateTaskPushNotificationConfig', { taskId, ...webhook }, ann)
    expect(JSON.stringify(body)).not.toContain('/etc/passwd')
    for (const secret of ['ann-key', 'stolen-key', 'hook-token'])
      expect(lines.join()).not.toContain(secret)
  })
})

describe.each(['JSONRPC 1.0', 'HTTP+JSON 1.0'] as const)('lists over %s', (name: WireName) => {
  test('K005: hold the tasks of the caller alone', async () => {
    const { wire, send } = await open(name, guarded)
    const { task } = (await send('hi', {}, ann)).result
    expect((await wire.ask('ListTasks', {}, ann)).result.tasks[0].id).toBe(task.id)
    expect((await wire.ask('ListTasks', {}, bob)).result).toMatchObject({ tasks: [], totalSize: 0 })
  })
})

describe.each(wireNames)('the extended card over %s', (name) => {
  const extendedCard: ServerOptions['extendedCard'] = (card, { userId }) => ({
    ...card,
    description: `For ${userId}`,
  })

  test('H001: without the capability it is refused', async () => {
    const { wire } = await open(name, guarded)
    expect((await wire.ask('GetExtendedAgentCard', {}, ann)).error).toBe('UnsupportedOperation')
  })

  test('H003: it is for those who have shown who they are', async () => {
    const { wire } = await open(name, { ...guarded, extendedCard })
    const refused = await wire.ask('GetExtendedAgentCard')
    expect(refused.status).toBe(401)
    expect(refused.headers['www-authenticate']).toMatch(/^Bearer/)
    const { body, error } = await wire.ask('GetExtendedAgentCard', {}, ann)
    expect(error).toBeUndefined()
    expect((body.result ?? body).description).toBe('For ann')
  })

  test('H003: nor does a server without credentials give it to anyone', async () => {
    const { wire } = await open(name, { extendedCard })
    expect((await wire.ask('GetExtendedAgentCard')).status).toBe(401)
  })
})

test('H002: declared but not configured is an error of its own', async () => {
  const { engine } = createEngineFor(createScriptedAgent())
  const dispatch = createGate({
    engine,
    handlers,
    clock: systemClock,
    agent: {
      card: () => ({
        name: 'x',
        description: 'x',
        version: '1',
        supportedInterfaces: [],
        capabilities: { extendedAgentCard: true },
        defaultInputModes: [],
        defaultOutputModes: [],
        skills: [],
      }),
      openExtendedCard: false,
      inputModes: undefined,
      checksInput: false,
      checkInput: () => undefined,
    },
    metrics: { observe: () => {} },
    blockingTimeoutMs: 1,
  })
  await expect(dispatch('GetExtendedAgentCard', {}, {})).rejects.toMatchObject({
    code: 'extendedAgentCardNotConfigured',
  })
})
