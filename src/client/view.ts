import type { Sequenced } from '../protocol/call.ts'
import { createFold, type Fold } from '../protocol/fold.ts'
import { isTerminal } from '../protocol/task.ts'
import type { StreamResponse, Task } from '../protocol/types.ts'
import { difference } from './difference.ts'

/** What a client has seen of a task, over as many streams and polls as it took. */
export interface View {
  /** The task's id, once it is known. */
  readonly id: string | undefined
  /** The sequence number of the last event, where the server counts them. */
  readonly seq: number | undefined
  /** Whether nothing more is to come: the task ended or waits for input, or a message answered. */
  readonly settled: boolean
  /** Takes in a snapshot; gives back what it says that was not yet seen. */
  catchUp(task: Task, seq?: number): readonly StreamResponse[]
  /** Takes in an event of a stream; gives back what of it is news. */
  take(item: Sequenced): readonly StreamResponse[]
}

/** Makes the view of a task that has not been seen. */
export function createView(): View {
  let fold: Fold | undefined
  let id: string | undefined
  let seq: number | undefined
  let settled = false

  function settle(): void {
    settled = fold !== undefined && (isTerminal(fold.state) || asksForInput(fold))
  }

  function add(events: readonly StreamResponse[]): readonly StreamResponse[] {
    for (const event of events) fold?.apply(event)
    settle()
    return events
  }

  function catchUp(task: Task, at?: number): readonly StreamResponse[] {
    seq = at ?? seq
    if (fold) return add(difference(fold.snapshot(), task))
    fold = createFold(task)
    id = task.id
    settle()
    return [{ task }]
  }

  return {
    get id() {
      return id
    },
    get seq() {
      return seq
    },
    get settled() {
      return settled
    },
    catchUp,
    take({ event, seq: at }) {
      if ('task' in event) return catchUp(event.task, at)
      if ('message' in event && !fold) {
        settled = true
        return [event]
      }
      if (at !== undefined && seq !== undefined && at <= seq) return []
      seq = at ?? seq
      return add([event])
    },
  }
}

function asksForInput(fold: Fold): boolean {
  return fold.state === 'TASK_STATE_INPUT_REQUIRED'
}
