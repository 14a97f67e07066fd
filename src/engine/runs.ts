import { isTerminal } from '../protocol/task.ts'
import { newId } from '../shared/ids.ts'
import { Registry } from '../shared/registry.ts'
import { isSameScope } from '../store/scope.ts'
import type { LogRecord, Scope, Store } from '../store/store.ts'
import { noMemory } from './letter.ts'
import { loadMemory } from './load.ts'
import { type LogHost, TaskLog } from './log.ts'
import type { Taken, TakenUp } from './recover.ts'
import { Run } from './run.ts'
import type { RunDeps } from './run-deps.ts'

/** The live tasks of an engine: those whose turn runs or waits, and those just being looked at. */
export interface Runs {
  /** The live run of a task in scope, if there is one. */
  live(id: string, scope: Scope): Run | undefined
  /**
   * The run of a task in scope, loaded from the store if need be; undefined if there is no such task. One with work left
   * goes on, unless it is found to be ended. It stays until the caller calls `release`, so that two callers never hold
   * two runs of one task.
   */
  find(id: string, scope: Scope, purpose?: 'end'): Promise<Run | undefined>
  /** The run of a task that does not exist yet. It is found from when the task does. */
  create(contextId: string, scope: Scope): Run
  /** Takes up a task with work left, unless it is live; what became of it. */
  takeUp(id: string): Promise<Taken>
  /** Ends what `find` began. */
  release(run: Run): void
  /** Forgets a run that has nothing left to do and that nobody holds. */
  settle(run: Run): void
  /** How many tasks are live; a run whose task does not exist yet is none. */
  count(): number
  /** By the id that the task has or will have. */
  readonly all: Pick<Registry<Run>, 'get' | 'has' | 'values'>
}

/** What keeping live tasks needs of the engine. */
export interface RunsOptions {
  readonly store: Store
  readonly host: LogHost
  deps(): RunDeps
  /** Whether nothing more may begin. */
  isClosed(): boolean
  /** Called with a task that has work left and is not live: it goes on from its log. */
  goOn(run: Run, records: readonly LogRecord[]): TakenUp
}

/** Keeps the live tasks of an engine. */
export function createRuns({ store, host, deps, isClosed, goOn }: RunsOptions): Runs {
  const all = new Registry<Run>()
  const loading = new Map<string, Promise<Loaded | undefined>>()
  const holders = new Map<Run, number>()

  async function find(id: string, scope: Scope, purpose?: 'end'): Promise<Run | undefined> {
    for (let underway = loading.get(id); underway; underway = loading.get(id)) await underway
    const mayGoOn = purpose !== 'end'
    const run = working(id) ?? (await loadOnce({ id, scope, mayGoOn }))?.run
    if (!run || !isVisible(run, scope)) return undefined
    holders.set(run, (holders.get(run) ?? 0) + 1)
    return run
  }

  /** The run of a task, unless its log is broken: what it says is not what is stored, and it can write nothing more. */
  function working(id: string): Run | undefined {
    const run = all.get(id)
    return run?.log.broken ? undefined : run
  }

  function loadOnce(wanted: Wanted): Promise<Loaded | undefined> {
    const { id } = wanted
    const load = loadRun(wanted).finally(() => loading.delete(id))
    loading.set(id, load)
    return load
  }

  function settle(run: Run): void {
    // One that is still being written is settled again when that is done: a second run of it would write in between.
    const isOver = !run.busy && !holders.has(run) && run.log.quiet
    if (isOver && all.get(run.log.id) === run) all.delete(run.log.id)
  }

  async function loadRun({ id, scope, mayGoOn }: Wanted): Promise<Loaded | undefined> {
    const stored = await store.get(id, scope)
    if (!stored) return undefined
    const { head, version } = stored
    const { task, memory, records } = await loadMemory(store, stored)
    const run = new Run(new TaskLog(host, head, { task, version }), deps(), memory)
    all.set(head.id, run)
    run.log.busy = head.busy
    const goesOn = head.busy && !isClosed() && (mayGoOn || isTerminal(head.state))
    return { run, taken: goesOn ? goOn(run, records) : 'nothing' }
  }

  return {
    live(id, scope) {
      const run = working(id)
      return run && isVisible(run, scope) ? run : undefined
    },
    find,
    create(contextId, scope) {
      const log = new TaskLog(host, { id: newId(), contextId, scope })
      const run = new Run(log, deps(), noMemory)
      all.set(log.id, run)
      return run
    },
    async takeUp(id) {
      for (let underway = loading.get(id); underway; underway = loading.get(id)) await underway
      if (working(id)) return 'live'
      const loaded = await loadOnce({ id, mayGoOn: true })
      if (loaded) settle(loaded.run)
      return loaded?.taken ?? 'nothing'
    },
    release(run) {
      const left = (holders.get(run) ?? 1) - 1
      if (left > 0) holders.set(run, left)
      else holders.delete(run)
      settle(run)
    },
    settle,
    count() {
      let count = 0
      for (const { log } of all.values()) if (log.exists) count++
      return count
    },
    all,
  }
}

interface Wanted {
  readonly id: string
  readonly scope?: Scope
  readonly mayGoOn: boolean
}

interface Loaded {
  readonly run: Run
  readonly taken: Taken
}

function isVisible({ log }: Run, scope: Scope): boolean {
  return log.exists && isSameScope(log.scope, scope)
}
