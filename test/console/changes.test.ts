import { expect, onTestFinished, test } from 'vitest'
import type { TaskChange } from '../../src/console/api.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { patient } from '../support/patient.ts'
import { describePostgres, usePostgres } from '../support/postgres.ts'
import { as, openScene, type Scene } from './scene.ts'

/** The changes that a page hears of, as they come. */
async function listen({ url }: Scene, who?: string): Promise<() => Promise<TaskChange>> {
  const leave = new AbortController()
  onTestFinished(() => leave.abort())
  const response = await fetch(`${url}/console/api/events`, {
    signal: leave.signal,
    ...(who !== undefined && { headers: as(who) }),
  })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const changes = read(response)
  return async () => {
    const { value } = await changes.next()
    if (!value) throw new Error('The stream is over')
    return value
  }
}

async function* read({ body }: Response): AsyncGenerator<TaskChange> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    const frames = text.split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames)
      if (frame.startsWith('data: ')) yield JSON.parse(frame.slice('data: '.length))
  }
}

/** Changes until one is in a state; those before it may have been told together with it. */
async function until(next: () => Promise<TaskChange>, state: string): Promise<TaskChange> {
  for (;;) {
    const change = await next()
    if (change.task.state === state) return change
  }
}

test('a page hears when a task is made and when its state changes', async () => {
  const scene = await openScene()
  const next = await listen(scene)
  const id = await scene.send('work on it')
  const began = await until(next, 'TASK_STATE_WORKING')
  expect(began.task).toMatchObject({ id, agent: 'worker', words: 'work on it', mine: true })
  const headers = { 'a2a-version': '1.0' }
  await fetch(`${scene.url}/tasks/${id}:cancel`, { method: 'POST', headers })
  const ended = await until(next, 'TASK_STATE_CANCELED')
  expect(ended.task.id).toBe(id)
  expect(ended.version).toBeGreaterThan(began.version)
})

test('a principal hears of its own tasks, an operator of all', async () => {
  const scene = await openScene({ isClosed: true })
  const [ann, op] = [await listen(scene, 'ann'), await listen(scene, 'op')]
  const theirs = await scene.send('of bob', { who: 'bob' })
  const mine = await scene.send('of ann', { who: 'ann' })
  const heard = await ann()
  expect(heard.task).toMatchObject({ id: mine, mine: true })
  expect(heard.task.owner).toBeUndefined()
  const seen = new Map<string, string | undefined>()
  // A task may be told of more than once, as its state changes.
  while (seen.size < 2) {
    const { task } = await op()
    seen.set(task.id, task.owner)
  }
  expect(seen).toEqual(
    new Map([
      [theirs, 'bob'],
      [mine, 'ann'],
    ]),
  )
})

test('a closed server ends the stream', async () => {
  const scene = await openScene()
  const next = await listen(scene)
  await scene.server.close()
  await expect(next()).rejects.toThrow()
})

describePostgres('where replicas share the store', () => {
  const database = usePostgres()

  test('a page hears of what another replica stored', async () => {
    const schema = database.newSchema()
    const open = async () => {
      const store = await openPostgresStore({ url: database.url, schema, logger: false })
      onTestFinished(() => store.close())
      return openScene({ store, limits: patient })
    }
    const [here, there] = [await open(), await open()]
    const next = await listen(here)
    const ids = new Set<string>()
    let isHeard = false
    const heard = next().finally(() => {
      isHeard = true
    })
    // The first look only learns what there is.
    while (!isHeard) {
      ids.add(await there.send('another'))
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    const { task } = await heard
    expect(ids).toContain(task.id)
  })
})
