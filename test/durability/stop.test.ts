import { existsSync, readFileSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { request } from 'undici'
import { expect, test } from 'vitest'
import type { Task } from '../../src/protocol/types.ts'
import type { Told } from './caller.ts'
import { immediately, open, question, type Scene } from './scene.ts'

/** Whether a new connection is taken. */
function isAccepting({ server }: Scene): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(server.url()).port), '127.0.0.1')
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
}

/** Opens a stream; gives its whole text once it has ended. */
async function subscribe(
  { server }: Scene,
  agent: string,
  id: string,
): Promise<{ readonly text: Promise<string> }> {
  const { body } = await request(`${server.url()}/agents/${agent}/tasks/${id}:subscribe`, {
    method: 'POST',
    headers: { 'a2a-version': '1.0' },
  })
  return { text: body.text() }
}

test('SIGTERM refuses new connections, lets the running turn end, and exits with 0', async () => {
  const scene = await open({ shutdownMs: 20_000 })
  const { caller, server } = scene
  const answer = caller.call<{ task: Task }>(question('slow', 'take 1500', { configuration: {} }))
  const isRunning = async (): Promise<number> =>
    (
      await caller.call<{ tasks: readonly Task[] }>({
        agent: 'slow',
        method: 'ListTasks',
        params: {},
      })
    ).tasks.length
  await expect.poll(isRunning).toBe(1)
  const stopped = server.stop()
  await expect.poll(() => isAccepting(scene)).toBe(false)
  expect((await answer).task.status.state).toBe('TASK_STATE_COMPLETED')
  expect(await stopped).toBe(0)
})

test('SIGTERM answers a message that is stored with its task, not with an error', async () => {
  const scene = await open({ shutdownMs: 10 })
  const { caller, server, settled } = scene
  const { id: taskId } = await scene.send('ask', 'hello')
  // Its first member does not end before the stop, however long that takes to come.
  const blocking = question('team', 'hold first', { configuration: {} })
  const headers = { 'idempotency-key': 'once' }
  const answer = caller.call<{ task: Task }>({ ...blocking, headers })
  const isRunning = async (): Promise<number> =>
    (
      await caller.call<{ tasks: readonly Task[] }>({
        agent: 'team',
        method: 'ListTasks',
        params: {},
      })
    ).tasks.length
  await expect.poll(() => readFileSync(scene.effects, 'utf8')).toContain(' first ')
  expect(await server.stop()).toBe(0)
  const { task } = await answer
  expect(task.status.state).toBe('TASK_STATE_WORKING')
  await server.start()
  // Who sends it again under its key, and who asks for it, finds the one task.
  const again = await caller.call<{ task: Task }>({ ...blocking, headers })
  expect(again.task.id).toBe(task.id)
  expect((await settled('team', task.id)).status.state).toBe('TASK_STATE_COMPLETED')
  expect(await isRunning()).toBe(1)
  expect((await scene.get('ask', taskId)).status.state).toBe('TASK_STATE_INPUT_REQUIRED')
})

test('what has not ended by the deadline is taken up by the next start', async () => {
  const { send, settled, server, effects } = await open({ shutdownMs: 10 })
  const { id } = await send('team', 'hold first', { configuration: immediately })
  await expect.poll(() => readFileSync(effects, 'utf8')).toContain(`${id} first `)
  expect(await server.stop()).toBe(0)
  await server.start()
  expect((await settled('team', id)).status.state).toBe('TASK_STATE_COMPLETED')
})

test('streams end with a hint when to come back, of running tasks and of waiting ones', async () => {
  const scene = await open({ shutdownMs: 10 })
  const running = await scene.send('slow', 'take 3600000', { configuration: immediately })
  const waiting = await scene.send('ask', 'hello')
  const first = await subscribe(scene, 'slow', running.id)
  const second = await subscribe(scene, 'ask', waiting.id)
  expect(await scene.server.stop()).toBe(0)
  expect(await first.text).toMatch(/\n\nretry: 2000\n\n$/)
  expect(await second.text).toMatch(/\n\nretry: 2000\n\n$/)
})

test('a stop leaves one file: the log is moved into it', async () => {
  const { send, server, file } = await open()
  await send('stream', 'hello')
  expect(statSync(`${file}-wal`).size).toBeGreaterThan(0)
  await server.stop()
  expect(existsSync(`${file}-wal`) && statSync(`${file}-wal`).size > 0).toBe(false)
})

test('a follower goes on after a stop where it was, with the numbers that follow', async () => {
  const { caller, send, server } = await open({ shutdownMs: 10 })
  const { id } = await send('ask', 'hello')
  const seen: Told[] = []
  const listen = async (from?: number): Promise<void> => {
    const headers = from === undefined ? {} : { 'last-event-id': String(from) }
    const stream = caller.stream({
      agent: 'ask',
      method: 'SubscribeToTask',
      params: { id },
      headers,
    })
    for await (const told of stream) seen.push(told)
  }
  const before = listen()
  await expect.poll(() => seen.length).toBe(1)
  await server.stop()
  await before
  await server.start()
  const after = listen(seen.at(-1)?.seq)
  const { artifacts } = await send('ask', 'more', { taskId: id })
  await after
  expect(artifacts).toHaveLength(1)
  const [snapshot, ...rest] = seen
  expect(snapshot?.event).toHaveProperty('task')
  expect(rest.map(({ event }) => Object.keys(event)[0])).toEqual([
    'statusUpdate',
    'artifactUpdate',
    'statusUpdate',
  ])
  const numbers = seen.map(({ seq }) => seq)
  expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b))
})
