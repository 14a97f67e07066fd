import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SeenTask } from '../../src/client/view.ts'
import { createFold } from '../../src/protocol/task.ts'
import type { Artifact, Part, StreamResponse, Task, TaskState } from '../../src/protocol/types.ts'

function taskWith(artifacts: readonly Artifact[], state: TaskState = 'TASK_STATE_WORKING'): Task {
  return { id: 't', contextId: 'c', status: { state }, artifacts }
}

const words = (...texts: readonly string[]): Artifact => ({
  artifactId: 'a',
  parts: texts.map((text) => ({ text })),
})

/** What a client that has seen the first snapshot is told of the second. */
function difference(seen: Task, now: Task): readonly StreamResponse[] {
  const view = new SeenTask()
  view.catchUp(seen)
  return view.catchUp(now)
}

describe('the difference of two snapshots', () => {
  test('is nothing where nothing changed', () => {
    const task = taskWith([words('one', 'two')])
    expect(difference(task, task)).toEqual([])
  })

  test('is nothing where the server merged the pieces of a text', () => {
    expect(difference(taskWith([words('one ', 'two')]), taskWith([words('one two')]))).toEqual([])
  })

  test('F018 is the rest of a text that has grown, to be appended by artifactId', () => {
    const [event] = difference(taskWith([words('one ', 'two')]), taskWith([words('one two three')]))
    expect(event).toEqual({
      artifactUpdate: { taskId: 't', contextId: 'c', artifact: words(' three'), append: true },
    })
  })

  test('is the whole artifact where it was replaced', () => {
    const [event] = difference(taskWith([words('one')]), taskWith([words('two')]))
    expect(event).toEqual({
      artifactUpdate: { taskId: 't', contextId: 'c', artifact: words('two') },
    })
  })

  test('ends with the status, so that a terminal state comes after its artifacts', () => {
    const events = difference(taskWith([]), taskWith([words('done')], 'TASK_STATE_COMPLETED'))
    expect(events.map((event) => Object.keys(event)[0])).toEqual(['artifactUpdate', 'statusUpdate'])
  })

  test('leads from any snapshot to any later one', () => {
    const part = fc.oneof(
      fc.record({ text: fc.string() }),
      fc.record({ data: fc.integer() }),
      fc.record({ text: fc.string(), mediaType: fc.constant('text/html') }),
    )
    const artifact = fc.record({
      artifactId: fc.constantFrom('a', 'b'),
      parts: fc.array<Part>(part, { minLength: 1, maxLength: 4 }),
    })
    const artifacts = fc.uniqueArray(artifact, { selector: (a) => a.artifactId })
    fc.assert(
      fc.property(artifacts, artifacts, (before, added) => {
        const seen = taskWith(before)
        const later = createFold(seen)
        for (const each of added)
          later.apply({
            artifactUpdate: { taskId: 't', contextId: 'c', artifact: each, append: true },
          })
        const fold = createFold(seen)
        for (const event of difference(seen, later.snapshot())) fold.apply(event)
        fold.compact()
        later.compact()
        expect(fold.snapshot()).toEqual(later.snapshot())
      }),
    )
  })
})

describe('a view', () => {
  const chunk = (text: string, append: boolean): StreamResponse => ({
    artifactUpdate: { taskId: 't', contextId: 'c', artifact: words(text), append },
  })

  test('counts what came before the first snapshot once', () => {
    const view = new SeenTask()
    view.take({ event: chunk('one ', true) })
    view.catchUp(taskWith([words('one ')]))
    view.take({ event: chunk('two', true) })
    expect(view.catchUp(taskWith([words('one two')]))).toEqual([])
  })

  test('keeps no event that a later one has replaced', async () => {
    const view = new SeenTask()
    view.catchUp(taskWith([]))
    const first = new WeakRef(chunk('a draft', false))
    const takeFirst = (): void => {
      const event = first.deref()
      if (event) view.take({ event })
    }
    takeFirst()
    for (let number = 0; number < 2_000; number++) view.take({ event: chunk(`${number}`, false) })
    setFlagsFromString('--expose-gc')
    const isCollected = (): boolean => {
      runInNewContext('gc')()
      return first.deref() === undefined
    }
    await expect.poll(isCollected).toBe(true)
    expect(view.catchUp(taskWith([words('1999')]))).toEqual([])
  })
})
