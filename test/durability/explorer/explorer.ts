import type { Agent } from '../../../src/agents/agent.ts'
import { type Usage, usageOf } from '../../../src/protocol/extensions.ts'
import type { Dispatch } from '../../../src/protocol/operations.ts'
import { answerParts, createFold, textOf } from '../../../src/protocol/task.ts'
import type { Artifact, JsonObject, Message, Part, Task } from '../../../src/protocol/types.ts'
import { createServer, type ServerOptions } from '../../../src/server/index.ts'
import { createDeferred } from '../../../src/shared/async.ts'
import { newId } from '../../../src/shared/ids.ts'
import type { Store, Write } from '../../../src/store/store.ts'
import { type Fault, faulty } from '../../fixtures/faulty-store.ts'
import { patient } from '../../support/patient.ts'
import { createLedger, type Ledger, type Notes } from './ledger.ts'

/**
 * The crash-point explorer. A scenario is run once without faults, then once per commit with the process dying right
 * before it and once right after it. Whatever the user is told and every member is asked must be as in the first run, but
 * for the step that the crash interrupted.
 */
export interface Scenario {
  readonly name: string
  /** What outlives the process: remote agents, model services, receivers. */
  world?(ledger: Ledger): Promise<World>
  /** The agents of one process; the first is talked to. */
  agents(process: Process, world: World): readonly Agent[]
  readonly options?: () => Partial<ServerOptions>
  /** Where the task's events are delivered to. */
  webhook?(world: World): string
  /** What the user does. */
  talk(user: User): Promise<unknown>
  /** Members that are asked by several at once, in whichever order. */
  readonly unordered?: readonly string[]
  /** What is wrong with a run whatever happened in it; `crashes` processes died. */
  wrongs?(outcome: Outcome, crashes: number): readonly string[]
}

/** What outlives the process, by name. */
export interface World {
  readonly urls?: Readonly<Record<string, string>>
  /** Holds what a scenario has to say of its end against the first run's. */
  readonly facts?: () => Promise<unknown>
  close?(): Promise<void>
}

/** One process: what its members do counts only while it lives. */
export interface Process extends Notes {
  readonly number: number
  readonly alive: boolean
  /** Stops it in good order, as a deploy does; the next one goes on. */
  stop(): void
}

/** The user, who repeats what got no answer with the same key. */
export interface User {
  /** Sends a message to the task, or begins it, and waits until nothing is left to do. */
  say(content: string | readonly Part[]): Promise<Task>
  /** Sends a message, without waiting for more than its acknowledgement. */
  send(content: string | readonly Part[]): Promise<void>
  /** Waits until nothing is left to do. */
  settled(): Promise<Task>
  cancel(): Promise<Task>
  /** Waits until the task's status says this. */
  sees(words: string): Promise<void>
  /** Waits until a member was asked something. */
  knowsAsked(member: string): Promise<void>
}

/** What became of a run. */
export interface Outcome {
  /** How many commits each process began. */
  readonly commits: readonly number[]
  readonly state: string
  readonly answer: string
  readonly words: string
  /** What the user was shown at each stop. */
  readonly stops: readonly string[]
  /** The user's messages in the task's history. */
  readonly history: readonly string[]
  readonly asked: ReadonlyMap<string, readonly string[]>
  readonly facts: unknown
  /** What the task says that it has used. */
  readonly usage: Usage | undefined
  /** What the trace says, whenever and however often: a step that a crash interrupted is told again. */
  readonly trace: ReadonlySet<string>
  /** How many calls of members have failed, as the log has it. */
  readonly failures: number
  readonly faults: readonly string[]
}

/** Where a process ends: it dies around a commit, or is told to stop when it begins one. */
export interface CrashPoint {
  readonly commit: number
  readonly kind: Extract<Fault, 'dieBefore' | 'dieAfter'> | 'stop'
}

/** What an exploration found: one line per difference from the run without faults. */
export interface Findings {
  readonly points: number
  readonly wrong: readonly string[]
}

/** What processes keep their tasks in, one after the other: one store that they all have, or one each on one database. */
export interface Disk {
  /** Shows what is stored, whoever lives. */
  readonly store: Store
  /** The store of the next process, and how to end what it holds as the system does when a process dies. */
  next(): Promise<{ readonly store: Store; die(): void }>
}

type OpenDisk = () => Promise<Store | Disk>

