import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { ask } from '../server/asking.ts'
import { as, json, openScene, posted, type Scene } from './scene.ts'

/** A receiver elsewhere that answers as it is told. */
async function openHook(): Promise<{ url: string; status: number }> {
  const hook = { url: '', status: 404 }
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(hook.status).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo // it listens on TCP
  hook.url = `http://127.0.0.1:${port}/hook?key=hush`
  return hook
}

const push = { guard: { allow: ['127.0.0.1'], allowHttp: true } }

async function sendWithHook({ url }: Scene, who: string, hook: string): Promise<string> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hi' }] }
  const configuration = { taskPushNotificationConfig: { id: 'h', url: hook } }
  const answer = await ask(`${url}/message:send`, {
    headers: { ...json, 'a2a-version': '1.0', ...as(who) },
    body: JSON.stringify({ message, configuration }),
  })
  return answer.json.task.id
}

/** Waits until everything has been tried and given up: then no more dead letters come. */
async function givenUp({ api }: Scene): Promise<void> {
  const states = async () =>
    (await api('webhooks', { headers: as('ann') })).json.queues.map(
      ({ state }: { state: string }) => state,
    )
  await expect.poll(states).toEqual(['done'])
}

test('webhooks show how far they are, what was tried, and what was given up; to their owner', async () => {
  const scene = await openScene({ isClosed: true, pushNotifications: push })
  const hook = await openHook()
  const id = await sendWithHook(scene, 'ann', hook.url)
  const look = async (who: string) => (await scene.api('webhooks', { headers: as(who) })).json
  await givenUp(scene)
  const { queues, deadLetters } = await look('ann')
  expect(deadLetters.length).toBeGreaterThanOrEqual(2)
  expect(queues).toMatchObject([{ taskId: id, id: 'h', agent: 'worker', dialect: '1.0' }])
  expect(queues[0].attempts[0]).toMatchObject({ status: 404, failure: 'HTTP 404' })
  expect(queues[0].url).toBe(hook.url.split('?')[0])
  expect(deadLetters[0]).toMatchObject({ taskId: id, configId: 'h', reason: 'HTTP 404' })
  expect(JSON.stringify([queues, deadLetters])).not.toContain('hush')
  expect(await look('bob')).toEqual({ queues: [], deadLetters: [] })
  expect((await look('op')).deadLetters).toHaveLength(deadLetters.length)
})

test('what was given up is driven again by its owner or an operator, and by nobody else', async () => {
  const scene = await openScene({ isClosed: true, pushNotifications: push })
  const hook = await openHook()
  await sendWithHook(scene, 'ann', hook.url)
  const letters = async () =>
    (await scene.api('webhooks', { headers: as('ann') })).json.deadLetters.map(
      ({ id }: { id: string }) => id,
    )
  await givenUp(scene)
  const [first, second, ...rest] = await letters()
  hook.status = 200
  const redrive = async (ids: unknown, who: string) =>
    scene.api('webhooks/redrive', posted({ ids }, as(who)))
  const none = { delivered: false, reason: 'There is no such dead letter' }
  expect((await redrive([first, 'none'], 'bob')).json.results).toEqual([
    { id: first, ...none },
    { id: 'none', ...none },
  ])
  expect((await redrive([first], 'ann')).json.results).toEqual([{ id: first, delivered: true }])
  expect((await redrive([second], 'op')).json.results).toEqual([{ id: second, delivered: true }])
  expect(await letters()).toEqual(rest)
  for (const ids of ['all', [1], Array.from({ length: 101 }, String)])
    expect((await redrive(ids, 'ann')).status).toBe(400)
})
