import { A2AError } from '../protocol/errors.ts'
import { isTerminal } from '../protocol/task.ts'
import type { Task, TaskState } from '../protocol/types.ts'
import type { Scope } from '../store/store.ts'
import { taskNotFound } from './faults.ts'
import type { Forwarding } from './forward.ts'
import type { TaskRun } from './run.ts'
import type { Runs } from './runs.ts'
import { whereverItRuns } from './whereabouts.ts'

/** Cancels a task, wherever it runs; a cancelled one is given as it is, another ended one is `taskNotCancelable`. */
export type CallOff = (id: string, scope: Scope) => Promise<Task>

/** What calling off needs of the engine. */
interface CallOffOptions {
  readonly runs: Runs
  readonly forwarding: Forwarding
}

/** Makes what cancels tasks. */
export function createCallOff({ runs, forwarding }: CallOffOptions): CallOff {
  return async (id, scope) => {
    const task = await whereverItRuns(
      runs,
      { id, scope, purpose: 'end' },
      {
        here: callOffHere,
        elsewhere: (found) => forwarding.cancel(found),
      },
    )
    if (!task) throw taskNotFound(id)
    const { state } = task.status
    if (state !== 'TASK_STATE_CANCELED') throw notCancelable(id, state)
    return task
  }
}

async function callOffHere(run: TaskRun): Promise<Task> {
  if (!isTerminal(run.log.state)) return run.cancel()
  await run.log.committed()
  return (await run.log.snapshot()).task
}

function notCancelable(id: string, state: TaskState): A2AError {
  return new A2AError('taskNotCancelable', `Task ${id} is ${state}`, { metadata: { taskId: id } })
}
