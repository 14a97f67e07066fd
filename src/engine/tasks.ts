import { A2AError } from '../protocol/errors.ts'
import { parseTask } from '../protocol/schema.ts'
import { isTerminal } from '../protocol/task.ts'
import type { FullTaskStore } from '../protocol/task-store.ts'
import type { StreamResponse, Task, TaskStatus } from '../protocol/types.ts'
import type { Clock } from '../shared/clock.ts'
import { copyOf, isSame } from '../shared/json.ts'
import { currentTask } from '../store/current.ts'
import type { Scope, Store, StoredTask } from '../store/store.ts'
import { toTaskStore } from '../store/task-store.ts'
import { taskNotFound } from './faults.ts'
import type { Forwarding } from './forward.ts'
import type { TaskRun } from './run.ts'
import type { Runs } from './runs.ts'
import { whereverItRuns } from './whereabouts.ts'

/** What the tasks of a caller are read and changed by. */
interface TasksOptions {
  readonly store: Store
  readonly clock: Clock
  readonly scope: Scope
  readonly runs: Runs
  readonly forwarding: Forwarding
  timestamp(): string
  get(id: string): Promise<Task>
}

/**
 * The tasks of one caller as a TaskStore: a face of the engine. An update becomes events in the task's log, so that
 * streams and webhooks hear of it; what the given task does not mention stays as it is.
 */
export function createTasks(options: TasksOptions): FullTaskStore {
  const { store, clock, scope, runs, timestamp } = options
  const stored = toTaskStore(store, scope, clock)

  /** The task with the changes that make it the given one; undefined where there is none. */
  async function replace(given: Task): Promise<Task | undefined> {
    const wanted = parseTask(copyOf(given))
    return whereverItRuns(
      runs,
      { id: wanted.id, scope, purpose: 'end' },
      {
        here: (run) => amendHere(run, wanted),
        elsewhere: (found) => amendElsewhere(found, wanted),
      },
    )
  }

  async function amendHere(run: TaskRun, given: Task): Promise<Task> {
    const { task: before } = await run.log.snapshot()
    const events = changes(before, given, timestamp())
    if (events.length > 0) {
      mustBeOpen(before)
      run.amend(events)
      await run.log.committed()
    }
    return (await run.log.snapshot()).task
  }

  async function amendElsewhere(found: StoredTask, given: Task): Promise<Task | undefined> {
    const before = await currentTask(store, found)
    const events = changes(before, given, timestamp())
    if (events.length === 0) return before
    mustBeOpen(before)
    return options.forwarding.amend(found, events)
  }

  return {
    ...stored,
    async get(id) {
      try {
        return copyOf(await options.get(id))
      } catch (error) {
        if (error instanceof A2AError && error.code === 'taskNotFound') return undefined
        throw error
      }
    },
    async update(task) {
      const updated = await replace(task)
      if (!updated) throw taskNotFound(task.id)
      return copyOf(updated)
    },
    save: async (task) => copyOf(await replace(task)) ?? stored.create(task),
  }
}

function mustBeOpen({ id, status }: Task): void {
  if (isTerminal(status.state))
    throw new A2AError('invalidRequest', `Task ${id} is ${status.state}; it changes no more`, {
      metadata: { taskId: id },
    })
}

/** The events that make one task of the other: a whole Task where status and artifacts do not tell everything. */
function changes(before: Task, given: Task, now: string): readonly StreamResponse[] {
  const { id, contextId } = before
  const ids = { taskId: id, contextId }
  const { timestamp: last } = before.status
  const at = last !== undefined && last > now ? last : now
  const status = { ...given.status, timestamp: given.status.timestamp ?? at }
  if (!isToldByEvents(before, given))
    return [{ task: { ...before, ...given, id, contextId, status } }]
  const known = new Map(before.artifacts?.map((artifact) => [artifact.artifactId, artifact]))
  const news = (given.artifacts ?? []).filter((one) => !isSame(one, known.get(one.artifactId)))
  const events: StreamResponse[] = news.map((artifact) => ({
    artifactUpdate: { ...ids, artifact },
  }))
  if (!isSameStatus(before.status, given.status)) events.push({ statusUpdate: { ...ids, status } })
  return events
}

function isToldByEvents(before: Task, { metadata, history, artifacts }: Task): boolean {
  if (metadata && !isSame(metadata, before.metadata)) return false
  if (history && !isSame(history, before.history ?? [])) return false
  const kept = artifacts?.slice(0, before.artifacts?.length ?? 0)
  return !kept || isSame(kept.map(idOf), before.artifacts?.map(idOf) ?? [])
}

function idOf({ artifactId }: { readonly artifactId: string }): string {
  return artifactId
}

function isSameStatus(before: TaskStatus, given: TaskStatus): boolean {
  return before.state === given.state && isSame(before.message, given.message)
}
