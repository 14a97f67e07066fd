import { describe, expect, test } from 'vitest'
import { createFakeClock } from '../../src/testing/index.ts'
import type { Wild } from '../contracts/binding.ts'
import { open, type Scene, wireNames, wireNames10 } from './scene.ts'

describe.each(wireNames)('tasks over %s', (name) => {
  test('E001: a task is there to get, with its artifacts', async () => {
    const { send, wire } = await open(name)
    const { task } = (await send('hi')).result
    expect((await wire.ask('GetTask', { id: task.id })).result).toEqual(task)
  })

  test('E002: an unknown task is not found', async () => {
    const { wire } = await open(name)
    const { error, body } = await wire.ask('GetTask', { id: 'made-up' })
    expect(error).toBe('TaskNotFound')
    expect(JSON.stringify(body)).toContain('made-up')
  })

  test('E011: cancel ends the work and answers with the task as it is then', async () => {
    const { begin, wire, get } = await open(name)
    const { id } = await begin('hold')
    const { result } = await wire.ask('CancelTask', { id })
    expect(result).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } })
    expect((await get(id)).status.state).toBe('TASK_STATE_CANCELED')
  })

  test('E011: a task that waits for its client can be cancelled too', async () => {
    const { send, wire } = await open(name)
    const { id } = (await send('ask')).result.task
    const { result } = await wire.ask('CancelTask', { id })
    expect(result.status.state).toBe('TASK_STATE_CANCELED')
  })

  test('E012: a task that has ended cannot be cancelled', async () => {
    const { send, wire } = await open(name)
    for (const text of ['hi', 'reject', 'fail']) {
      const { id } = (await send(text)).result.task
      expect((await wire.ask('CancelTask', { id })).error).toBe('TaskNotCancelable')
    }
  })

  test('E013: an unknown task cannot be cancelled, for it is not found', async () => {
    const { wire } = await open(name)
    expect((await wire.ask('CancelTask', { id: 'made-up' })).error).toBe('TaskNotFound')
  })

  test('E014: to cancel again changes nothing', async () => {
    const { begin, wire } = await open(name)
    const { id } = await begin('hold')
    const first = (await wire.ask('CancelTask', { id })).result
    const again = await wire.ask('CancelTask', { id })
    if (wire.version === '1.0') expect(again.result).toEqual(first)
    else expect(again.error).toBe('TaskNotCancelable')
    expect((await wire.ask('GetTask', { id })).result.status).toEqual(first.status)
  })

  test('C014: events carry the ids of task and context', async () => {
    const { wire } = await open(name)
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'chunks a b' }] }
    const { events } = await wire.watch('SendStreamingMessage', { message })
    let task: Wild
    for await (const event of events) {
      task ??= event.task
      const update = event.statusUpdate ?? event.artifactUpdate
      if (update) expect(update).toMatchObject({ taskId: task.id, contextId: task.contextId })
    }
    expect(task.id).toBeTruthy()
  })

  test('C003: timestamps are UTC with a Z and milliseconds', async () => {
    const { send } = await open(name)
    const { status } = (await send('hi')).result.task
    expect(status.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })
})

/** Tasks a second apart, oldest first. */
async function openWithTasks(
  name: (typeof wireNames10)[number],
  texts: readonly string[],
): Promise<Scene & { readonly ids: readonly string[] }> {
  const clock = createFakeClock(Date.parse('2026-11-15T10:00:00Z'))
  const scene = await open(name, { clock })
  const ids: string[] = []
  for (const text of texts) {
    const message = { contextId: text.split(' ')[1] ?? 'home' }
    ids.push((await scene.send(text, { message })).result.task.id)
    clock.advance(1000)
  }
  return { ...scene, ids }
}

const idsOf = ({ result }: Wild): string[] => result.tasks.map((task: Wild) => task.id)

