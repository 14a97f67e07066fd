import { A2AError } from '../protocol/errors.ts'
import type { Json, Message, Task, TaskStatus } from '../protocol/types.ts'
import type { LogRecord } from '../store/store.ts'
import type { TurnRequest } from '../store/turn-request.ts'
import { openingOf, stepsOf } from './leftover.ts'
import type { QueuedMessage } from './messages.ts'

/** What of a message that waits only the log has, while its run is unloaded. */
interface MessageContent {
  readonly message: Message
  readonly request: TurnRequest
  readonly steps: ReadonlyMap<string, Json> | undefined
}

/** Leaves of a message what its turn is found by. */
export function letGoOfContent(queued: QueuedMessage): void {
  const { messageId, role, contextId = '', taskId = '' } = queued.message
  queued.message = { messageId, contextId, taskId, role, parts: [] }
  queued.request = { userId: queued.request.userId }
  if (queued.steps) queued.steps = new Map()
}

/** The content of a message as its log has it. @throws A2AError where the log does not have it. */
export function contentOf(
  { number, steps }: QueuedMessage,
  records: readonly LogRecord[],
): MessageContent {
  const opening = openingOf(records, number)
  if (!opening) throw new A2AError('internal', 'The log of this task is incomplete')
  return { ...opening, steps: steps && stepsOf(records, number) }
}

/** Gives a message its content again. */
export function restoreContent(
  queued: QueuedMessage,
  { message, request, steps }: MessageContent,
): void {
  queued.message = message
  queued.request = request
  if (steps) queued.steps = steps
}

/** A task with the status that it had before a record: a turn sees what its message answers, not that it had to wait. */
export function withStatusBefore(task: Task, records: readonly LogRecord[], seq: number): Task {
  let status: TaskStatus | undefined
  for (const record of records)
    if (record.seq < seq && record.kind === 'event') status = statusIn(record) ?? status
  return status ? { ...task, status } : task
}

function statusIn({ event }: Extract<LogRecord, { kind: 'event' }>): TaskStatus | undefined {
  if ('statusUpdate' in event) return event.statusUpdate.status
  return 'task' in event ? event.task.status : undefined
}