/** Dies once around every commit, or around each `every`th. */
export async function explore(scenario: Scenario, open: OpenDisk, every = 1): Promise<Findings> {
  const plain = await play(scenario, await open())
  const wrong = faultsOf(scenario, plain, 0).map((one) => `${scenario.name}, no crash: ${one}`)
  const points = pointsOf(plain.commits[0] ?? 0, every)
  for (const point of points)
    wrong.push(...(await hold(scenario, await open(), plain, [point])).wrong)
  return { points: points.length, wrong }
}

/** Dies twice: around each `every`th commit, and again around each `every`th of the process that took up what was left. */
export async function exploreTwice(
  scenario: Scenario,
  open: OpenDisk,
  every = 1,
): Promise<Findings> {
  const plain = await play(scenario, await open())
  const wrong: string[] = []
  let points = 0
  for (const first of pointsOf(plain.commits[0] ?? 0, every)) {
    const { commits = [] } = (await hold(scenario, await open(), plain, [first])).outcome
    for (const second of pointsOf(commits[1] ?? 0, every)) {
      wrong.push(...(await hold(scenario, await open(), plain, [first, second])).wrong)
      points++
    }
  }
  return { points, wrong }
}

function pointsOf(commits: number, every: number): readonly CrashPoint[] {
  const points: CrashPoint[] = []
  for (let commit = 1; commit <= commits; commit += every)
    points.push({ commit, kind: 'dieBefore' }, { commit, kind: 'dieAfter' })
  return points
}

/** Holds a run with crashes against the one without. */
async function hold(
  scenario: Scenario,
  store: Store | Disk,
  plain: Outcome,
  crashes: readonly CrashPoint[],
): Promise<{ readonly outcome: Outcome; readonly wrong: readonly string[] }> {
  const outcome = await play(scenario, store, crashes)
  const where = crashes.map(({ kind, commit }) => `${kind} commit ${commit}`).join(', then ')
  const { length } = crashes
  const found = [
    ...faultsOf(scenario, outcome, length),
    ...differences(plain, outcome, { ...scenario, crashes: length }),
  ]
  return { outcome, wrong: found.map((one) => `${scenario.name}, ${where}: ${one}`) }
}

function faultsOf(scenario: Scenario, outcome: Outcome, crashes: number): readonly string[] {
  return [...outcome.faults, ...(scenario.wrongs?.(outcome, crashes) ?? [])]
}

/** Runs a scenario on a store; the first process dies at the first crash point, the second at the second, and so on. */
export async function play(
  scenario: Scenario,
  on: Store | Disk,
  crashes: readonly CrashPoint[] = [],
): Promise<Outcome> {
  const disk = 'next' in on ? on : toDisk(on)
  const { store } = disk
  const ledger = createLedger()
  const world = (await scenario.world?.(ledger)) ?? {}
  const machine = createMachine({ scenario, disk, ledger, world, crashes })
  await machine.start()
  const user = createUser(machine, store, scenario.webhook?.(world))
  try {
    await scenario.talk(user)
    const task = await user.settled()
    const records = await store.records(task.id, 0)
    return {
      commits: machine.commits(),
      state: task.status.state,
      answer: textOf(answerParts(task)),
      words: textOf(task.status.message?.parts ?? []),
      stops: user.stops,
      history: (task.history ?? []).flatMap((m) =>
        m.role === 'ROLE_USER' ? [textOf(m.parts)] : [],
      ),
      asked: ledger.asked,
      // What is still to be delivered is delivered by the next process where this one dies.
      facts: await machine.survive(async () => world.facts?.()),
      trace: new Set(
        records.flatMap((one) => (one.kind === 'trace' ? [tellEntry(one.entry)] : [])),
      ),
      failures: records.filter((one) => one.kind === 'trace' && one.entry.type === 'failure')
        .length,
      usage: usageIn(records),
      faults: [...checkLog(task, records), ...ledger.again],
    }
  } finally {
    await machine.stop()
    await world.close?.()
    await store.close()
  }
}

interface Machine {
  /** Does a piece of work with the process that lives; one that dies under it is started again, and so is the work. */
  survive<T>(work: (dispatch: Dispatch) => Promise<T>): Promise<T>
  start(): Promise<void>
  commits(): readonly number[]
  stop(): Promise<void>
  readonly ledger: Ledger
}

