import type { Scope, StoredTask } from '../store/store.ts'
import { TaskMoved } from './faults.ts'
import { TaskRun } from './run.ts'
import type { Runs } from './runs.ts'

/** Which task is meant, and for what. */
interface Wanted {
  readonly id: string
  readonly scope: Scope
  /** Whether it is found to be ended: one with work left does not go on first. */
  readonly purpose?: 'end'
}

/** What to do with a task here, or where another replica runs it; undefined where it has moved meanwhile. */
interface Acts<T> {
  here(run: TaskRun): Promise<T | undefined>
  elsewhere(task: StoredTask): Promise<T | undefined>
}

/** How often a task is looked for that moves from one replica to another meanwhile. */
const maxTries = 20

/**
 * Does something with a task wherever it runs, and once more where it moves meanwhile; undefined where there is none.
 * @throws A2AError `unavailable` for a task that does not stay anywhere.
 */
export async function whereverItRuns<T>(
  runs: Runs,
  { id, scope, purpose }: Wanted,
  acts: Acts<T>,
): Promise<T | undefined> {
  for (let tries = 0; tries < maxTries; tries++) {
    const found = await runs.find(id, scope, purpose)
    if (!found) return undefined
    const isHere = found instanceof TaskRun
    const done = isHere ? await actHere(runs, found, acts) : await acts.elsewhere(found)
    if (done !== undefined) return done
  }
  throw new TaskMoved(id)
}

async function actHere<T>(runs: Runs, run: TaskRun, { here }: Acts<T>): Promise<T | undefined> {
  try {
    return await here(run)
  } catch (thrown) {
    if (thrown instanceof TaskMoved) return undefined
    throw thrown
  } finally {
    runs.release(run)
  }
}
