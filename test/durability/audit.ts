import { createFold, isTerminal, textOf } from '../../src/protocol/task.ts'
import type { StreamResponse, Task } from '../../src/protocol/types.ts'
import type { LogRecord, Store, StoredTask } from '../../src/store/store.ts'
import { allTasks, auditRemote, nameOf, type RemoteEvidence } from './audit-remote.ts'
import { checkDialogue, isMisdirected } from './dialogues.ts'
import { type Effect, readEffects } from './effects.ts'
import type { Hooks } from './hooks.ts'
import { type Ledger, regression } from './ledger.ts'

/** What the store held at the end, counted. */
export interface Audit {
  readonly tasks: number
  readonly completed: number
  readonly canceled: number
  readonly rejected: number
  readonly inputRequired: number
  /** Tasks that kill the process, given up. */
  readonly givenUp: number
  /** Tasks of an agent that cannot resume, which ran when the process was killed. */
  readonly unresumable: number
  /** Tasks that failed without any fault of theirs. */
  readonly innocentFailed: number
  readonly records: number
  readonly events: number
  /** Attempts of turns beyond the first: what crashes interrupted and restarts took up. */
  readonly resumed: number
  /** Tasks that one replica had from another, each time counted. */
  readonly claims: number
  readonly stepsCommitted: number
  /** Steps that ran more than once, because a crash came before their end was stored. */
  readonly stepsInterrupted: number
  readonly webhookEvents: number
  readonly webhookRequests: number
  /** Tasks that members have in the remote server. */
  readonly remoteTasks: number
}

/** What the store is held against. */
export interface Evidence {
  readonly ledger: Ledger
  readonly hooks: Hooks
  /** The file in which the team's members wrote each time they ran. */
  readonly effects: string
  readonly agents: readonly string[]
  readonly remote: RemoteEvidence
}

interface Case extends Evidence {
  readonly stored: StoredTask
  readonly records: readonly LogRecord[]
  readonly events: readonly { readonly seq: number; readonly event: StreamResponse }[]
  /** The runs of each member for this task, in order. */
  readonly runs: ReadonlyMap<string, readonly Effect[]>
}

type Totals = { -readonly [K in keyof Audit]: number }

/** Holds every task of the store against what was acknowledged, seen, run and delivered outside. */
export async function audit(store: Store, evidence: Evidence): Promise<Audit> {
  const totals = createTotals()
  const runs = readRuns(evidence.effects)
  const cases = new Map<string, Case>()
  for (const agent of evidence.agents)
    for await (const stored of allTasks(store, agent)) {
      const { id } = stored.head
      const records = await store.records(id, 0)
      const events = records.flatMap((r) =>
        r.kind === 'event' ? [{ seq: r.seq, event: r.event }] : [],
      )
      const one: Case = { ...evidence, stored, records, events, runs: runs.get(id) ?? new Map() }
      cases.set(id, one)
      count(totals, one)
      for (const check of checks) for (const fault of check(one, totals)) tell(one, fault)
    }
  checkLedger(evidence.ledger, cases)
  const teams = [...cases.values()].map(({ stored }) => stored)
  const { tasks: remoteTasks, faults } = await auditRemote(teams, evidence.remote)
  for (const fault of faults) evidence.ledger.violation(fault)
  return { ...totals, remoteTasks }
}

function tell({ ledger, stored }: Case, fault: string): void {
  ledger.violation(`Task ${stored.head.id} (${nameOf(stored.task)}): ${fault}`)
}

/** The runs of each member of each task. */
function readRuns(effects: string): Map<string, Map<string, Effect[]>> {
  const runs = new Map<string, Map<string, Effect[]>>()
  for (const effect of readEffects(effects)) {
    const ofTask = runs.get(effect.id) ?? new Map<string, Effect[]>()
    ofTask.set(effect.member, [...(ofTask.get(effect.member) ?? []), effect])
    runs.set(effect.id, ofTask)
  }
  return runs
}

const checks: readonly ((one: Case, totals: Totals) => Iterable<string>)[] = [
  checkLog,
  checkEnd,
  checkSteps,
  checkConversation,
  checkWebhook,
]

