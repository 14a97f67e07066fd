import { describe, expect, test } from 'vitest'
import type { ListedTask, TasksAnswer } from '../../src/console/api.ts'
import type { TaskState } from '../../src/protocol/types.ts'
import { createTaskList } from '../logic/task-list.ts'

function line(id: string, state: TaskState = 'TASK_STATE_WORKING', agent = 'echo'): ListedTask {
  return {
    id,
    contextId: 'c',
    agent,
    state,
    at: '2026-01-01T00:00:00.000Z',
    words: `about ${id}`,
    mine: true,
  }
}

/** A list over these pages; remembers what it was asked. */
function listOf(pages: readonly TasksAnswer[], filters = {}) {
  const asked: string[] = []
  const list = createTaskList(filters, async (query) => {
    asked.push(query)
    const page = pages[asked.length - 1]
    if (!page) throw new Error('There is no such page')
    return page
  })
  const ids = () => list.rows.value.map(({ id }) => id)
  return { list, asked, ids }
}

describe('The list of tasks', () => {
  test('is read page by page, each after the cursor of the one before', async () => {
    const { list, asked, ids } = listOf(
      [{ rows: [line('a'), line('b')], next: 'after-b', total: 3 }, { rows: [line('c')] }],
      { agent: 'echo' },
    )
    await list.more()
    await list.more()
    await list.more()
    expect(ids()).toEqual(['a', 'b', 'c'])
    expect(asked).toEqual(['agent=echo&limit=100', 'agent=echo&cursor=after-b&limit=100'])
    expect(list.phase.value).toBe('complete')
    expect(list.total.value).toBe(3)
  })

  test('one page is asked for at a time', async () => {
    const { list, asked } = listOf([{ rows: [line('a')] }])
    await Promise.all([list.more(), list.more(), list.more()])
    expect(asked).toHaveLength(1)
  })

  test('a task that moved while pages were read is shown once', async () => {
    const { list, ids } = listOf([
      { rows: [line('a'), line('b')], next: 'x' },
      { rows: [line('b'), line('c')] },
    ])
    await list.more()
    await list.more()
    expect(ids()).toEqual(['a', 'b', 'c'])
  })

  test('a page that cannot be read says why, and is asked for again', async () => {
    const { list, asked } = listOf([])
    await list.more()
    expect(list.phase.value).toBe('failed')
    expect(list.fault.value).toBe('There is no such page')
    await list.more()
    expect(asked).toHaveLength(2)
  })

  test('changes come in place, new tasks at the top or where the reader does not look', async () => {
    const { list, ids } = listOf([{ rows: [line('a')], total: 1 }])
    await list.more()
    list.change({ task: line('a', 'TASK_STATE_COMPLETED'), version: 2 }, false)
    expect(list.rows.value[0]?.state).toBe('TASK_STATE_COMPLETED')
    list.change({ task: line('b'), version: 1 }, true)
    expect(ids()).toEqual(['b', 'a'])
    list.change({ task: line('c'), version: 1 }, false)
    expect(ids()).toEqual(['b', 'a'])
    list.showFresh()
    expect(ids()).toEqual(['c', 'b', 'a'])
    expect(list.total.value).toBe(3)
  })

  test('a new task that the filters leave out stays out', async () => {
    const { list, ids } = listOf([{ rows: [] }], { state: 'TASK_STATE_FAILED', text: 'ABOUT' })
    await list.more()
    list.change({ task: line('a'), version: 1 }, true)
    list.change({ task: line('b', 'TASK_STATE_FAILED'), version: 1 }, true)
    expect(ids()).toEqual(['b'])
  })
})
