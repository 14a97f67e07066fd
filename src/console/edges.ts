import type { ConsoleHost } from '../server/console.ts'
import type { LogRecord, StoredTask } from '../store/store.ts'
import { type ApiHandler, ok } from './call.ts'
import { drawTeam, noTeam, teamOf } from './graph.ts'
import type { EdgeFacts, EdgeMessage, GraphEdge, TeamEdges, TeamGraph } from './graph-api.ts'
import { createTaskPages } from './pages.ts'
import { showsTrace } from './tasks.ts'

/** The last so many tasks of a team are read, and of each the first so many records. */
const maxTasks = 30
const maxRecords = 2_000
const maxMessages = 10

/** Makes the handler of `edges/TEAM`: what went between the members, read from the traces of the last tasks. */
export function createEdgesHandler(host: ConsoleHost): ApiHandler {
  const { store, mounts } = host
  const readPage = createTaskPages(host)
  return async ({ id, viewer }) => {
    const agent = viewer.reaches(id) ? mounts.get(id)?.agent() : undefined
    const team = agent && teamOf(agent)
    if (!team) throw noTeam(id)
    if (!showsTrace(host, viewer)) return ok<TeamEdges>({ edges: [], tasks: 0 })
    const tally = createTally(await drawTeam(team))
    const { tasks } = await readPage(viewer, { agent: id, limit: maxTasks })
    // The oldest first, so that the last messages are the newest.
    for (const stored of [...tasks].reverse())
      tally.add(stored, await store.records(stored.head.id, 0, maxRecords))
    return ok<TeamEdges>({ edges: tally.edges(), tasks: tasks.length })
  }
}

/** A call that is under way in a log. */
interface OpenCall {
  readonly edges: readonly Edge[]
  readonly message: EdgeMessage
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

type Traced = Extract<LogRecord, { readonly kind: 'trace' }>

/** Counts the calls of logs by the edges of a team and of the teams in it. */
function createTally(graph: TeamGraph): {
  add(stored: StoredTask, records: readonly LogRecord[]): void
  edges(): readonly EdgeFacts[]
} {
  const edges = new Map<string, Edge>()
  const ways = waysById(graph)

  function edgeOf(team: string, from: string, to: string): Edge {
    const key = JSON.stringify([team, from, to])
    const known = edges.get(key)
    if (known) return known
    const fresh = { team, from, to, count: 0, failures: 0, running: 0, durations: [], last: [] }
    edges.set(key, fresh)
    return fresh
  }

  return {
    add({ head }, records) {
      const open = new Map<string, OpenCall>()
      const answered = new Map<string, string[]>()
      for (const record of records) {
        if (record.kind !== 'trace') continue
        const team = textOf(record, 'team')
        const member = textOf(record, 'member')
        const place = `${textOf(record, 'at')}\n${team}`
        const call = `${place}\n${textOf(record, 'call')}`
        if (record.entry.type === 'delegation') {
          const senders = sendersOf(ways.get(team) ?? [], member, answered.get(place) ?? [])
          const edges = senders.map((from) => edgeOf(team, from, member))
          begin(edges, { record, call, open, taskId: head.id })
        } else if (record.entry.type === 'reply' || record.entry.type === 'failure') {
          finish(open.get(call), record)
          open.delete(call)
          answered.set(place, [...(answered.get(place) ?? []).slice(-64), member])
        }
      }
      if (head.busy)
        for (const { edges: some } of open.values()) for (const edge of some) edge.running++
    },
    edges: () => [...edges.values()].map(toFacts),
  }
}

interface Beginning {
  readonly record: Traced
  readonly call: string
  readonly open: Map<string, OpenCall>
  readonly taskId: string
}

function begin(edges: readonly Edge[], { record, call, open, taskId }: Beginning): void {
  for (const edge of edges) edge.count++
  const { seq, at } = record
  open.set(call, { edges, message: { taskId, seq, at, question: textOf(record, 'text') } })
}

function finish(call: OpenCall | undefined, record: Traced): void {
  if (!call) return
  const ms = record.entry.durationMs
  const isFailure = record.entry.type === 'failure'
  const message = {
    ...call.message,
    ...(typeof ms === 'number' && { durationMs: ms }),
    ...(isFailure ? { failure: textOf(record, 'reason') } : { answer: textOf(record, 'text') }),
  }
  for (const edge of call.edges) {
    if (isFailure) edge.failures++
    else if (typeof ms === 'number') edge.durations.push(ms)
    edge.last.unshift(message)
    edge.last.length = Math.min(edge.last.length, maxMessages)
  }
}

/**
 * Who handed the work on, of those that the definition lets: all that answered since this one was last asked, where
 * several did their part; else the one who answered last; else the team's caller.
 */
function sendersOf(
  edges: readonly GraphEdge[],
  to: string,
  answered: readonly string[],
): readonly string[] {
  const may = new Set(edges.filter((edge) => edge.to === to).map(({ from }) => from))
  const lately = answered.slice(answered.lastIndexOf(to) + 1).filter((id) => may.has(id))
  if (lately.length > 0) return [...new Set(lately)]
  return [[...answered].reverse().find((id) => may.has(id)) ?? '']
}

function waysById(graph: TeamGraph): ReadonlyMap<string, readonly GraphEdge[]> {
  const all = new Map<string, readonly GraphEdge[]>()
  const visit = ({ id, edges, nodes }: TeamGraph): void => {
    all.set(id, edges)
    for (const { team } of nodes) if (team) visit(team)
  }
  visit(graph)
  return all
}

function toFacts({ durations, ...edge }: Edge): EdgeFacts {
  const p50Ms = medianOf(durations)
  return { ...edge, ...(p50Ms !== undefined && { p50Ms }) }
}

/** The middle one of some numbers. */
export function medianOf(numbers: readonly number[]): number | undefined {
  return [...numbers].sort((a, b) => a - b)[Math.floor((numbers.length - 1) / 2)]
}

function textOf({ entry }: Traced, name: string): string {
  const value = entry[name]
  return typeof value === 'string' ? value : ''
}