/** The log has no gap, no repetition and nothing after the end, and the snapshot is what it folds to. */
function* checkLog({ stored, records, events }: Case): Iterable<string> {
  const gap = records.findIndex((record, index) => record.seq !== index + 1)
  if (gap >= 0) yield `record ${gap + 1} has the number ${records[gap]?.seq}`
  if (records.length !== stored.version)
    yield `${records.length} records at version ${stored.version}`
  const ends = events.filter(({ event }) => endsTask(event)).length
  if (ends > 1) yield `it ends ${ends} times`
  if (ends === 1 && !endsTask(events.at(-1)?.event)) yield 'events follow its end'
  const folded = foldAll(records)
  if (!folded) yield 'the log does not begin with the task'
  else if (folded.status.state !== stored.head.state)
    yield `the log says ${folded.status.state}, the columns ${stored.head.state}`
  else if (stored.taskVersion === stored.version && words(folded) !== words(stored.task))
    yield 'the snapshot is not what the log folds to'
}

/** It has come to an end that its sender would call right. */
function* checkEnd(one: Case, totals: Totals): Iterable<string> {
  const { ledger, stored, records } = one
  const { state, busy, scope } = stored.head
  if (busy) yield `it is ${state}, and there is work left`
  if (ledger.refused.has(nameOf(stored.task))) yield 'it was refused, and is there all the same'
  if (scope.agent === 'bomb') {
    if (state !== 'TASK_STATE_FAILED') yield `it kills the process and is ${state}`
    else totals.givenUp++
  } else if (state === 'TASK_STATE_FAILED') {
    if (scope.agent === 'brittle' && ranInDeath(records)) totals.unresumable++
    else {
      totals.innocentFailed++
      yield `it failed: ${textOf(stored.task.status.message?.parts ?? [])}`
    }
  }
}

/** Whether a kill, and no planned stop, came while a task ran. */
function ranInDeath(records: readonly LogRecord[]): boolean {
  const last = records.findLast(({ kind }) => kind === 'start' || kind === 'stop')
  return last?.kind === 'start'
}

/** The last run of a step is the stored one: once stored, it did not run again. */
function* checkSteps({ records, runs, stored }: Case, totals: Totals): Iterable<string> {
  const { scope, state } = stored.head
  const stages = new Map([...runs].map(([member, all]) => [member, stagesOf(all)] as const))
  for (const record of records) {
    if (record.kind !== 'step') continue
    totals.stepsCommitted++
    const member = record.name.split(/[:/]/).at(-1) ?? ''
    // A team in a team and a remote member leave no traces of their own here.
    const stage = stages.get(member)?.shift()
    if (!stage) {
      if (runs.has(member)) yield `step ${record.name} is stored more often than it was asked`
      continue
    }
    if (stage.length > 1) totals.stepsInterrupted++
    const nonce = stage.at(-1)?.nonce ?? ''
    if (!JSON.stringify(record.result).includes(`${member}=${nonce}`))
      yield `step ${record.name} ran again after it was stored: ${stage.length} times`
    else if (
      state === 'TASK_STATE_COMPLETED' &&
      scope.agent === 'team' &&
      !words(stored.task).includes(nonce)
    )
      yield `the answer does not come from the stored step ${record.name}`
  }
  if (state !== 'TASK_STATE_COMPLETED') return
  for (const [member, left] of stages)
    if (left.length > 0 && member !== scope.agent)
      yield `${member} ran again after its steps were stored`
}

/** The runs of a member, those with the same question together: a kill may have interrupted all but the last. */
function stagesOf(runs: readonly Effect[]): Effect[][] {
  const stages: Effect[][] = []
  for (const run of runs) {
    const last = stages.at(-1)
    if (last && last[0]?.input === run.input) last.push(run)
    else stages.push([run])
  }
  return stages
}

/** Each question was asked once, and each answer reached whom it was for. */
function* checkConversation({ stored, records, runs }: Case): Iterable<string> {
  yield* checkDialogue(stored.head.scope.agent, records, stored.head.state)
  for (const [member, all] of runs)
    for (const { input } of all)
      if (isMisdirected(member, input)) yield `${member} was asked ${JSON.stringify(input)}`
}

/** Every event of the log reached the task's webhook, first arrivals in order. */
function* checkWebhook({ hooks, ledger, stored, events }: Case, totals: Totals): Iterable<string> {
  const name = nameOf(stored.task)
  if (!ledger.hooked.has(name)) return
  const got = hooks.arrivals.get(name)
  totals.webhookEvents += events.length
  totals.webhookRequests += got?.requests ?? 0
  const missing = events.filter(({ seq }) => !got?.accepted.has(seq)).map(({ seq }) => seq)
  if (missing.length > 0) yield `events ${missing.join(', ')} did not reach its webhook`
  const first = got?.first ?? []
  if (first.some((seq, index) => seq < (first[index - 1] ?? 0)))
    yield `events reached its webhook in the order ${first.join(', ')}`
}

