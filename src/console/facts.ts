import type { StreamResponse } from '../protocol/types.ts'
import { type Usage, usageOf } from '../protocol/usage.ts'
import type { LogRecord, Store, StoredTask } from '../store/store.ts'
import { weighRecords } from '../store/weight.ts'
import { LastRead } from './last-read.ts'
import { spentIn } from './spent.ts'

/** What only the log of a task tells. */
export interface TaskFacts {
  /** When it came into being. */
  readonly createdAt?: string
  /** From its beginning to its last status. */
  readonly durationMs?: number
  readonly tokens?: number
  /** In US dollars, so far as there were prices. */
  readonly costUsd?: number
  /** Whether there are entries of a trace. */
  readonly trace: boolean
}

/** Of a log the beginning, which tells when, and the end, which tells how many tokens, are read. */
const maxFirst = 20
const maxLast = 150
const perRead = 50
const maxLastBytes = 256 * 1024
const maxKept = 4_000

type ReadRecords = (stored: StoredTask) => Promise<readonly LogRecord[]>

/** Makes a reader that remembers the facts of the tasks it was last asked for. */
export function createFacts(
  store: Store,
  traced: ReadRecords,
): (stored: StoredTask) => Promise<TaskFacts> {
  const kept = new LastRead<{ readonly mark: string; readonly facts: TaskFacts }>(maxKept)
  return async (stored) => {
    const { id } = stored.head
    const mark = markOf(stored)
    const known = kept.get(id)
    if (known?.mark === mark) return known.facts
    const { createdAt, trace } = known?.facts ?? factsIn(await store.records(id, 0, maxFirst))
    const { usage, ...last } = factsIn(await readLast(store, stored))
    const facts = toFacts(stored, {
      createdAt: createdAt ?? last.createdAt,
      trace: trace || last.trace,
      usage: larger(usage, await spentBy(stored, traced)),
    })
    kept.set(id, { mark, facts })
    return facts
  }
}

/** Changes when a task's facts may have: of one that runs, when its status does, or its log is twice as long. */
function markOf({ head: { busy, state, timestamp }, version }: StoredTask): string {
  return busy ? `${state} ${timestamp} ${Math.clz32(version)}` : String(version)
}

/** The end of a log, as far back as it is not too much. */
async function readLast(
  store: Store,
  { head, version }: StoredTask,
): Promise<readonly LogRecord[]> {
  let records: readonly LogRecord[] = []
  let bytes = 0
  let first = version
  while (first > 0 && version - first < maxLast && bytes < maxLastBytes) {
    const from = Math.max(0, first - perRead)
    const page = await store.records(head.id, from, first - from)
    records = [...page, ...records]
    bytes += weighRecords(page)
    first = from
  }
  return records
}

/** What a task has used that stands still before its agent has told the sum: one that waits, or did not come to its end. */
async function spentBy(stored: StoredTask, traced: ReadRecords): Promise<Usage | undefined> {
  const { busy, state } = stored.head
  if (busy || state === 'TASK_STATE_COMPLETED') return undefined
  return spentIn(await traced(stored))
}

/** What some records tell. */
interface ToldFacts {
  readonly createdAt?: string | undefined
  readonly trace: boolean
  readonly usage?: Usage | undefined
}

function factsIn(records: readonly LogRecord[]): ToldFacts {
  let createdAt: string | undefined
  let usage: Usage | undefined
  let trace = false
  for (const record of records) {
    if (record.kind === 'trace') trace = true
    const event = record.kind === 'event' ? record.event : undefined
    if (!event) continue
    createdAt ??= timeOf(event)
    usage = usageIn(event) ?? usage
  }
  return { createdAt, trace, usage }
}

/** Neither counts anything twice, so the larger sum is the one that lacks less. */
function larger(usage: Usage | undefined, spent: Usage | undefined): Usage | undefined {
  return spent && tokensOf(spent) > tokensOf(usage) ? spent : usage
}

function toFacts({ head }: StoredTask, { createdAt, trace, usage }: ToldFacts): TaskFacts {
  const durationMs = createdAt && Date.parse(head.timestamp) - Date.parse(createdAt)
  return {
    trace,
    ...(createdAt !== undefined && { createdAt }),
    ...(typeof durationMs === 'number' && durationMs >= 0 && { durationMs }),
    ...(usage && { tokens: tokensOf(usage) }),
    ...(usage?.costUsd !== undefined && { costUsd: usage.costUsd }),
  }
}

function tokensOf(usage: Usage | undefined): number {
  return usage ? usage.inputTokens + usage.outputTokens : 0
}

function timeOf(event: StreamResponse): string | undefined {
  if ('task' in event) return event.task.status.timestamp
  return 'statusUpdate' in event ? event.statusUpdate.status.timestamp : undefined
}

/** The last sum that is told is that of the whole turn. */
function usageIn(event: StreamResponse): Usage | undefined {
  if ('artifactUpdate' in event) return usageOf(event.artifactUpdate.artifact.metadata)
  if ('statusUpdate' in event) return usageOf(event.statusUpdate.metadata)
  if (!('task' in event)) return undefined
  const { metadata, artifacts = [] } = event.task
  return usageOf(metadata) ?? artifacts.map((one) => usageOf(one.metadata)).find(Boolean)
}

/** What some cost together; nothing where none of them tells. */
export function costIn(all: readonly { readonly costUsd?: number }[]): {
  readonly costUsd?: number
} {
  const costs = all.flatMap(({ costUsd }) => costUsd ?? [])
  return costs.length === 0 ? {} : { costUsd: costs.reduce((sum, cost) => sum + cost, 0) }
}
