import { A2AError } from '../protocol/errors.ts'
import { parseTask } from '../protocol/schema.ts'
import { canTransition } from '../protocol/task.ts'
import type { Message, Task } from '../protocol/types.ts'
import { copyOf, type Mutable } from '../shared/json.ts'
import type { Letter } from './letter.ts'
import type { TaskLog } from './log.ts'

/** A message under these ids alone. Written out: to copy it by a spread costs more than the rest of taking it in. */
export function addressed(
  sent: Message,
  { taskId, contextId }: { readonly taskId?: string; readonly contextId: string },
): Message {
  const { messageId, role, parts, metadata, extensions, referenceTaskIds } = sent
  const message: Mutable<Message> = taskId
    ? { messageId, contextId, taskId, role, parts }
    : { messageId, contextId, role, parts }
  if (metadata) message.metadata = metadata
  if (extensions) message.extensions = extensions
  if (referenceTaskIds) message.referenceTaskIds = referenceTaskIds
  return message
}

/** A copy of a message, for the agent that it goes to. */
export function ownMessage(message: Message): Message {
  const { contextId = '', taskId, parts, metadata, extensions, referenceTaskIds } = message
  const own: Mutable<Message> = addressed(message, taskId ? { taskId, contextId } : { contextId })
  own.parts = copyOf(parts)
  if (metadata) own.metadata = copyOf(metadata)
  if (extensions) own.extensions = copyOf(extensions)
  if (referenceTaskIds) own.referenceTaskIds = copyOf(referenceTaskIds)
  return own
}

/** Writes the first records of a task: the message that opened it, the start of its turn if it runs, the task itself. */
export function writeOpening(log: TaskLog, letter: Letter, opening: Opening): void {
  const { message, request, number: turn, attempt } = letter
  log.append({ kind: 'message', turn, message, request })
  letter.seq = log.seq
  if (opening.running) log.append({ kind: 'start', turn, attempt })
  log.emit({ task: opening.task })
}

/** How a task begins. */
export interface Opening {
  readonly task: Task
  readonly running: boolean
}

/** Writes a task that an agent gave as changes to the one that is already there; its status is the caller's to write. */
export function writeArtifacts(log: TaskLog, task: Task): void {
  const { id: taskId, contextId } = log
  for (const artifact of task.artifacts ?? [])
    log.emit({ artifactUpdate: { taskId, contextId, artifact } })
}

/**
 * A Task from an agent, under this task's own ids.
 * @throws A2AError `invalidAgentResponse` for what is no task, or one that begins in no state.
 */
export function adoptTask(log: TaskLog, given: Task): Task {
  const task = parseTask({ ...given, id: log.id, contextId: log.contextId })
  const { state } = task.status
  if (!log.exists && !canTransition('TASK_STATE_SUBMITTED', state))
    throw new A2AError('invalidAgentResponse', `A task cannot begin in ${state}`)
  return task
}

/** The task without a letter's message and those that wait behind it; undefined if the message opens it. */
export function taskBefore(
  log: TaskLog,
  letter: Letter,
  waiting: readonly Letter[],
): Task | undefined {
  if (letter.number === 1) return undefined
  const task = log.current()
  const unheard = new Set([letter, ...waiting].map(({ message }) => message.messageId))
  const history = task.history?.filter((one) => !isUnheard(one, unheard))
  return { ...task, ...(history && { history }) }
}

function isUnheard({ role, messageId }: Message, unheard: ReadonlySet<string>): boolean {
  return role === 'ROLE_USER' && unheard.has(messageId)
}
