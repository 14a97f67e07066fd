import type { StreamResponse } from '../protocol/types.ts'
import { type Usage, usageOf } from '../protocol/usage.ts'
import type { LogRecord, Store, StoredTask } from '../store/store.ts'
import { spentIn } from './spent.ts'

/** What only the log of a task tells. */
interface TaskFacts {
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

/** Reads such facts, once per state of a task. */
export type ReadFacts = (stored: StoredTask) => Promise<TaskFacts>

/** Of longer logs only the beginning, which tells when, and the end, which tells how many tokens, are read. */
const maxFirst = 20
const maxLast = 150
const maxKept = 4_000
/** Of a task that waits so many are read, for what it has used. */
const maxTraced = 2_000

/** Makes a reader that remembers the facts of the tasks it was last asked for. */
export function createFacts(store: Store): ReadFacts {
  const kept = new Map<string, { readonly version: number; readonly facts: TaskFacts }>()
  return async (stored) => {
    const { id } = stored.head
    const known = kept.get(id)
    if (known?.version === stored.version) return known.facts
    const first = await store.records(id, 0, maxFirst)
    const rest = Math.max(maxFirst, stored.version - maxLast)
    const last = stored.version > maxFirst ? await store.records(id, rest, maxLast) : []
    const facts = factsOf(stored, [...first, ...last], await spentBy(stored, store))
    kept.delete(id)
    kept.set(id, { version: stored.version, facts })
    if (kept.size > maxKept) kept.delete(kept.keys().next().value ?? '')
    return facts
  }
}

/** What a task has used that stands still before its agent has told the sum: one that waits, or did not come to its end. */
async function spentBy({ head, version }: StoredTask, store: Store): Promise<Usage | undefined> {
  if (head.busy || head.state === 'TASK_STATE_COMPLETED') return undefined
  return spentIn(await store.records(head.id, 0, Math.min(version, maxTraced)))
}

function factsOf(
  { head }: StoredTask,
  records: readonly LogRecord[],
  spent: Usage | undefined,
): TaskFacts {
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
  // Neither counts anything twice, so the larger sum is the one that lacks less.
  if (spent && tokensOf(spent) > tokensOf(usage)) usage = spent
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