interface MachineOptions {
  readonly scenario: Scenario
  readonly disk: Disk
  readonly ledger: Ledger
  readonly world: World
  readonly crashes: readonly CrashPoint[]
}

function toDisk(store: Store): Disk {
  return { store, next: async () => ({ store, die: () => {} }) }
}

function createMachine({ scenario, disk, ledger, world, crashes }: MachineOptions): Machine {
  let number = 0
  let died = createDeferred<'died'>()
  const commits: number[] = []
  /** Whether the process that lives was told to stop: it turns work away meanwhile. */
  let stopping = false
  let server: Awaited<ReturnType<typeof createServer>> | undefined

  async function start(): Promise<void> {
    const own = createDeferred<'died'>()
    died = own
    const { store, die } = await disk.next()
    const crash = crashes[number++]
    const life = commits.push(0) - 1
    let isDying = false
    stopping = false
    const underWay = new Set<readonly Write[]>()
    // The next process may begin only when every commit of this one is stored: those of webhooks run beside those of tasks.
    const endIfStored = (): void => {
      if (isDying && underWay.size === 0) own.resolve('died')
    }
    const inner: Store = {
      ...store,
      async commit(writes) {
        underWay.add(writes)
        try {
          const results = await store.commit(writes)
          ledger.store(writes)
          return results
        } finally {
          underWay.delete(writes)
          endIfStored()
        }
      },
    }
    void own.promise.then(die)
    const mortal = faulty(inner, {
      fault(k, writes) {
        commits[life] = k
        if (k !== crash?.commit) return undefined
        if (crash.kind === 'stop') {
          process.stop()
          return undefined
        }
        isDying = true
        if (crash.kind === 'dieAfter') underWay.add(writes)
        endIfStored()
        return crash.kind
      },
    })
    const process: Process = {
      number,
      get alive() {
        return !mortal.dead
      },
      note(...call) {
        if (!mortal.dead) ledger.note(...call)
      },
      stop() {
        if (died !== own) return
        stopping = true
        void server?.close().then(() => own.resolve('died'))
      },
    }
    const agents = scenario.agents(process, world)
    server = await createServer({
      agents,
      store: mortal,
      logger: false,
      limits: patient,
      timeouts: { shutdownMs: 0 },
      ...scenario.options?.(),
    })
    await server.recover()
  }

  return {
    ledger,
    start,
    commits: () => commits,
    async survive(work) {
      for (;;) {
        const { promise } = died
        const current = server
        if (!current) throw new Error('The machine is not started')
        const done = work(current.dispatch()).then(
          (value) => ({ value }),
          (error: unknown) => {
            if (!stopping) throw error
            return promise
          },
        )
        const result = await Promise.race([promise, done])
        if (result !== 'died') return result.value
        await start()
      }
    },
    async stop() {
      // One that dies as it stops waits for its store for ever.
      await Promise.race([died.promise, server?.close()])
    },
  }
}

function createUser(
  machine: Machine,
  store: Store,
  webhook: string | undefined,
): User & { readonly stops: readonly string[] } {
  const stops: string[] = []
  // One store may see several runs.
  const name = newId()
  let taskId: string | undefined
  let count = 0

  async function settled(): Promise<Task> {
    const id = taskId ?? ''
    return machine.survive(async (dispatch) => {
      while ((await store.get(id))?.head.busy)
        await new Promise((resolve) => setTimeout(resolve, 1))
      return dispatch('GetTask', { id }, {})
    })
  }

  async function send(content: string | readonly Part[]): Promise<void> {
    const parts = typeof content === 'string' ? [{ text: content }] : content
    const idempotencyKey = `${name}-${++count}`
    const message: Message = {
      messageId: `message-${count}`,
      role: 'ROLE_USER',
      parts,
      ...(taskId !== undefined && { taskId }),
    }
    const hook = webhook !== undefined && { taskPushNotificationConfig: { url: webhook } }
    const configuration = { returnImmediately: true, ...hook }
    const sent = await machine.survive((dispatch) =>
      dispatch('SendMessage', { message, configuration }, { idempotencyKey }),
    )
    if ('task' in sent) taskId = sent.task.id
  }

  return {
    stops,
    send,
    settled,
    async say(content) {
      await send(content)
      const task = await settled()
      stops.push(`${task.status.state} ${textOf(task.status.message?.parts ?? [])}`)
      return task
    },
    cancel: () => machine.survive((dispatch) => dispatch('CancelTask', { id: taskId ?? '' }, {})),
    sees: (words) =>
      machine.survive(async (dispatch) => {
        const said = async () =>
          textOf((await dispatch('GetTask', { id: taskId ?? '' }, {})).status.message?.parts ?? [])
        while (!(await said()).includes(words))
          await new Promise((resolve) => setTimeout(resolve, 1))
      }),
    knowsAsked: (member) =>
      machine.survive(async () => {
        while (!machine.ledger.asked.has(member))
          await new Promise((resolve) => setTimeout(resolve, 1))
      }),
  }
}

