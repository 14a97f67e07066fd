import type { TaskRecord } from '../../src/console/api.ts'
import type { Json, JsonObject } from '../../src/protocol/types.ts'

/** One call of a member, as the trace tells it; a second try is a hop of its own. */
export interface MemberHop {
  /** Unique in the task. */
  readonly key: string
  /** Where it happens: the calls that lead here, this one last. */
  readonly place: string
  /** The place of the nested team's own call; empty at the top. */
  readonly parent: string
  readonly depth: number
  readonly team: string
  readonly member: string
  readonly step: string
  readonly try: number
  readonly began: number
  readonly ended?: number
  /** A try that failed is `retried` once a later one has not. */
  readonly standing: 'running' | 'done' | 'asks' | 'failed' | 'retried'
  readonly question: string
  readonly answer: string
  /** Why it failed. */
  readonly failure?: string
  /** The member that stands in after the failure. */
  readonly fallback?: string
  readonly inputTokens: number
  readonly outputTokens: number
  /** What it cost in US dollars, where that is known. */
  readonly costUsd?: number
  readonly uses: readonly Use[]
  readonly guards: readonly GuardFinding[]
  readonly firstSeq: number
  readonly lastSeq: number
}

/** What a guard found. */
export interface GuardFinding {
  readonly seq: number
  readonly side: 'input' | 'output'
  readonly guard: string
  readonly verdict: 'allow' | 'replace' | 'block'
  readonly reason: string
}

/** A tool that a member used, what the user said to one, or a round of its model. */
export interface Use {
  readonly kind: 'tool' | 'model' | 'tool-approval'
  readonly name: string
  readonly at: number
  readonly seq: number
  readonly durationMs: number
  readonly failed: boolean
  readonly input: string
  readonly output: string
  readonly tokens: number
  readonly costUsd?: number
}

type OpenHop = { -readonly [K in keyof MemberHop]: MemberHop[K] } & {
  uses: Use[]
  guards: GuardFinding[]
}

/** The hops of a task, in the order in which they began. */
export function toHops(records: readonly TaskRecord[]): readonly MemberHop[] {
  const hops: OpenHop[] = []
  for (const record of records) if (record.kind === 'trace') take(hops, record)
  const last = new Map(hops.map((hop) => [hop.place, hop]))
  for (const hop of hops) {
    const next = last.get(hop.place)
    if (hop.standing === 'failed' && next && next.standing !== 'failed') hop.standing = 'retried'
  }
  return hops
}

/** How many tokens the members of the outermost team have used: what nested ones used is in their team's. */
export function hopsTokens(hops: readonly MemberHop[]): number {
  return hops
    .filter(({ depth }) => depth === 0)
    .reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0)
}

/** What a member did by itself, where no team called it: tools and models at the top. */
export function toOwnUses(records: readonly TaskRecord[]): readonly Use[] {
  return records.flatMap((record) =>
    record.kind === 'trace' && isUse(record.entry) && pathOf(record.entry) === ''
      ? [toUse(record)]
      : [],
  )
}

/** What the members of the outermost team have cost so far; undefined where nobody tells. */
export function hopsCost(hops: readonly MemberHop[]): number | undefined {
  const costs = hops.flatMap(({ depth, costUsd }) => (depth === 0 ? (costUsd ?? []) : []))
  return costs.length > 0 ? costs.reduce((sum, cost) => sum + cost, 0) : undefined
}

/** The way through nested teams by which an entry was reached; empty at the top. */
export function pathOf({ path, at }: JsonObject): string {
  if (typeof path === 'string') return path
  return typeof at === 'string' && at.includes(':') && !/^\d{4}-/.test(at) ? at : ''
}

type TraceRecord = Extract<TaskRecord, { readonly kind: 'trace' }>

function take(hops: OpenHop[], record: TraceRecord): void {
  const { entry, seq } = record
  if (entry.type === 'delegation') hops.push(toHop(record))
  if (isUse(entry)) {
    const hop = hops.findLast(({ place }) => place === pathOf(entry))
    hop?.uses.push(toUse(record))
    return
  }
  if (entry.type === 'guard') {
    const { path, finding } = toFinding(record)
    const step = text(entry.step)
    const isMeant = (one: OpenHop): boolean =>
      step === '' ? one.place === path : one.parent === path && one.step === step
    hops.findLast(isMeant)?.guards.push(finding)
    return
  }
  const place = placeOf(entry)
  const hop = hops.findLast((one) => one.place === place && one.member === entry.member)
  if (!hop) return
  hop.lastSeq = Math.max(hop.lastSeq, seq)
  if (entry.type === 'reply') endWithReply(hop, record)
  if (entry.type === 'failure') endWithFailure(hop, record)
  if (entry.type === 'fallback') hop.fallback = text(entry.to)
}

