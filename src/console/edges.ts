import type { ConsoleHost } from '../server/options.ts'
import { createTrail, type TrailMark } from '../shared/graph-walk.ts'
import type { LogRecord, StoredTask } from '../store/store.ts'
import type { EdgeFacts, EdgeMessage, TeamEdges, TeamGraph } from './api.ts'
import { type ApiCall, inSlices } from './call.ts'
import { costIn, questionIn, type TaskReader, timeOf } from './facts.ts'
import { drawTeam, noTeam, teamOf } from './graph.ts'
import { createTaskPages, showsTrace } from './tasks.ts'

const maxTasks = 30

/** Makes the handler of `edges/TEAM`: what went between the members, read from the traces of the last tasks. */
export function createEdgesHandler(
  host: ConsoleHost,
  reader: TaskReader,
): (call: ApiCall) => Promise<TeamEdges> {
  const { mounts } = host
  const readPage = createTaskPages(host, reader)
  return async ({ id, viewer }) => {
    const agent = viewer.reaches(id) ? mounts.get(id)?.agent() : undefined
    const team = agent && teamOf(agent)
    if (!team) throw noTeam(id)
    if (!showsTrace(host, viewer)) return { edges: [], tasks: 0 }
    const tally = createTally(await drawTeam(team))
    const { tasks } = await readPage(viewer, { agent: id, limit: maxTasks })
    const traces = await inSlices(tasks, reader.traced)
    // The oldest first, so that the last messages are the newest.
    for (const [i, stored] of [...tasks.entries()].reverse()) tally.add(stored, traces[i] ?? [])
    const facts = await inSlices(tasks, reader.facts)
    const costs = facts.flatMap(({ costUsd }) => costUsd ?? [])
    return {
      edges: tally.edges(),
      tasks: tasks.length,
      ...costIn(facts),
      ...(costs.length > 0 && { dearestUsd: Math.max(...costs) }),
    }
  }
}

interface Edge {
  readonly team: string
  readonly from: string
  readonly to: string
  count: number
  failures: number
  running: number
  readonly durations: number[]
  readonly last: EdgeMessage[]
}

/** A call that is under way in a log, or a question that waits. */
interface OpenCall {
  readonly edges: readonly Edge[]
  readonly message: EdgeMessage
  readonly runs: boolean
}

/** As much of a question to the user as is shown: its end, where it asks. */
const longest = 2_000

/** Counts the calls of logs by the edges of a team and of the teams in it. */
function createTally(graph: TeamGraph): {
  add(stored: StoredTask, records: readonly LogRecord[]): void
  edges(): readonly EdgeFacts[]
} {
  const edges = new Map<string, Edge>()

  function edgeOf(team: string, from: string, to: string): Edge {
    const key = JSON.stringify([team, from, to])
    const known = edges.get(key)
    if (known) return known
    const fresh = { team, from, to, count: 0, failures: 0, running: 0, durations: [], last: [] }
    edges.set(key, fresh)
    return fresh
  }

  /** Counts what came along; gives the edges to the node itself, which are the last. */
  function count({ run, arrivals }: TrailMark<TeamGraph>): readonly Edge[] {
    let last: readonly Edge[] = []
    for (const { from, to } of arrivals) {
      last = from.map((one) => edgeOf(run.graph.id, one, to))
      for (const edge of last) edge.count++
    }
    return last
  }

  return {
    add({ head }, records) {
      const open = new Map<string, OpenCall>()
      const trail = createTrail(graph)
      for (const record of records) {
        const question = questionIn(record)
        const told = record.kind === 'trace' ? record : undefined
        const mark = told
          ? trail.take(told.entry, textOf(told, 'at'))
          : question !== undefined && trail.ask(question)
        if (mark && mark.arrivals.length > 0)
          open.set(keyOf(mark, told), {
            edges: count(mark),
            message: {
              taskId: head.id,
              seq: record.seq,
              at: told ? told.at : timeIn(record),
              question: told ? textOf(told, 'text') : (question ?? '').slice(-longest),
            },
            runs: mark.kind === 'call',
          })
        if (told) end(open, told, mark || undefined)
      }
      if (head.busy)
        for (const { edges: some, runs } of open.values())
          if (runs) for (const edge of some) edge.running++
    },
    edges: () => [...edges.values()].map(toFacts),
  }
}

type TraceRecord = Extract<LogRecord, { readonly kind: 'trace' }>

function textOf({ entry }: TraceRecord, name: string): string {
  const value = entry[name]
  return typeof value === 'string' ? value : ''
}

/** Which call or question an entry is about; what begins and what ends it have the same. */
function keyOf({ run, node, kind }: TrailMark<TeamGraph>, record: TraceRecord | undefined): string {
  if (kind !== 'call' || !record) return `${kind}\n${run.above}\n${node.id}`
  return callOf(record)
}

function callOf(record: TraceRecord): string {
  return `call\n${textOf(record, 'at')}\n${textOf(record, 'call')}`
}

/** When the task asked its user. */
function timeIn(record: LogRecord): string {
  return (record.kind === 'event' && timeOf(record.event)) || ''
}

/** A reply or failure ends a call, a clear verdict a question. */
function end(
  open: Map<string, OpenCall>,
  record: TraceRecord,
  mark: TrailMark<TeamGraph> | undefined,
): void {
  const { type, verdict } = record.entry
  const isOver = type === 'reply' || type === 'failure' || type === 'branch'
  if (!isOver && (type !== 'approval' || verdict === 'unclear')) return
  const key = mark ? keyOf(mark, record) : callOf(record)
  finish(open.get(key), record)
  open.delete(key)
}

const maxMessages = 10

function finish(call: OpenCall | undefined, record: TraceRecord): void {
  if (!call) return
  const { durationMs: ms, costUsd } = record.entry
  const isFailure = record.entry.type === 'failure'
  const message = {
    ...call.message,
    ...(typeof ms === 'number' && { durationMs: ms }),
    ...(typeof costUsd === 'number' && { costUsd }),
    ...(isFailure ? { failure: textOf(record, 'reason') } : { answer: textOf(record, 'text') }),
  }
  for (const edge of call.edges) {
    if (isFailure) edge.failures++
    else if (typeof ms === 'number') edge.durations.push(ms)
    edge.last.unshift(message)
    edge.last.length = Math.min(edge.last.length, maxMessages)
  }
}

function toFacts({ durations, ...edge }: Edge): EdgeFacts {
  const p50Ms = medianOf(durations)
  return { ...edge, ...(p50Ms !== undefined && { p50Ms }) }
}

/** The middle one of some numbers. */
export function medianOf(numbers: readonly number[]): number | undefined {
  return [...numbers].sort((a, b) => a - b)[Math.floor((numbers.length - 1) / 2)]
}
