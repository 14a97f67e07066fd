import type { EventStream, Sequenced } from '../protocol/call.ts'
import type { Task } from '../protocol/types.ts'

/** A task with at most `length` of its latest messages; none leaves the field out (specification §3.2.4). */
export function trimHistory(task: Task, length: number | undefined): Task {
  if (length === undefined || !task.history || task.history.length <= length) return task
  const { history, ...rest } = task
  return length === 0 ? rest : { ...rest, history: history.slice(-length) }
}

/** A stream whose tasks have at most `length` of their latest messages. */
export function trimStream(stream: EventStream, length: number): EventStream {
  return {
    [Symbol.asyncIterator]() {
      const source = stream[Symbol.asyncIterator]()
      return {
        async next() {
          const batch = await source.next()
          return batch.done
            ? batch
            : { done: false, value: batch.value.map((item) => trim(item, length)) }
        },
        async return() {
          await source.return?.()
          return { done: true, value: undefined }
        },
      }
    },
  }
}

function trim(item: Sequenced, length: number): Sequenced {
  if (!('task' in item.event)) return item
  return { ...item, event: { task: trimHistory(item.event.task, length) } }
}
