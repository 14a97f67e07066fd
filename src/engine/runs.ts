import type { A2AError } from '../protocol/errors.ts'
import { isTerminal } from '../protocol/task.ts'
import { within } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import { Registry } from '../shared/registry.ts'
import { wait } from '../shared/retry.ts'
import type { InboxItem } from '../store/feed.ts'
import { isSameScope } from '../store/scope.ts'
import type { LogRecord, Scope, Store, StoredTask } from '../store/store.ts'
import { loadTask } from './load.ts'
import { TaskLog } from './log.ts'
import type { LogHost } from './log-host.ts'
import type { Taken, TakenUp } from './recover.ts'
import { TaskRun } from './run.ts'
import type { RunHost } from './run-host.ts'

/** The live tasks of an engine: those whose turn runs or waits, and those just being looked at. */
export interface Runs {
  /** The live run of a task in scope, if there is one. */
  live(id: string, scope: Scope): TaskRun | undefined
  /**
   * The run of a task in scope, loaded from the store if need be; undefined if there is no such task. One with work left
   * goes on, unless it is found to be ended. It stays, with its task in memory, until the caller calls `release`, so that
   * two callers never hold two runs of one task. A task that another replica runs is given as it is stored.
   */
  find(id: string, scope?: Scope, purpose?: 'end'): Promise<TaskRun | StoredTask | undefined>
  /** The run of a task that does not exist yet. It is found from when the task does. */
  create(contextId: string, scope: Scope, principal: string): TaskRun
  /** Takes up a task with work left, unless it is live; what became of it. */
  takeUp(id: string): Promise<Taken>
  /** Ends what `find` began. */
  release(run: TaskRun): void
  /** Forgets the run of a log that has nothing left to do and that nobody holds; of one that waits, what is stored. */
  settle(log: TaskLog): void
  /** How many tasks are live; a run whose task does not exist yet is none. */
  count(): number
  /** By the id that the task has or will have. */
  readonly all: Pick<Registry<TaskRun>, 'get' | 'has' | 'values'>
}

/** What keeping live tasks needs of the engine. */
interface RunsOptions {
  readonly store: Store
  readonly logs: LogHost
  host(): RunHost
  /** Whether nothing more may begin. */
  isClosed(): boolean
  /** Called with a task that is live no more. */
  forgot(id: string): void
  /** Called with a task that has work left and is not live: it goes on from its log. */
  goOn(run: TaskRun, records: readonly LogRecord[]): TakenUp
  /** Called with what waited in the inbox of a task that has just become live. */
  received(run: TaskRun, mail: readonly InboxItem[]): void
}

/** Keeps the live tasks of an engine. */
export function createRuns(options: RunsOptions): Runs {
  const { logs, host } = options
  const all = new Registry<TaskRun>()
  const loading = new Map<string, Promise<Loaded | undefined>>()
  const holders = new Holders()

  const find: Runs['find'] = async (id, scope, purpose) => {
    for (let underway = loading.get(id); underway; underway = loading.get(id)) await underway
    const mayGoOn = purpose !== 'end'
    const found = working(id) ?? (await loadOnce({ id, scope, mayGoOn }))?.found
    if (found && !(found instanceof TaskRun)) return found
    const run = visible(found, scope)
    if (!run) return undefined
    holders.add(run)
    const reading = run.mailbox.reload()
    // What cannot be read is held by nobody.
    if (reading) await reading.finally(() => run.log.unloaded && release(run))
    return run
  }

  function release(run: TaskRun): void {
    holders.remove(run)
    settle(run.log)
  }

  /** The run of a task, unless its log is broken: what it says is not what is stored, and it can write nothing more. */
  function working(id: string): TaskRun | undefined {
    const run = all.get(id)
    return run?.log.broken ? undefined : run
  }

  function loadOnce(wanted: Wanted): Promise<Loaded | undefined> {
    const { id } = wanted
    const load = loadRun(options, all, wanted).finally(() => loading.delete(id))
    loading.set(id, load)
    return load
  }

  function settle(log: TaskLog): void {
    const run = all.get(log.id)
    if (run?.log !== log) return
    // One that is still being written is settled again when that is done: a second run of it would write in between.
    if (holders.has(run) || !log.quiet) return
    if (run.busy) run.mailbox.unload()
    else {
      forget(all, log)
      options.forgot(log.id)
    }
  }

  return {
    live: (id, scope) => visible(working(id), scope),
    find,
    create(contextId, scope, principal) {
      const log = new TaskLog(logs, { id: newId(), contextId, scope, principal })
      const run = new TaskRun(log, host())
      all.set(log.id, run)
      return run
    },
    async takeUp(id) {
      for (let underway = loading.get(id); underway; underway = loading.get(id)) await underway
      if (working(id)) return 'live'
      const loaded = await loadOnce({ id, mayGoOn: true })
      if (loaded?.found instanceof TaskRun) settle(loaded.found.log)
      return loaded?.taken ?? 'nothing'
    },
    release,
    settle,
    count: () => countTasks(all.values()),
    all,
  }
}

