import { A2AError } from '../../src/protocol/errors.ts'
import type { Audited, AuditedTask } from './audit.ts'
import type { Shown, Watched } from './ledger.ts'

/** When whom something befell, so that nobody can blame it for being late. */
export interface Disturbances {
  note(process: string, from: number, to: number): void
  /** Whether a process was disturbed at some time between these. */
  between(process: string, from: number, to: number): boolean
}

/** How long a word of a stored event may take where nothing is wrong. The next look for lost ones is later. */
const promptMs = 1_000

/** Makes an empty list of disturbances. */
export function createDisturbances(): Disturbances {
  const list: { readonly process: string; readonly from: number; readonly to: number }[] = []
  return {
    note(process, from, to) {
      list.push({ process, from, to })
    },
    between: (process, from, to) =>
      list.some(
        (one) =>
          (one.process === process || one.process === '') && one.from <= to && one.to >= from,
      ),
  }
}

/** Every reader saw every event once, in order, and soon. */
export function auditStreams(audited: Audited, tasks: ReadonlyMap<string, AuditedTask>): void {
  for (const stream of audited.ledger.streams) {
    const task = tasks.get(stream.taskId)
    if (task) auditStream(audited, stream, task)
  }
}

function auditStream(audited: Audited, stream: Watched, { records, stored }: AuditedTask): void {
  const { violate } = audited.ledger
  const name = `a stream of ${stream.taskId} from ${stream.since.toFixed(0)}`
  const { outcome, seen } = stream
  if (outcome instanceof A2AError && outcome.code === 'internal')
    violate(`${name} ended with internal: ${outcome.message}`)
  const [first, ...rest] = seen
  if (!first) return
  const events = records.flatMap((r) => (r.kind === 'event' && r.seq > first.seq ? [r.seq] : []))
  const seqs = rest.map(({ seq }) => seq)
  if (seqs.some((seq, index) => seq !== events[index]))
    violate(`${name} began at ${first.seq} and showed ${seqs.join(',')} of ${events.join(',')}`)
  const isOpen = outcome === 'open' && stream.toEnd
  if (isOpen && seqs.length < events.length)
    violate(`${name} never showed ${events.slice(seqs.length).join(',')}`)
  if (isOpen && ended.has(stored.head.state) && seqs.length === events.length)
    violate(`${name} did not end with its task`)
  for (const [index, shown] of rest.entries()) auditTime(audited, stream, seen[index], shown)
}

const ended: ReadonlySet<string> = new Set(['TASK_STATE_COMPLETED', 'TASK_STATE_CANCELED'])

function auditTime(
  { auditor, ledger, disturbances }: Audited,
  { taskId }: Watched,
  before: Shown | undefined,
  { seq, at, process }: Shown,
): void {
  // A reader that went elsewhere reads again from there, whenever that was.
  if (before?.process !== process) return
  const stored = auditor.storedAt.get(taskId)?.get(seq) ?? 0
  const since = Math.max(stored, before.at)
  if (at - since <= promptMs || disturbances.between(process, since, at)) return
  ledger.violate(
    `${process} showed event ${seq} of ${taskId} ${Math.round(at - since)} ms after it was stored`,
  )
}