function checkLedger(ledger: Ledger, cases: ReadonlyMap<string, Case>): void {
  for (const entry of ledger.entries.values()) {
    const one = cases.get(entry.id)
    const task = one && foldAll(one.records)
    if (!one || !task) {
      ledger.violation(`Task ${entry.id} was acknowledged and is not in the store`)
      continue
    }
    const fault = regression(entry, one.stored.task)
    if (fault) ledger.violation(fault)
    for (const messageId of entry.continued) {
      const times = one.records.filter(
        (record) => record.kind === 'message' && record.message.messageId === messageId,
      ).length
      if (times !== 1) tell(one, `the message ${messageId} is ${times} times in the log`)
    }
  }
  checkKeys(ledger, cases)
  checkFollowers(ledger, cases)
}

function checkKeys(ledger: Ledger, cases: ReadonlyMap<string, Case>): void {
  const made = new Set<string>()
  for (const one of cases.values()) {
    const name = nameOf(one.stored.task)
    if (ledger.keyed.has(name) && made.has(name)) tell(one, 'a second task of its key')
    made.add(name)
  }
}

/** Each follower saw each event of the log after its first, once and in order. */
function checkFollowers(ledger: Ledger, cases: ReadonlyMap<string, Case>): void {
  for (const { id, seen } of ledger.followers) {
    const one = cases.get(id)
    const from = seen[0]?.seq ?? 0
    const expected = one?.events.filter(({ seq }) => seq >= from) ?? []
    if (one && JSON.stringify(expected) !== JSON.stringify(seen))
      tell(one, `a follower saw ${numbers(seen)} of ${numbers(expected)}`)
  }
  for (const { id, events } of ledger.clients) {
    const one = cases.get(id)
    const last = one?.events.slice(-events.length).map(({ event }) => gistOf(event))
    if (one && events.length > 0 && JSON.stringify(last) !== JSON.stringify(events.map(gistOf)))
      tell(one, `a client saw other events than the last ${events.length} of the log`)
  }
}

/** What an event says, whatever the order of its members. */
function gistOf(event: StreamResponse): readonly unknown[] {
  if ('artifactUpdate' in event) {
    const { artifact, append = false, lastChunk = false } = event.artifactUpdate
    return [artifact.artifactId, textOf(artifact.parts), append, lastChunk]
  }
  if (!('statusUpdate' in event)) return [event]
  const { state, timestamp, message } = event.statusUpdate.status
  return [state, timestamp, message?.messageId]
}

function numbers(events: readonly { readonly seq: number }[]): string {
  return `[${events.map(({ seq }) => seq).join(' ')}]`
}

function endsTask(event: StreamResponse | undefined): boolean {
  if (!event || 'message' in event || 'artifactUpdate' in event) return false
  return isTerminal(('task' in event ? event.task : event.statusUpdate).status.state)
}

function foldAll(records: readonly LogRecord[]): Task | undefined {
  const first = records.find((record) => record.kind === 'event')
  if (first?.kind !== 'event' || !('task' in first.event)) return undefined
  const fold = createFold(first.event.task)
  for (const record of records) {
    if (record.kind === 'event' && record !== first) fold.apply(record.event)
    else if (record.kind === 'message' && record.turn > 1) fold.hear(record.message)
  }
  return fold.snapshot()
}

/** The words of a task, however its text is cut into parts: the end of a turn joins them. */
function words({ status, history, artifacts }: Task): string {
  const texts = artifacts?.map(({ artifactId, parts }) => [artifactId, textOf(parts)])
  return JSON.stringify([status, history?.map(({ messageId }) => messageId), texts])
}

function createTotals(): Totals {
  return {
    tasks: 0,
    completed: 0,
    canceled: 0,
    rejected: 0,
    inputRequired: 0,
    givenUp: 0,
    unresumable: 0,
    innocentFailed: 0,
    records: 0,
    events: 0,
    resumed: 0,
    claims: 0,
    stepsCommitted: 0,
    stepsInterrupted: 0,
    webhookEvents: 0,
    webhookRequests: 0,
    remoteTasks: 0,
  }
}

function count(totals: Totals, { stored, records, events }: Case): void {
  totals.tasks++
  totals.records += records.length
  totals.events += events.length
  for (const record of records) {
    if (record.kind === 'start' && record.attempt > 1) totals.resumed++
    if (record.kind === 'claim') totals.claims++
  }
  const { state } = stored.head
  if (state === 'TASK_STATE_COMPLETED') totals.completed++
  else if (state === 'TASK_STATE_CANCELED') totals.canceled++
  else if (state === 'TASK_STATE_REJECTED') totals.rejected++
  else if (state === 'TASK_STATE_INPUT_REQUIRED') totals.inputRequired++
}
