import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { rpc, serve } from '../acceptance/serve.ts'
import { stores } from './stores.ts'

const asking = defineAgent({ name: 'Asking' }, async function* (_message, turn) {
  yield turn.ask('more?')
})
const headers = { 'a2a-version': '1.0' }
const hook = 'https://hooks.example.com/a'

describe.each(stores)('on the %s store', (_name, open) => {
  async function serveTask() {
    const { url } = await serve({
      agents: [asking],
      store: await open(),
      pushNotifications: true,
      limits: { maxPushConfigs: 3 },
    })
    const call = (method: string, params: object) => rpc(url, { method, params, headers })
    const send = (more: object, configuration: object = {}) => {
      const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }], ...more }
      return call('SendMessage', { message, configuration })
    }
    const inline = { taskPushNotificationConfig: { id: 'inline', url: hook } }
    const { result } = await send({}, inline)
    const taskId: string = result.task.id
    const create = (id: string) =>
      call('CreateTaskPushNotificationConfig', { taskId, id, url: hook })
    const count = async (): Promise<number> =>
      (await call('ListTaskPushNotificationConfigs', { taskId })).result.configs.length
    return { taskId, send, create, count, call }
  }

  test('a task has so many webhooks, inline ones too, and the same id replaces', async () => {
    const { taskId, send, create, count, call } = await serveTask()
    for (const id of ['a', 'b', 'a', 'inline']) expect((await create(id)).error).toBeUndefined()
    const { error } = await create('c')
    expect(error).toMatchObject({ code: -32602, data: [{ reason: 'PUSH_CONFIG_LIMIT' }] })
    const more = { taskPushNotificationConfig: { id: 'd', url: hook } }
    const refused = await send({ taskId }, more)
    expect(refused.error).toMatchObject({ code: -32602, data: [{ reason: 'PUSH_CONFIG_LIMIT' }] })
    const replaced = { taskPushNotificationConfig: { id: 'a', url: hook } }
    expect((await send({ taskId }, replaced)).result.task.status.state).toBe(
      'TASK_STATE_INPUT_REQUIRED',
    )
    expect(await count()).toBe(3)
    await call('DeleteTaskPushNotificationConfig', { taskId, id: 'b' })
    expect((await send({ taskId }, more)).error).toBeUndefined()
    expect(await count()).toBe(3)
  })

  test('many at once find as many places as there are', async () => {
    const { create, count } = await serveTask()
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => create(`c${i}`)))
    expect(answers.filter(({ error }) => error === undefined)).toHaveLength(2)
    expect(await count()).toBe(3)
  })
})