function toHop({ entry, seq, at }: TraceRecord): OpenHop {
  const parent = pathOf(entry)
  const place = placeOf(entry)
  return {
    key: `${seq}`,
    place,
    parent,
    depth: parent === '' ? 0 : parent.split('/').length,
    team: text(entry.team),
    member: text(entry.member),
    step: text(entry.step),
    try: number(entry.try) || 1,
    began: Date.parse(at),
    standing: 'running',
    question: text(entry.text),
    answer: '',
    inputTokens: 0,
    outputTokens: 0,
    uses: [],
    guards: [],
    firstSeq: seq,
    lastSeq: seq,
  }
}

function endWithReply(hop: OpenHop, { entry, at }: TraceRecord): void {
  const state = text(entry.state)
  hop.ended = endOf(hop, Date.parse(at), number(entry.durationMs))
  hop.answer = text(entry.text)
  hop.inputTokens = number(entry.inputTokens)
  hop.outputTokens = number(entry.outputTokens)
  if (typeof entry.costUsd === 'number') hop.costUsd = entry.costUsd
  if (state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED')
    hop.standing = 'asks'
  else hop.standing = state === 'TASK_STATE_COMPLETED' || state === '' ? 'done' : 'failed'
  if (hop.standing === 'failed')
    hop.failure = state.replace('TASK_STATE_', '').toLowerCase().replace('_', ' ')
}

function endWithFailure(hop: OpenHop, { entry, at }: TraceRecord): void {
  hop.ended = endOf(hop, Date.parse(at), number(entry.durationMs))
  hop.standing = 'failed'
  hop.failure = text(entry.reason)
}

/** Entries that are written together bear one time; how long the call took is known exactly. */
function endOf({ began }: OpenHop, at: number, durationMs: number): number {
  return durationMs > 0 ? began + durationMs : Math.max(at, began)
}

function isUse({ type }: JsonObject): boolean {
  return type === 'tool' || type === 'model' || type === 'tool-approval'
}

/**
 * What a guard found, and where: the call of the guarded member, or the team whose step or own guard it is. The side is
 * the last part of `at`, and of `path` where it has no field of its own.
 */
export function toFinding({ entry, seq }: TraceRecord): {
  readonly path: string
  readonly finding: GuardFinding
} {
  const isApart = text(entry.side) !== '' && text(entry.path) !== ''
  const at = isApart
    ? `${text(entry.path)}/${text(entry.side)}`
    : text(entry.path) || text(entry.at)
  const end = at.lastIndexOf('/')
  const side = text(entry.side) || at.slice(end + 1)
  const { verdict } = entry
  return {
    path: at.slice(0, Math.max(end, 0)),
    finding: {
      seq,
      side: side === 'output' ? 'output' : 'input',
      guard: text(entry.guard),
      verdict: verdict === 'block' || verdict === 'replace' ? verdict : 'allow',
      reason: text(entry.reason),
    },
  }
}

function toUse({ entry, at, seq }: TraceRecord): Use {
  const isTool = entry.type !== 'model'
  const { type, costUsd } = entry
  return {
    kind: type === 'tool' || type === 'tool-approval' ? type : 'model',
    name: text(isTool ? entry.tool : entry.model),
    at: Date.parse(at),
    seq,
    durationMs: number(entry.durationMs),
    failed: entry.failed === true || entry.verdict === 'rejected',
    input: text(entry.arguments),
    output: text(isTool ? (entry.result ?? entry.verdict) : entry.text),
    tokens: number(entry.inputTokens) + number(entry.outputTokens),
    ...(typeof costUsd === 'number' && { costUsd }),
  }
}

function placeOf(entry: JsonObject): string {
  const path = pathOf(entry)
  const call = text(entry.call)
  return path === '' ? call : `${path}/${call}`
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

function number(value: Json | undefined): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}
