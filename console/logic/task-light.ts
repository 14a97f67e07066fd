import type { TaskRecord, TeamGraph } from '../../src/console/api.ts'
import { textOf } from '../../src/protocol/task.ts'
import {
  createTrail,
  type GraphRun,
  nodeOfCall,
  roundsOf,
  stepPlace,
  type TrailMark,
} from '../../src/shared/graph-walk.ts'
import { type GuardFinding, type MemberHop, pathOf, toFinding, toHops } from './hops.ts'
import { toPlace } from './layout.ts'
import { dark, edgeKey, hopLight, type Light, type Lights, sum } from './light.ts'

/** What happened at a node, in order. */
interface NodeStory {
  readonly hops: MemberHop[]
  readonly guards: GuardFinding[]
  /** What the user said to an approval. */
  readonly verdicts: { readonly seq: number; readonly verdict: string; readonly text: string }[]
}

/** A graph as one task lit it. */
export interface TaskLight {
  readonly lights: Lights
  /** By place; that of the empty place is the team's own. */
  readonly stories: ReadonlyMap<string, NodeStory>
}

/** Lights up a graph by the log of one task. */
export function lightTask(team: TeamGraph, records: readonly TaskRecord[]): TaskLight {
  const lamp = new Lamp(team, toHops(records))
  for (const record of records)
    if (record.kind === 'trace') lamp.trace(record)
    else lamp.ask(questionIn(record))
  return lamp
}

type TraceRecord = Extract<TaskRecord, { readonly kind: 'trace' }>

class Lamp implements TaskLight {
  readonly lights = new Map<string, Light>()
  readonly stories = new Map<string, NodeStory>()
  readonly #trail
  readonly #hops: ReadonlyMap<number, MemberHop>
  /** The approvals that wait; whatever the log tells next, they no longer do. */
  #waiting: string[] = []

  constructor(team: TeamGraph, hops: readonly MemberHop[]) {
    this.#trail = createTrail(team)
    this.#hops = new Map(hops.map((hop) => [hop.firstSeq, hop]))
  }

  trace(record: TraceRecord): void {
    const { entry } = record
    const path = pathOf(entry)
    this.#nobodyWaits()
    const run = this.#trail.runAt(path)
    const step = String(entry.step ?? '')
    if (entry.type === 'guard') this.#guard(record)
    if (entry.type === 'skip' && run) this.#skip(run, stepPlace(step))
    if (entry.type === 'map' && run) this.#items(run, record)
    const mark = this.#trail.take(entry, path)
    if (!mark) return
    this.#mark(mark, record)
    this.#rounds(mark.run, step)
  }

  /** The task asks: the approval whose question it is waits, and so do the members that asked last. */
  ask(question: string | undefined): void {
    if (question === undefined) return
    this.#nobodyWaits()
    if (question === '') return
    const mark = this.#trail.ask(question)
    if (mark) this.#pass(mark, undefined)
    const asking = [...this.stories].filter(([, { hops }]) => hops.at(-1)?.standing === 'asks')
    this.#waiting = asking.map(([place]) => place)
    if (mark) this.#waiting.push(toPlace(mark.run.above, mark.node.id))
    for (const place of this.#waiting) this.#add(place, { waits: true })
  }

  #nobodyWaits(): void {
    for (const place of this.#waiting) this.#add(place, { waits: false })
    this.#waiting = []
  }

  #mark(mark: TrailMark<TeamGraph>, record: TraceRecord): void {
    const { run, node, kind } = mark
    const hop = this.#hops.get(record.seq)
    this.#pass(mark, hop)
    const place = toPlace(run.above, node.id)
    if (hop) this.#call(place, hop)
    if (kind === 'approval') this.#verdict(mark, record)
    const { case: way } = record.entry
    const taken = this.lights.get(place)?.taken ?? []
    const isNew = mark.arrivals.length > 0
    if (kind === 'branch' && isNew && typeof way === 'number')
      this.#add(place, { taken: [...taken, way] })
  }