/** Makes a stored task live, and lets it go on where there is work left, unless another replica runs it. */
async function loadRun(
  { store, logs, host, isClosed, goOn, received }: RunsOptions,
  all: Registry<TaskRun>,
  { id, scope, mayGoOn }: Wanted,
): Promise<Loaded | undefined> {
  const { feed } = store
  const number = feed?.replica
  const stored = await store.get(id, scope)
  if (!stored) return undefined
  const { head, replica, mail: waiting } = stored
  if (isElsewhere(store, stored)) return { found: stored, taken: 'nothing' }
  const mail = feed && replica !== undefined && waiting !== 0 ? await feed.inbox(id) : []
  const { log, memory, records } = await loadTask(store, stored)
  // What was read under a number that this process has lost is somebody else's to go on with.
  if (number !== feed?.replica) return { found: stored, taken: 'nothing' }
  const run = new TaskRun(new TaskLog(logs, head, log), host(), memory)
  all.set(head.id, run)
  run.log.busy = head.busy
  if (isClosed()) return { found: run, taken: 'nothing' }
  // Whose cancel waits does not run first.
  const mayRun = mayGoOn && !mail.some(({ entry }) => entry.kind === 'cancel')
  const goesOn = head.busy && (mayRun || isTerminal(head.state))
  const taken = goesOn ? goOn(run, records) : 'nothing'
  if (mail.length > 0) received(run, mail)
  return { found: run, taken }
}

/** Whether a task with work left is another replica's, or about to be somebody's. */
export function isElsewhere(
  { feed }: Pick<Store, 'feed'>,
  { head, replica = 0 }: StoredTask,
): boolean {
  if (!feed || (!head.busy && replica === 0)) return false
  return replica === 0 || replica !== feed.replica
}

function forget(all: Registry<TaskRun>, log: TaskLog): void {
  all.delete(log.id)
  log.release()
}

function countTasks(runs: Iterable<TaskRun>): number {
  let count = 0
  for (const { log } of runs) if (log.exists) count++
  return count
}

/** How live tasks are ended with the process. */
interface CloseOptions {
  /** How long turns may go on. */
  readonly deadlineMs: number
  readonly clock: Clock
  /** What those hear whose turn is interrupted. */
  readonly reason: A2AError
}

/** Lets turns end until the deadline, then stops those that are left, and has that stored: the next process takes them up. */
export async function closeRuns(
  runs: Pick<Runs, 'all'>,
  { deadlineMs, clock, reason }: CloseOptions,
): Promise<void> {
  const active = (): readonly TaskRun[] => [...runs.all.values()]
  if (deadlineMs > 0) {
    const deadline = new AbortController()
    const allOver = waitForTurns(active, clock, deadline.signal).catch(() => {}) // at the deadline
    await within(clock, deadlineMs, [allOver])
    deadline.abort()
  }
  // Those who wait for a slot first: one that a running turn gives back must not begin another.
  const left = active().toSorted((a, b) => Number(b.mailbox.queued) - Number(a.mailbox.queued))
  for (const run of left) run.stop(reason)
  const logs = left.map(({ log }) => log).filter((log) => log.exists)
  await Promise.allSettled(logs.map((log) => log.committed()))
}

const lookAgainMs = 10

/** Messages in mailboxes begin further turns, so one round of waiting is not enough. */
async function waitForTurns(
  active: () => readonly TaskRun[],
  clock: Clock,
  deadline: AbortSignal,
): Promise<void> {
  for (;;) {
    const runs = active()
    // One that is held back is not started any more.
    const answers = runs.flatMap(({ mailbox }) =>
      mailbox.held ? [] : (mailbox.latest?.answer.wait() ?? []),
    )
    const cancels = runs.flatMap((run) => run.telling ?? [])
    if (answers.length + cancels.length === 0) return
    await Promise.allSettled([...answers, ...cancels])
    // A run leaves after its answer; one that has asked for credentials stays, answered, for as long as it works.
    await wait(clock, lookAgainMs, deadline)
  }
}

/** Who looks at a run keeps it, and what it has in memory, from being forgotten. */
class Holders {
  readonly #counts = new Map<TaskRun, number>()

  has(run: TaskRun): boolean {
    return this.#counts.has(run)
  }

  add(run: TaskRun): void {
    this.#counts.set(run, (this.#counts.get(run) ?? 0) + 1)
  }

  remove(run: TaskRun): void {
    const left = (this.#counts.get(run) ?? 1) - 1
    if (left > 0) this.#counts.set(run, left)
    else this.#counts.delete(run)
  }
}

interface Wanted {
  readonly id: string
  readonly scope?: Scope | undefined
  readonly mayGoOn: boolean
}

interface Loaded {
  readonly found: TaskRun | StoredTask
  readonly taken: Taken
}

function visible(run: TaskRun | undefined, scope: Scope | undefined): TaskRun | undefined {
  return run?.log.exists && (!scope || isSameScope(run.log.scope, scope)) ? run : undefined
}
