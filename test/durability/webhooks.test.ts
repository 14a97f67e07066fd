import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { openSqliteStore } from '../../src/store/index.ts'
import type { LogRecord } from '../../src/store/store.ts'
import { createReceiver, type Received, type Receiver } from '../webhooks/receiver.ts'
import { open, type Scene } from './scene.ts'

/** The sequence numbers of requests. */
function numbers(requests: readonly Received[]): readonly number[] {
  return requests.map(({ headers }) => Number(String(headers['x-a2a-event-id']).split(':').at(-1)))
}

/** The sequence numbers of a task's events, from the file of a server that has stopped. */
async function eventsOf({ file }: Scene, id: string): Promise<readonly number[]> {
  const store = await openSqliteStore(file)
  const records: readonly LogRecord[] = await store.records(id, 0)
  expect(await store.deadLetters()).toEqual([])
  await store.close()
  return records.filter(({ kind }) => kind === 'event').map(({ seq }) => seq)
}

const hook = ({ url }: Receiver): object => ({ taskPushNotificationConfig: { url } })

const nothingLeft = (scene: Scene): Promise<unknown> =>
  expect
    .poll(async () => (await fetch(`${scene.server.url()}/left`)).json())
    .toEqual({ tasks: 0, webhooks: 0 })

test('a receiver that fails, asks for patience and hangs gets everything, in order', async () => {
  const scene = await open({ timeoutMs: 300 })
  const receiver = await createReceiver()
  const moods: ((response: ServerResponse) => void)[] = [
    (response) => void response.writeHead(500).end(),
    (response) => void response.writeHead(503).end(),
    (response) => void response.writeHead(429, { 'retry-after': '1' }).end(),
    () => {}, // hangs
    (response) => void response.destroy(),
    (response) => void response.writeHead(204).end(),
    () => {},
  ]
  receiver.answer = (_request, response) => {
    const mood = moods.shift()
    if (mood) mood(response)
    else response.end()
  }
  const { id } = await scene.send('stream', 'speak 6', { configuration: hook(receiver) })
  await nothingLeft(scene)
  await scene.server.stop()
  const events = await eventsOf(scene, id)
  const seen = numbers(receiver.requests)
  // Each was tried until it was taken; how often, where an answer comes late, is the machine's.
  expect([...new Set(seen)]).toEqual(events)
  expect(seen).toEqual(seen.toSorted((a, b) => a - b))
  expect(moods).toEqual([])
  await receiver.close()
})

/** No answer is too late, however busy the machine is: an event comes twice only where a server died. */
const patient = { timeoutMs: 60_000 }

test('a receiver that is down when the server dies gets everything from the next one, in order', async () => {
  const scene = await open(patient)
  const before = await createReceiver()
  before.answer = (_request, response) => void response.writeHead(503).end()
  const { id } = await scene.send('team', 'hello', { configuration: hook(before) })
  await before.received(2)
  await before.close()
  await scene.server.kill()

  const after = await createReceiver(before.port)
  await scene.server.start()
  await nothingLeft(scene)
  await scene.server.stop()
  expect(numbers(after.requests)).toEqual(await eventsOf(scene, id))
  await after.close()
})

test('an event that was taken just before a kill may come again, and none is left out', async () => {
  const scene = await open(patient)
  const receiver = await createReceiver()
  const { id } = await scene.send('stream', 'speak 40', {
    configuration: { ...hook(receiver), returnImmediately: true },
  })
  await receiver.received(3)
  await scene.server.kill()
  await scene.server.start()
  await nothingLeft(scene)
  await scene.server.stop()
  const seen = numbers(receiver.requests)
  expect([...new Set(seen)]).toEqual(await eventsOf(scene, id))
  expect(seen.length - new Set(seen).size).toBeLessThanOrEqual(1)
  await receiver.close()
})