function tellEntry({ durationMs: _ms, ...entry }: JsonObject): string {
  return JSON.stringify(entry)
}

/** What the last event that tells of it says was used. */
function usageIn(records: Awaited<ReturnType<Store['records']>>): Usage | undefined {
  const told = records.flatMap((record) => {
    if (record.kind !== 'event') return []
    const { event } = record
    if ('statusUpdate' in event) return usageOf(event.statusUpdate.metadata) ?? []
    return ('artifactUpdate' in event && usageOf(event.artifactUpdate.artifact.metadata)) || []
  })
  return told.at(-1)
}

/** What a user or a member would notice. */
function differences(
  plain: Outcome,
  crashed: Outcome,
  { crashes, unordered = [] }: Pick<Scenario, 'unordered'> & { readonly crashes: number },
): readonly string[] {
  const wrong: string[] = []
  for (const name of ['state', 'answer', 'words', 'stops', 'history', 'facts'] as const) {
    const [before, after] = [JSON.stringify(plain[name]), JSON.stringify(crashed[name])]
    if (before !== after) wrong.push(`${name} is ${after}, not ${before}`)
  }
  const members = new Set([...plain.asked.keys(), ...crashed.asked.keys()])
  for (const member of members)
    wrong.push(
      ...repetitions(member, {
        plain: plain.asked.get(member) ?? [],
        crashed: crashed.asked.get(member) ?? [],
        crashes,
        ordered: !unordered.includes(member),
      }),
    )
  return wrong
}

interface Asked {
  readonly plain: readonly string[]
  readonly crashed: readonly string[]
  readonly crashes: number
  readonly ordered: boolean
}

/** Each input as often as without a crash, or once more for each crash that interrupted it; in the same order where there is one. */
function repetitions(
  member: string,
  { plain, crashed, crashes, ordered }: Asked,
): readonly string[] {
  const wrong: string[] = []
  for (const input of new Set([...plain, ...crashed])) {
    const times = (list: readonly string[]): number => list.filter((one) => one === input).length
    const [before, after] = [times(plain), times(crashed)]
    if (after < before || after > (before && before + crashes))
      wrong.push(`${member} was asked ${JSON.stringify(input)} ${after} times, not ${before}`)
  }
  const order = (list: readonly string[]): string => JSON.stringify([...new Set(list)])
  if (ordered && wrong.length === 0 && order(plain) !== order(crashed))
    wrong.push(`${member} was asked in the order ${order(crashed)}, not ${order(plain)}`)
  return wrong
}

/** The log has no gaps, and folds to the task. */
function checkLog(task: Task, records: Awaited<ReturnType<Store['records']>>): readonly string[] {
  const faults: string[] = []
  if (records.some(({ seq }, index) => seq !== index + 1)) faults.push('the log has gaps')
  const birth = records.find((record) => record.kind === 'event' && 'task' in record.event)
  if (birth?.kind !== 'event' || !('task' in birth.event))
    return [...faults, 'the log has no birth']
  const fold = createFold(birth.event.task)
  for (const record of records)
    if (record.seq > birth.seq) {
      if (record.kind === 'event') fold.apply(record.event)
      else if (record.kind === 'message') fold.hear(record.message)
    }
  fold.compact()
  const { status, artifacts = [] } = fold.snapshot()
  if (JSON.stringify(status) !== JSON.stringify(task.status)) faults.push('the log ends otherwise')
  if (wordsOf(artifacts) !== wordsOf(task.artifacts ?? []))
    faults.push('the log has another answer')
  return faults
}

/** The words of artifacts, however they are cut into parts: the end of a turn joins them. */
function wordsOf(artifacts: readonly Artifact[]): string {
  return JSON.stringify(artifacts.map(({ artifactId, parts }) => [artifactId, textOf(parts)]))
}
