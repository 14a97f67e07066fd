import { A2AError, hasCode } from '../protocol/errors.ts'
import { parseTask } from '../protocol/schema.ts'
import { isTerminal } from '../protocol/task.ts'
import type { FullTaskStore } from '../protocol/task-store.ts'
import type { StreamResponse, Task, TaskStatus } from '../protocol/types.ts'
import { wait, within } from '../shared/async.ts'
import { newTimedId } from '../shared/ids.ts'
import { copyOf, isSame } from '../shared/json.ts'
import { Registry } from '../shared/registry.ts'
import { currentTask, isSameScope } from '../store/documents.ts'
import type { Scope, Store, StoredTask } from '../store/store.ts'
import { toTaskStore } from '../store/task-store.ts'
import type { Engine } from './engine.ts'
import { TaskMoved, taskNotFound } from './errors.ts'
import { type LoadedTask, loadTask } from './queued-messages.ts'
import { type ResumeResult, resumeRun } from './recover.ts'
import { TaskLog } from './task-log.ts'
import { TaskRun } from './task-run.ts'

/** The task that a caller means, and for what. */
interface TaskQuery {
  readonly id: string
  readonly scope: Scope
  /** Set where the task is to be ended: one with work left is not resumed first. */
  readonly purpose?: 'end'
}

/** What to do with a task here, or where another replica runs it; undefined where it has moved meanwhile. */
interface TaskActions<T> {
  here(run: TaskRun): Promise<T | undefined>
  remote(task: StoredTask): Promise<T | undefined>
}

/** A task that was read from the store: live here, or as stored where another replica runs it. */
interface FoundTask {
  readonly found: TaskRun | StoredTask
  readonly resumed: ResumeResult
}

/** How often a task is looked for that moves from one replica to another meanwhile. */
const maxTries = 20

