import { describe, expect, test } from 'vitest'
import type { Wild } from '../contracts/binding.ts'
import { open, type Scene, type WireName, wireNames } from './scene.ts'

const url = 'https://hooks.example/a2a'

const openWithPush = (name: WireName): Promise<Scene> => open(name, { pushNotifications: true })

async function create(scene: Scene, config: Wild): Promise<Wild> {
  const answer = await scene.wire.ask('CreateTaskPushNotificationConfig', config)
  expect(answer.error).toBeUndefined()
  return answer.result
}

describe.each(wireNames)('push configs over %s', (name) => {
  const all = [
    'CreateTaskPushNotificationConfig',
    'GetTaskPushNotificationConfig',
    'ListTaskPushNotificationConfigs',
    'DeleteTaskPushNotificationConfig',
  ] as const

  test('G001: without the capability every operation is refused, and a webhook in a message', async () => {
    const { wire, send } = await open(name)
    const { id: taskId } = (await send('hi')).result.task
    for (const operation of all) {
      const asked = operation.startsWith('Create') ? { taskId, url } : { taskId, id: 'c' }
      expect((await wire.ask(operation, asked)).error).toBe('PushNotificationNotSupported')
    }
    const configuration = { taskPushNotificationConfig: { url } }
    expect((await send('hi', { configuration })).error).toBe('PushNotificationNotSupported')
  })

  test('G002: create answers with the config and its id', async () => {
    const scene = await openWithPush(name)
    const { id: taskId } = await scene.begin('hold')
    const authentication = { scheme: 'Bearer', credentials: 'secret' }
    const created = await create(scene, { taskId, url, token: 'tok', authentication })
    expect(created).toMatchObject({ taskId, url, token: 'tok', authentication })
    const { result } = await scene.wire.ask('ListTaskPushNotificationConfigs', { taskId })
    expect(result.configs).toHaveLength(1)
    expect(result.configs[0].id).toMatch(/./)
  })

  test('G002: the same id replaces, another adds', async () => {
    const scene = await openWithPush(name)
    const { id: taskId } = await scene.begin('hold')
    await create(scene, { taskId, id: 'a', url })
    await create(scene, { taskId, id: 'b', url })
    await create(scene, { taskId, id: 'a', url: `${url}/other` })
    const { result } = await scene.wire.ask('ListTaskPushNotificationConfigs', { taskId })
    const found = result.configs.map(({ id, url: to }: Wild) => [id, to])
    expect(found.sort()).toEqual([
      ['a', `${url}/other`],
      ['b', url],
    ])
  })

  test('G003: a config stays while the task goes on, one in a message too', async () => {
    const scene = await openWithPush(name)
    const configuration = { taskPushNotificationConfig: { id: 'inline', url } }
    const { id: taskId } = (await scene.send('ask', { configuration })).result.task
    await scene.send('ask', { message: { taskId } })
    const { result } = await scene.wire.ask('GetTaskPushNotificationConfig', {
      taskId,
      id: 'inline',
    })
    expect(result).toMatchObject({ taskId, id: 'inline', url })
  })

  test('G004: get answers with url and settings', async () => {
    const scene = await openWithPush(name)
    const { id: taskId } = await scene.begin('hold')
    const created = await create(scene, { taskId, id: 'a', url, token: 'tok' })
    const { result } = await scene.wire.ask('GetTaskPushNotificationConfig', { taskId, id: 'a' })
    expect(result).toEqual(created)
  })

  test('G005: a config that is not there is an error', async () => {
    const { wire, begin } = await openWithPush(name)
    const { id: taskId } = await begin('hold')
    const { error } = await wire.ask('GetTaskPushNotificationConfig', { taskId, id: 'none' })
    expect(error).toBe('TaskNotFound')
  })

  test('G006: list answers with all configs of the task and of no other', async () => {
    const scene = await openWithPush(name)
    const { id: taskId } = await scene.begin('hold')
    const { id: other } = await scene.begin('hold')
    for (const id of ['a', 'b', 'c']) await create(scene, { taskId, id, url })
    await create(scene, { taskId: other, id: 'd', url })
    const { result } = await scene.wire.ask('ListTaskPushNotificationConfigs', { taskId })
    expect(result.configs.map(({ id }: Wild) => id)).toEqual(['a', 'b', 'c'])
  })

  test('G007: delete is for good', async () => {
    const scene = await openWithPush(name)
    const { id: taskId } = await scene.begin('hold')
    await create(scene, { taskId, id: 'a', url })
    const { status, error } = await scene.wire.ask('DeleteTaskPushNotificationConfig', {
      taskId,
      id: 'a',
    })
    expect(error).toBeUndefined()
    expect(status).toBe(name === 'HTTP+JSON 0.3' ? 204 : 200)
    const gone = await scene.wire.ask('GetTaskPushNotificationConfig', { taskId, id: 'a' })
    expect(gone.error).toBe('TaskNotFound')
  })

  test('G008: to delete again is no fault', async () => {
    const { wire, begin } = await openWithPush(name)
    const { id: taskId } = await begin('hold')
    for (let again = 0; again < 2; again++) {
      const answer = await wire.ask('DeleteTaskPushNotificationConfig', { taskId, id: 'a' })
      expect(answer.error).toBeUndefined()
    }
  })

  test('G009: all four ask for a task that is there', async () => {
    const { wire } = await openWithPush(name)
    for (const operation of all) {
      const taskId = 'made-up'
      const asked = operation.startsWith('Create') ? { taskId, url } : { taskId, id: 'c' }
      expect((await wire.ask(operation, asked)).error).toBe('TaskNotFound')
    }
  })

  test('G015: a webhook on this machine or network is refused', async () => {
    const { wire, begin } = await openWithPush(name)
    const { id: taskId } = await begin('hold')
    for (const inside of ['https://127.0.0.1/x', 'https://localhost/x', 'https://10.0.0.8/x']) {
      const asked = { taskId, url: inside }
      const { error } = await wire.ask('CreateTaskPushNotificationConfig', asked)
      expect(error).toBe('InvalidParams')
    }
  })
})

test('G002: 0.3 HTTP+JSON takes the config bare, nested, and as the whole request of its protocol buffers', async () => {
  const { server, begin } = await openWithPush('HTTP+JSON 0.3')
  const { id: taskId } = await begin('hold')
  const config = { id: 'a', url, token: '', authentication: {} }
  const bodies = [
    config,
    { pushNotificationConfig: config },
    { config },
    { parent: `tasks/${taskId}`, configId: 'a', config: { pushNotificationConfig: config } },
    { parent: `tasks/${taskId}`, config_id: 'a', config: { push_notification_config: config } },
  ]
  for (const body of bodies) {
    const reply = await server.handle({
      method: 'POST',
      path: `/v1/tasks/${taskId}/pushNotificationConfigs`,
      query: '',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(JSON.parse(String(reply.body)), JSON.stringify(body)).toMatchObject({
      pushNotificationConfig: { id: 'a', url },
    })
  }
})
