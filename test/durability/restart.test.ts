import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Task } from '../../src/protocol/types.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { corral } from '../cli/corral.ts'
import { createReceiver } from '../webhooks/receiver.ts'
import { immediately, open, type Scene } from './scene.ts'

const agents = ['stream', 'slow', 'ask', 'team']

/** Everything that callers can see: lists, tasks with history and artifacts. */
async function everything({ caller, get }: Scene): Promise<unknown> {
  const lists = agents.map(async (agent) => {
    const params = { includeArtifacts: true, historyLength: 100, pageSize: 2 }
    const page = await caller.call<{ tasks: readonly Task[]; nextPageToken: string }>({
      agent,
      method: 'ListTasks',
      params,
    })
    const { nextPageToken: pageToken } = page
    const next = await caller.call({ agent, method: 'ListTasks', params: { ...params, pageToken } })
    return { page, next, tasks: await Promise.all(page.tasks.map(({ id }) => get(agent, id))) }
  })
  return Promise.all(lists)
}

test('a clean restart changes nothing that can be seen', async () => {
  const scene = await open()
  const { send, caller, server } = scene
  for (const agent of ['stream', 'stream', 'stream', 'team', 'slow']) await send(agent, 'hello 3')
  const { id: asked } = await send('ask', 'hello')
  await send('ask', 'more', { taskId: asked })
  await send('ask', 'hello')
  const { id } = await send('slow', 'take 3600000', { configuration: immediately })
  await caller.call({ agent: 'slow', method: 'CancelTask', params: { id } })

  const before = await everything(scene)
  expect(await server.stop()).toBe(0)
  await server.start()
  expect(await everything(scene)).toEqual(before)
})

test('corral backup copies a store while it is written: whole tasks, and all that was acknowledged', async () => {
  const { send, file, folder } = await open()
  let writing = true
  const ids: string[] = []
  const writers = [1, 2, 3, 4].map(async () => {
    while (writing) ids.push((await send('stream', 'hello 5')).id)
  })
  await expect.poll(() => ids.length).toBeGreaterThan(5)
  const acknowledged = [...ids]
  const copy = join(folder, 'copy.db')
  const { code } = await corral(['backup', file, copy])
  writing = false
  await Promise.all(writers)

  expect(code).toBe(0)
  const store = await openSqliteStore(copy)
  for (const id of acknowledged) expect(await store.get(id)).toBeDefined()
  const scope = { agent: 'stream', tenant: '', owner: '' }
  for (const { head, version } of (await store.list({ scope, limit: 1_000 })).tasks) {
    const numbers = (await store.records(head.id, 0)).map(({ seq }) => seq)
    expect(numbers).toEqual(Array.from({ length: version }, (_, index) => index + 1))
  }
  await store.close()
})

test('retention waits for webhooks that are behind', async () => {
  const scene = await open({ store: { maxTasks: 2 } })
  const receiver = await createReceiver()
  receiver.answer = (_request, response) => void response.writeHead(503).end()
  const configuration = { taskPushNotificationConfig: { url: receiver.url } }
  const count = async (): Promise<number> =>
    (
      await scene.caller.call<{ totalSize: number }>({
        agent: 'stream',
        method: 'ListTasks',
        params: {},
      })
    ).totalSize
  for (let sent = 0; sent < 5; sent++) await scene.send('stream', 'hello 1', { configuration })
  await scene.server.stop()
  await scene.server.start()
  await receiver.received(10)
  expect(await count()).toBe(5)

  receiver.answer = (_request, response) => void response.end()
  await expect
    .poll(async () => (await fetch(`${scene.server.url()}/left`)).json())
    .toEqual({ tasks: 0, webhooks: 0 })
  await scene.server.stop()
  await scene.server.start()
  await expect.poll(count).toBe(2)
  await receiver.close()
})
