import { A2AError } from '../protocol/errors.ts'
import { canTransition, isInterrupted, isTerminal } from '../protocol/task.ts'
import type {
  Json,
  Message,
  StreamResponse,
  Task,
  TaskState,
  TaskStatus,
} from '../protocol/types.ts'
import { failureMessage, TaskMoved } from './faults.ts'
import type { TaskLog } from './log.ts'
import type { QueuedMessage } from './messages.ts'
import type { RunHost } from './run-host.ts'

/**
 * Writes what happens to a task into its log. Before the first event that is not a Message there is no task, and nothing
 * is stored; whatever needs a log makes the task exist first. A class, not closures: one is made per request.
 */
export class RunWriter {
  readonly log: TaskLog
  readonly #host: RunHost
  /** The message whose turn runs or waits for its slot. */
  message: QueuedMessage | undefined
  /** Whether that turn has begun. */
  running = false
  /** What the agent keeps with the task, or with the one that may still come to be. */
  saved: Map<string, Json> | undefined

  constructor(log: TaskLog, host: RunHost) {
    this.log = log
    this.#host = host
  }

  /** Makes the task exist, from now or a moment before: SUBMITTED while it waits for a slot, WORKING while it runs. */
  ensureTask(moment?: string): void {
    const { log, message } = this
    if (log.exists || !message) return
    const timestamp = moment ?? this.timestamp()
    this.#open(message, {
      id: log.id,
      contextId: log.contextId,
      status: { state: this.running ? 'TASK_STATE_WORKING' : 'TASK_STATE_SUBMITTED', timestamp },
      history: [message.message],
    })
  }

  /** Notes that a turn begins, in a task that exists. */
  startTurn({ number: turn, attempt, deaths }: QueuedMessage): void {
    this.log.build = this.#host.build
    this.log.append({ kind: 'start', turn, attempt, ...(deaths?.total && { deaths }) })
    if (this.log.state !== 'TASK_STATE_WORKING') this.status('TASK_STATE_WORKING')
  }

  /** Now, but never before the task's last change: another machine's time may have been ahead, and ours may be put back. */
  timestamp(): string {
    const now = this.#host.timestamp()
    const { timestamp: last } = this.log
    return last !== undefined && last > now ? last : now
  }

  /** Writes an event of the turn. */
  emit(event: StreamResponse): void {
    // What opens the task is not later than what is said in it.
    if (!this.log.exists) this.ensureTask(momentOf(event))
    this.log.emit(event)
  }

  /** Writes a change of state, in a task that exists. */
  status(state: TaskState, message?: Message): void {
    const { id: taskId, contextId } = this.log
    this.log.emit({ statusUpdate: { taskId, contextId, status: this.#statusOf(state, message) } })
  }

  /** Writes why the task has failed, or what it lacks. */
  failure(fault: A2AError, state: TaskState = 'TASK_STATE_FAILED'): void {
    this.ensureTask()
    const { id: taskId, contextId } = this.log
    this.status(state, failureMessage(fault, { taskId, contextId }))
  }

  /** Completes a task that its agent has neither ended nor interrupted. */
  complete(): void {
    const { state } = this.log
    if (this.log.exists && (isTerminal(state) || isInterrupted(state))) return
    this.ensureTask()
    this.status('TASK_STATE_COMPLETED')
  }

  /**
   * Takes a Task from an agent for this task: as its beginning, or as changes to what is already there.
   * @throws A2AError `invalidAgentResponse` for one in a state that no task begins in.
   */
  adopt(task: Task): void {
    const { log, message } = this
    if (!message) return
    const { status, artifacts, history } = task
    if (log.exists) {
      this.#writeArtifacts(artifacts)
      // Agents of other libraries begin each turn by this; a task that is there is not submitted again.
      if (status.state !== 'TASK_STATE_SUBMITTED') this.status(status.state, status.message)
      return
    }
    if (!canTransition('TASK_STATE_SUBMITTED', status.state))
      throw new A2AError('invalidAgentResponse', `A task cannot begin in ${status.state}`)
    const refusal = log.refusalOf({ kind: 'event', event: { task } })
    if (refusal) throw refusal
    this.#open(message, {
      ...task,
      status: { ...status, timestamp: status.timestamp ?? this.#host.timestamp() },
      history: history?.length ? history : [message.message],
    })
  }

  /** Writes that messages which wait are not answered any more, and tells whoever waits for their answers. */
  drop(waiting: readonly QueuedMessage[], reason: string): void {
    for (const { message, answer } of waiting) {
      this.log.drop(message.messageId, reason)
      answer.fail(new A2AError('unsupportedOperation', reason))
    }
  }

  /** Tells whoever waits for this message how the task stands, once that is stored; then goes on. */
  tellAnswer(queued: QueuedMessage, then?: () => void): void {
    const { answer } = queued
    this.log.whenCommitted((refusal) => {
      if (refusal instanceof TaskMoved) this.#host.unanswered(queued, this.log, refusal)
      else if (refusal) answer.fail(refusal)
      else answer.settle({ task: this.log.current() })
      then?.()
    })
  }

  #writeArtifacts(artifacts: Task['artifacts']): void {
    const { id: taskId, contextId } = this.log
    for (const artifact of artifacts ?? [])
      this.log.emit({ artifactUpdate: { taskId, contextId, artifact } })
  }

  /** The first records of a task: the message that opens it, the start of its turn if it runs, the task itself. */
  #open(queued: QueuedMessage, task: Task): void {
    const { log } = this
    const { message, request, number: turn, attempt } = queued
    log.build = this.#host.build
    log.append({ kind: 'message', turn, message, request })
    queued.seq = log.seq
    if (this.running) log.append({ kind: 'start', turn, attempt })
    log.emit({ task })
    for (const [key, value] of this.saved ?? []) log.append({ kind: 'state', key, value })
  }

  #statusOf(state: TaskState, message?: Message): TaskStatus {
    const timestamp = this.timestamp()
    return message ? { state, message, timestamp } : { state, timestamp }
  }
}

function momentOf(event: StreamResponse): string | undefined {
  return 'statusUpdate' in event ? event.statusUpdate.status.timestamp : undefined
}