/** The live tasks of an engine: those with a turn that runs or waits, and those that a caller is looking at. */
export class LiveTasks {
  readonly #engine: Engine
  /** By the id that the task has or will have. */
  readonly #runs = new Registry<TaskRun>()
  readonly #loading = new Map<string, Promise<FoundTask | undefined>>()
  /** How many callers look at a run: it stays live, with its task in memory, until the last one calls `release`. */
  readonly #holders = new Map<TaskRun, number>()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  get(id: string): TaskRun | undefined {
    return this.#runs.get(id)
  }

  has(id: string): boolean {
    return this.#runs.has(id)
  }

  values(): Iterable<TaskRun> {
    return this.#runs.values()
  }

  /** How many tasks are live; a run without a task does not count. */
  count(): number {
    let count = 0
    for (const { log } of this.#runs.values()) if (log.exists) count++
    return count
  }

  /** The live run of a task in scope, if there is one. */
  live(id: string, scope: Scope): TaskRun | undefined {
    return visible(this.#working(id), scope)
  }

  /** The run of a task that does not exist yet. `find` finds it once the task does. */
  create(contextId: string, scope: Scope, principal: string): TaskRun {
    const engine = this.#engine
    const log = new TaskLog(engine, {
      id: newTimedId(engine.clock.now()),
      contextId,
      scope,
      principal,
    })
    const run = new TaskRun(engine, log)
    this.#runs.set(log.id, run)
    return run
  }

  /**
   * Does something with a task wherever it runs, and once more where it moves meanwhile; undefined where there is no
   * such task.
   * @throws A2AError `unavailable` for a task that does not stay anywhere.
   */
  async locate<T>(
    { id, scope, purpose }: TaskQuery,
    actions: TaskActions<T>,
  ): Promise<T | undefined> {
    for (let tries = 0; tries < maxTries; tries++) {
      const found = await this.find(id, scope, purpose)
      if (!found) return undefined
      const isHere = found instanceof TaskRun
      const done = isHere ? await this.#actHere(found, actions) : await actions.remote(found)
      if (done !== undefined) return done
    }
    throw new TaskMoved(id)
  }

  async #actHere<T>(run: TaskRun, { here }: TaskActions<T>): Promise<T | undefined> {
    try {
      return await here(run)
    } catch (thrown) {
      if (thrown instanceof TaskMoved) return undefined
      throw thrown
    } finally {
      this.release(run)
    }
  }

  /**
   * The run of a task in scope, loaded from the store if need be; undefined if there is no such task. One with work left
   * is resumed, unless it is to be ended. It stays, with its task in memory, until the caller calls `release`, so that two
   * callers never hold two runs of one task. A task that another replica runs is returned as it is stored.
   */
  async find(
    id: string,
    scope?: Scope,
    purpose?: 'end',
  ): Promise<TaskRun | StoredTask | undefined> {
    // Nothing may come between this and the look at the runs: two callers must not load one task twice.
    for (let load = this.#loading.get(id); load; load = this.#loading.get(id)) await load
    const found = this.#working(id) ?? (await this.#load(id, scope, purpose !== 'end'))?.found
    if (found && !(found instanceof TaskRun)) return found
    const run = visible(found, scope)
    if (!run) return undefined
    this.#holders.set(run, (this.#holders.get(run) ?? 0) + 1)
    const reading = run.reload()
    // A task that cannot be read is not held.
    if (reading) await reading.finally(() => run.log.unloaded && this.release(run))
    return run
  }

  /** Ends what `find` began. */
  release(run: TaskRun): void {
    const left = (this.#holders.get(run) ?? 1) - 1
    if (left > 0) this.#holders.set(run, left)
    else this.#holders.delete(run)
    this.settle(run.log)
  }

  /** Forgets the run of a log that has nothing left to do and no holder; unloads one that waits for its slot. */
  settle(log: TaskLog): void {
    const run = this.#runs.get(log.id)
    if (run?.log !== log) return
    // A task that is still being written is settled again when that is done: a second run would write in between.
    if (this.#holders.has(run) || !log.quiet) return
    if (run.busy) {
      run.unload()
      return
    }
    this.#runs.delete(log.id)
    log.release()
    this.#engine.hub.follow(log.id)
  }

  /** Resumes a task with work left, unless it is live. */
  async resume(id: string): Promise<ResumeResult> {
    for (let load = this.#loading.get(id); load; load = this.#loading.get(id)) await load
    if (this.#working(id)) return 'live'
    const loaded = await this.#load(id, undefined, true)
    if (loaded?.found instanceof TaskRun) this.settle(loaded.found.log)
    return loaded?.resumed ?? 'nothing'
  }

  /** Reads what a run needs to continue a stored task. */
  async read(id: string): Promise<LoadedTask> {
    return loadTask(this.#engine.store, await this.#engine.mustGet(id))
  }

  /** The run of a task, unless its log is broken: it differs from what is stored, and can write nothing more. */
  #working(id: string): TaskRun | undefined {
    const run = this.#runs.get(id)
    return run?.log.broken ? undefined : run
  }

  #load(id: string, scope: Scope | undefined, mayResume: boolean): Promise<FoundTask | undefined> {
    const load = this.#loadRun(id, scope, mayResume).finally(() => this.#loading.delete(id))
    this.#loading.set(id, load)
    return load
  }

  /** Makes a stored task live, and resumes it where there is work left, unless another replica runs it. */
  async #loadRun(
    id: string,
    scope: Scope | undefined,
    mayResume: boolean,
  ): Promise<FoundTask | undefined> {
    const engine = this.#engine
    const { store } = engine
    const { feed } = store
    const number = feed?.replica
    const stored = await store.get(id, scope)
    if (!stored) return undefined
    const { head, replica, mail } = stored
    if (isRemote(store, stored)) return { found: stored, resumed: 'nothing' }
    const inbox = feed && replica !== undefined && mail !== 0 ? await feed.inbox(id) : []
    const { log, memory, records } = await loadTask(store, stored)
    // What was read under a registration that this process has lost is another replica's to continue.
    if (number !== feed?.replica) return { found: stored, resumed: 'nothing' }
    const run = new TaskRun(engine, new TaskLog(engine, head, log), memory)
    this.#runs.set(head.id, run)
    run.log.busy = head.busy
    if (engine.closed) return { found: run, resumed: 'nothing' }
    // Do not resume a task whose cancellation is already queued.
    const mayRun = mayResume && !inbox.some(({ entry }) => entry.kind === 'cancel')
    const resumes = head.busy && (mayRun || isTerminal(head.state))
    // An entry that made the task busy may have been dismissed between the two reads.
    const hasInbox = inbox.length > 0 || (mail ?? 0) > 0
    const resumed = resumes ? resumeRun(engine, run, { records, hasInbox }) : 'nothing'
    if (inbox.length > 0) engine.replicas.take(run, inbox)
    return { found: run, resumed }
  }

  /** Lets turns end until the deadline, then stops those that are left and stores that: the next process resumes them. */
  async close(deadlineMs: number, reason: A2AError): Promise<void> {
    const { clock } = this.#engine
    if (deadlineMs > 0) {
      const deadline = new AbortController()
      const allOver = this.#waitForTurns(deadline.signal).catch(() => {}) // at the deadline
      await within(clock, deadlineMs, [allOver])
      deadline.abort()
    }
    // Turns that wait for a slot first: a slot that a running turn gives back must not begin another.
    const left = [...this.#runs.values()].sort((a, b) => Number(b.queued) - Number(a.queued))
    for (const run of left) run.stop(reason)
    const logs = left.map(({ log }) => log).filter((log) => log.exists)
    await Promise.allSettled(logs.map((log) => log.committed()))
  }

  /** Queued messages begin further turns, so one round of waiting is not enough. */
  async #waitForTurns(deadline: AbortSignal): Promise<void> {
    for (;;) {
      const runs = [...this.#runs.values()]
      // A turn that is held back is not started any more.
      const answers = runs.flatMap((run) => (run.held ? [] : (run.latest?.answer.wait() ?? [])))
      const cancels = runs.flatMap((run) => run.notifying ?? [])
      if (answers.length + cancels.length === 0) return
      await Promise.allSettled([...answers, ...cancels])
      // A run leaves after its answer; one that has asked for credentials stays, answered, for as long as it works.
      await wait(this.#engine.clock, lookAgainMs, deadline)
    }
  }
}

const lookAgainMs = 10

/** Whether a task with work left belongs to another replica, or is about to be claimed. */
export function isRemote(
  { feed }: Pick<Store, 'feed'>,
  { head, replica = 0 }: StoredTask,
): boolean {
  if (!feed || (!head.busy && replica === 0)) return false
  return replica === 0 || replica !== feed.replica
}

function visible(run: TaskRun | undefined, scope: Scope | undefined): TaskRun | undefined {
  return run?.log.exists && (!scope || isSameScope(run.log.scope, scope)) ? run : undefined
}

/**
 * The tasks of one caller as a TaskStore: a face of the engine. An update becomes events in the task's log, so that
 * streams and webhooks get it; what the given task does not mention stays as it is.
 */
export function createTaskFace(engine: Engine, scope: Scope): FullTaskStore {
  const { store, clock, tasks } = engine
  const stored = toTaskStore(store, scope, clock)

  /** The task with the changes that make it the given one; undefined where there is none. */
  async function replace(given: Task): Promise<Task | undefined> {
    const wanted = parseTask(copyOf(given))
    return tasks.locate(
      { id: wanted.id, scope, purpose: 'end' },
      {
        here: (run) => amendHere(run, wanted),
        remote: (found) => amendRemote(found, wanted),
      },
    )
  }

  async function amendHere(run: TaskRun, given: Task): Promise<Task> {
    const { task: before } = await run.log.snapshot()
    const events = changes(before, given, engine.timestamp())
    if (events.length > 0) {
      mustBeOpen(before)
      run.amend(events)
      await run.log.committed()
    }
    return (await run.log.snapshot()).task
  }

  async function amendRemote(found: StoredTask, given: Task): Promise<Task | undefined> {
    const before = await currentTask(store, found)
    const events = changes(before, given, engine.timestamp())
    if (events.length === 0) return before
    mustBeOpen(before)
    return engine.replicas.forwardChanges(found, events)
  }

  return {
    ...stored,
    async get(id) {
      try {
        return copyOf(await engine.get(id, scope))
      } catch (error) {
        if (hasCode(error, 'taskNotFound')) return undefined
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