  #pass({ run, arrivals }: TrailMark<TeamGraph>, hop: MemberHop | undefined): void {
    for (const [index, { from, to }] of arrivals.entries()) {
      // Before the call itself come steps that are no member.
      const light = hop && index === arrivals.length - 1 ? hopLight(hop) : { ...dark, count: 1 }
      for (const one of from) this.#sum(edgeKey(run.above, { from: one, to }), light)
      this.#sum(toPlace(run.above, to), light)
      // A branch that tells of no case was left by none.
      const isBranch = run.graph.nodes.some(({ id, kind }) => id === to && kind === 'branch')
      if (isBranch && index < arrivals.length - 1) this.#add(toPlace(run.above, to), { taken: [0] })
    }
  }

  #call(place: string, hop: MemberHop): void {
    this.#story(place).hops.push(hop)
    const items = this.lights.get(place)?.items
    if (items && hop.standing === 'done')
      this.#add(place, { items: { ...items, done: items.done + 1 } })
  }

  #verdict({ run, node }: TrailMark<TeamGraph>, { entry, seq }: TraceRecord): void {
    const place = toPlace(run.above, node.id)
    const verdict = String(entry.verdict ?? '')
    const { verdicts } = this.#story(place)
    verdicts.push({ seq, verdict, text: String(entry.text ?? '') })
    this.#add(place, { verdict })
    const round = verdicts.filter((one) => one.verdict === 'feedback').length
    for (const edge of run.graph.edges)
      if (round > 0 && edge.from === node.id && edge.kind === 'back')
        this.#add(edgeKey(run.above, edge), { round })
  }

  #rounds({ graph: { edges }, above }: GraphRun<TeamGraph>, step: string): void {
    for (const { place, round } of roundsOf(step))
      for (const edge of edges)
        if (edge.kind === 'back' && edge.step === place && edge.label !== 'feedback') {
          const key = edgeKey(above, edge)
          this.#add(key, { round: Math.max(round, this.lights.get(key)?.round ?? 0) })
        }
  }

  #skip({ graph: { nodes }, above }: GraphRun<TeamGraph>, step: string): void {
    for (const { id, step: at } of nodes)
      if (at === step || at?.startsWith(`${step}.`))
        this.#add(toPlace(above, id), { skipped: true })
  }

  #items({ graph: { nodes }, above }: GraphRun<TeamGraph>, { entry }: TraceRecord): void {
    const all = Number(entry.items) || 0
    const step = stepPlace(String(entry.step ?? ''))
    for (const { id, each } of nodes)
      if (each === step) this.#add(toPlace(above, id), { items: { done: 0, all } })
  }

  #guard(record: TraceRecord): void {
    const { path, finding } = toFinding(record)
    const place = this.#placeOfGuard(path, String(record.entry.step ?? ''))
    if (place === undefined) return
    this.#story(place).guards.push(finding)
    const guards = this.lights.get(place)?.guards ?? {}
    const worst = graver(guards[finding.side], finding.verdict)
    this.#add(place, { guards: { ...guards, [finding.side]: worst } })
  }

  /** A step's guard names its step; a member's, or a nested team's, is found by the call that led there. */
  #placeOfGuard(path: string, step: string): string | undefined {
    const end = path.lastIndexOf('/')
    const call = path.slice(end + 1)
    const colon = call.indexOf(':')
    if (step === '' && path === '') return ''
    const run = this.#trail.runAt(step === '' ? path.slice(0, Math.max(end, 0)) : path)
    const node =
      step === ''
        ? run && nodeOfCall(run.graph.nodes, call.slice(0, colon), call.slice(colon + 1))
        : run?.graph.nodes.find((one) => one.step === stepPlace(step) && one.member !== undefined)
    return run && node && toPlace(run.above, node.id)
  }

  #story(place: string): NodeStory {
    const known = this.stories.get(place)
    if (known) return known
    const fresh: NodeStory = { hops: [], guards: [], verdicts: [] }
    this.stories.set(place, fresh)
    return fresh
  }

  #add(key: string, facts: Partial<Light>): void {
    this.lights.set(key, { ...(this.lights.get(key) ?? dark), ...facts })
  }

  #sum(key: string, light: Light): void {
    this.lights.set(key, sum(this.lights.get(key), light))
  }
}

const gravity = ['allow', 'replace', 'block'] as const

function graver(
  a: GuardFinding['verdict'] | undefined,
  b: GuardFinding['verdict'],
): GuardFinding['verdict'] {
  return a && gravity.indexOf(a) > gravity.indexOf(b) ? a : b
}

/** What a status asks; empty where it tells something else, undefined where the record is no status. */
function questionIn(record: TaskRecord): string | undefined {
  if (record.kind !== 'event' || !('statusUpdate' in record.event)) return undefined
  const { state, message } = record.event.statusUpdate.status
  return state === 'TASK_STATE_INPUT_REQUIRED' && message ? textOf(message.parts) : ''
}
