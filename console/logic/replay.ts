import type { TaskRecord } from '../../src/console/api.ts'
import { createFold, isInterrupted, isTerminal } from '../../src/protocol/task.ts'
import type { Message, Task, TaskState } from '../../src/protocol/types.ts'
import type { Span } from './scale.ts'

/** What the log says up to a record: the records alone. */
export function upTo(records: readonly TaskRecord[], seq: number): readonly TaskRecord[] {
  const end = records.findIndex((record) => record.seq > seq)
  return end < 0 ? records : records.slice(0, end)
}

/** The task as of these records; messages of the user that the log does not show come from the conversation. */
export function taskAsOf(
  records: readonly TaskRecord[],
  history: readonly Message[],
): Task | undefined {
  const first = records.find((record) => record.kind === 'event' && 'task' in record.event)
  if (first?.kind !== 'event' || !('task' in first.event)) return undefined
  const fold = createFold(first.event.task)
  for (const record of records) {
    if (record.seq <= first.seq) continue
    // A log that a newer version wrote may say what this fold refuses; the rest is still worth showing.
    try {
      if (record.kind === 'event') fold.apply(record.event)
      if (record.kind === 'message') fold.hear(record.message)
    } catch {}
  }
  fold.compact()
  const task = fold.snapshot()
  return { ...task, history: withAnswers(task.history ?? [], history) }
}

/** When a record was written; undefined where it does not say. */
export function recordTime(record: TaskRecord): number | undefined {
  if (record.kind === 'trace') return Date.parse(record.at)
  if (record.kind !== 'event') return undefined
  const { event } = record
  const status =
    'statusUpdate' in event ? event.statusUpdate.status : 'task' in event && event.task.status
  const time = status ? Date.parse(status.timestamp ?? '') : Number.NaN
  return Number.isNaN(time) ? undefined : time
}

/** When the last of these records was written, as far as they tell. */
export function lastTime(records: readonly TaskRecord[]): number | undefined {
  for (let i = records.length - 1; i >= 0; i--) {
    const record = records[i]
    const time = record && recordTime(record)
    if (time !== undefined) return time
  }
  return undefined
}

/** Stretches in which the task was neither at rest nor over, by its states; an open one ends at `now`. */
export function workOf(records: readonly TaskRecord[], now: number): readonly Span[] {
  const spans: Span[] = []
  let began: number | undefined
  for (const record of records) {
    const state = stateOf(record)
    const time = recordTime(record)
    if (state === undefined || time === undefined) continue
    const works = !isTerminal(state) && !isInterrupted(state)
    if (works) began ??= time
    else if (began !== undefined) {
      spans.push({ from: began, to: Math.max(time, began) })
      began = undefined
    }
  }
  if (began !== undefined) spans.push({ from: began, to: Math.max(now, began) })
  return spans
}

/** The state that a record brings. */
function stateOf(record: TaskRecord): TaskState | undefined {
  if (record.kind !== 'event') return undefined
  const { event } = record
  if ('statusUpdate' in event) return event.statusUpdate.status.state
  return 'task' in event ? event.task.status.state : undefined
}

/** Puts the user's answers of the whole conversation where they were given: after the question that they follow. */
function withAnswers(shown: readonly Message[], all: readonly Message[]): readonly Message[] {
  const known = new Set(shown.map(({ messageId }) => messageId))
  const last = all.findLastIndex(({ messageId }) => known.has(messageId))
  const before = all.filter(
    ({ messageId, role }, i) => known.has(messageId) || (i < last && role === 'ROLE_USER'),
  )
  const ids = new Set(before.map(({ messageId }) => messageId))
  return [...before, ...shown.filter(({ messageId }) => !ids.has(messageId))]
}