describe.each(wireNames10)('lists over %s', (name) => {
  test('E003: show the tasks of the caller and tenant, also without a filter', async () => {
    const { wire, ids } = await openWithTasks(name, ['a', 'b'])
    expect(idsOf(await wire.ask('ListTasks')).sort()).toEqual([...ids].sort())
    expect(idsOf(await wire.ask('ListTasks', { tenant: 'another' }))).toEqual([])
  })

  test('E004: go from page to page by an opaque token, each task once', async () => {
    const { wire, ids } = await openWithTasks(name, ['a', 'b', 'c', 'd', 'e'])
    const seen: string[] = []
    let pageToken = ''
    do {
      const asked = { pageSize: 2, ...(pageToken && { pageToken }) }
      const page = await wire.ask('ListTasks', asked)
      seen.push(...idsOf(page))
      pageToken = page.result.nextPageToken
    } while (pageToken !== '')
    expect(seen).toEqual([...ids].reverse())
  })

  test('E004: a token that is not ours is refused', async () => {
    const { wire } = await open(name)
    for (const pageToken of ['nonsense', 'ÿ', 'AAAA']) {
      const { error } = await wire.ask('ListTasks', { pageToken })
      expect(error).toBe('InvalidParams')
    }
  })

  test('E005: the newest status comes first', async () => {
    const { wire, send, ids } = await openWithTasks(name, ['ask', 'b', 'c'])
    expect(idsOf(await wire.ask('ListTasks'))).toEqual([...ids].reverse())
    await send('it', { message: { taskId: ids[0] } })
    expect(idsOf(await wire.ask('ListTasks'))[0]).toBe(ids[0])
  })

  test('E006: the token is always there, and empty at the end', async () => {
    const { wire } = await openWithTasks(name, ['a', 'b'])
    expect((await wire.ask('ListTasks')).result.nextPageToken).toBe('')
    expect((await wire.ask('ListTasks', { pageSize: 2 })).result.nextPageToken).toBe('')
    expect((await wire.ask('ListTasks', { pageSize: 1 })).result.nextPageToken).not.toBe('')
    expect((await wire.ask('ListTasks', { contextId: 'none' })).result).toMatchObject({
      tasks: [],
      nextPageToken: '',
      totalSize: 0,
    })
  })

  test('E007: artifacts are absent unless they are asked for', async () => {
    const { wire } = await openWithTasks(name, ['a', 'ask'])
    for (const asked of [{}, { includeArtifacts: false }])
      for (const task of (await wire.ask('ListTasks', asked)).result.tasks)
        expect(task).not.toHaveProperty('artifacts')
    const { tasks } = (await wire.ask('ListTasks', { includeArtifacts: true })).result
    expect(tasks.map((task: Wild) => task.artifacts.length)).toEqual([0, 1])
  })

  test('E008: a page has fifty tasks if nobody says, a hundred at most, and says how many there are', async () => {
    const { wire } = await openWithTasks(
      name,
      Array.from({ length: 51 }, (_, i) => `a${i}`),
    )
    const { result } = await wire.ask('ListTasks')
    expect(result.tasks).toHaveLength(50)
    expect(result).toMatchObject({ pageSize: 50, totalSize: 51 })
    const whole = (await wire.ask('ListTasks', { pageSize: 100 })).result
    expect(whole).toMatchObject({ pageSize: 100, totalSize: 51 })
    expect(whole.tasks).toHaveLength(51)
    expect((await wire.ask('ListTasks', { pageSize: 101 })).error).toBe('InvalidParams')
  })

  test('E009: contexts, states and times narrow the list; the time is inclusive', async () => {
    const { wire, ids } = await openWithTasks(name, ['a one', 'reject two', 'c one'])
    expect(idsOf(await wire.ask('ListTasks', { contextId: 'one' }))).toEqual([ids[2], ids[0]])
    const status = 'TASK_STATE_REJECTED'
    expect(idsOf(await wire.ask('ListTasks', { status }))).toEqual([ids[1]])
    const since = (await wire.ask('GetTask', { id: ids[1] })).result.status.timestamp
    const later = await wire.ask('ListTasks', { statusTimestampAfter: since })
    expect(idsOf(later)).toEqual([ids[2], ids[1]])
    const both = { contextId: 'one', statusTimestampAfter: since }
    expect(idsOf(await wire.ask('ListTasks', both))).toEqual([ids[2]])
  })

  test('E010: sizes, lengths and states that are none are refused', async () => {
    const { wire } = await open(name)
    const bad = [
      { pageSize: 0 },
      { pageSize: -1 },
      { historyLength: -1 },
      { status: 'TASK_STATE_DREAMING' },
      { statusTimestampAfter: 'yesterday' },
    ]
    for (const asked of bad)
      expect((await wire.ask('ListTasks', asked)).error, JSON.stringify(asked)).toBe(
        'InvalidParams',
      )
    expect((await wire.ask('GetTask', { id: 'a', historyLength: -1 })).error).toBe('InvalidParams')
  })

  test('D016: a list keeps to the length of history, too', async () => {
    const { wire } = await openWithTasks(name, ['ask'])
    const { tasks } = (await wire.ask('ListTasks', { historyLength: 1 })).result
    expect(tasks[0].history).toHaveLength(1)
  })
})
