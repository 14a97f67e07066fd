import { readUnfinished } from '../../src/engine/recover.ts'
import { mustWait, Suspects } from '../../src/engine/suspects.ts'
import type { Deaths, LogRecord, RecordDraft } from '../../src/store/store.ts'
import { createFakeClock, type FakeClock } from '../../src/testing/index.ts'

/** A task of a machine: its log, which outlives every process, and what its agent does each time it runs. */
export interface SimulatedTask {
  readonly id: string
  readonly log: LogRecord[]
  run(process: SimulatedProcess): void
}

/** One life of the machine's process, with a clock that a test moves. */
export interface SimulatedProcess {
  readonly clock: FakeClock
  /** Who runs in it, in the order in which they started. */
  readonly started: readonly string[]
  /** Stores a finished step of a task. */
  step(id: string): void
  /** Ends a task's turn. */
  end(id: string): void
  /** Ends the process; nothing of it happens any more. */
  die(): void
  /** Ends the process as planned. */
  stop(): void
}

/** A machine whose process dies and is started again, over logs that stay. */
export interface Machine {
  readonly tasks: readonly SimulatedTask[]
  readonly failed: readonly string[]
  readonly ended: readonly string[]
  /** A task that is sent; it runs at once if the process lives. */
  send(id: string, run: SimulatedTask['run']): void
  /** Starts a process, which takes up what the last one left. */
  start(): SimulatedProcess
  /** Lets processes live and die until nobody is left that kills them for `quietMs`; how many died. */
  settle(quietMs: number, maxDeaths: number): number
  /** What is stored of the deaths that a task has seen. */
  deathsOf(id: string): Deaths | undefined
}

/** Makes a machine without tasks. */
export function createMachine(): Machine {
  const tasks: SimulatedTask[] = []
  const failed: string[] = []
  const ended: string[] = []
  let current:
    | (SimulatedProcess & { readonly alive: boolean; take(task: SimulatedTask): void })
    | undefined

  function start(): SimulatedProcess {
    const clock = createFakeClock()
    const suspects = new Suspects(clock)
    const process = createProcess({ clock, suspects, tasks, failed, ended })
    current = process
    suspects.gather()
    for (const task of tasks) if (isLeft(task.id)) process.takeUp(task)
    suspects.ready()
    return process
  }

  function isLeft(id: string): boolean {
    return !failed.includes(id) && !ended.includes(id)
  }

  return {
    tasks,
    failed,
    ended,
    start,
    send(id, run) {
      const task: SimulatedTask = { id, run, log: [] }
      append(task, { kind: 'message', turn: 1, message: letter, request: { userId: '' } })
      tasks.push(task)
      if (current?.alive) current.take(task)
    },
    settle(quietMs, maxDeaths) {
      let deaths = 0
      for (; deaths < maxDeaths; deaths++) {
        if (!current?.alive) start()
        current?.clock.advance(quietMs)
        if (current?.alive) return deaths
      }
      return deaths
    },
    deathsOf: (id) => {
      const starts = tasks.find((task) => task.id === id)?.log.filter((r) => r.kind === 'start')
      return starts?.at(-1)?.deaths
    },
  }
}

const letter = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] } as const

function append(task: SimulatedTask, draft: RecordDraft): void {
  task.log.push({ ...draft, seq: task.log.length + 1 })
}

interface ProcessOptions {
  readonly clock: FakeClock
  readonly suspects: Suspects
  readonly tasks: readonly SimulatedTask[]
  readonly failed: string[]
  readonly ended: string[]
}

function createProcess({ clock, suspects, tasks, failed, ended }: ProcessOptions) {
  const started: string[] = []
  let alive = true

  function begin(task: SimulatedTask, attempt: number, deaths?: Deaths): void {
    append(task, { kind: 'start', turn: 1, attempt, ...(deaths?.total && { deaths }) })
    started.push(task.id)
    task.run(process)
  }

  function find(id: string): SimulatedTask {
    const task = tasks.find((one) => one.id === id)
    if (!task) throw new Error(`There is no task ${id}`)
    return task
  }

  const process = {
    clock,
    started,
    get alive() {
      return alive
    },
    take: (task: SimulatedTask) => begin(task, 1),
    /** As `goOn` does. */
    takeUp(task: SimulatedTask) {
      const { deaths, died, messages, began } = readUnfinished(task.log)
      const attempt = messages[0]?.attempt ?? 1
      if (!began || !mustWait(deaths)) {
        clock.after(0, () => alive && begin(task, attempt, deaths))
        return
      }
      suspects.add({
        id: task.id,
        deaths,
        died,
        start(known) {
          if (!alive || ended.includes(task.id)) return false
          begin(task, attempt, known)
          return true
        },
        survivedTrial() {
          if (alive) append(task, { kind: 'alive', turn: 1 })
          return true
        },
        giveUp: () => failed.push(task.id),
      })
    },
    step(id: string) {
      const task = find(id)
      append(task, { kind: 'step', turn: 1, name: `step ${task.log.length}`, result: 1 })
      suspects.progressed(id, false)
    },
    end(id: string) {
      if (!alive) return
      ended.push(id)
      suspects.progressed(id, true)
    },
    die() {
      alive = false
      suspects.close()
    },
    stop() {
      for (const id of started) if (!ended.includes(id)) append(find(id), { kind: 'stop', turn: 1 })
      process.die()
    },
  }
  return process
}
