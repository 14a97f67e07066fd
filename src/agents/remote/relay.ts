import { answerParts, isInterrupted, isTerminal } from '../../protocol/task.ts'
import type {
  Artifact,
  JsonObject,
  Message,
  StreamResponse,
  Task,
  TaskArtifactUpdateEvent,
  TaskState,
  TaskStatus,
} from '../../protocol/types.ts'
import type { AgentEvent, Turn } from '../agent.ts'
import type { RemotePhase } from './memory.ts'

/** Turns a remote task's events into ours, one by one. */
interface Relay {
  /** What a remote event means in our task. */
  take(event: StreamResponse): readonly AgentEvent[]
  /** What is left to say when no more events come. */
  end(): readonly AgentEvent[]
  /** Whether the remote works, waits for something from our caller, or has ended. */
  phase(): RemotePhase
}

/**
 * A relay for a turn. Artifacts, files, data and status texts go through as they come; ids of task, context and
 * messages become ours. A chunk of an artifact that we have not seen begins it.
 */
export function createRelay(turn: Turn): Relay {
  const begun = new Set<string>()
  let state: TaskState = 'TASK_STATE_SUBMITTED'
  let answered = false
  /** A snapshot's question: it may be the one that our message has just answered, so only the end makes it one. */
  let question: { status: TaskStatus; metadata?: JsonObject } | undefined

  function artifact(value: Artifact, update: Partial<TaskArtifactUpdateEvent> = {}): AgentEvent {
    const append = update.append === true && begun.has(value.artifactId)
    begun.add(value.artifactId)
    return turn.artifact(value, {
      ...(append && { append }),
      ...(update.lastChunk && { lastChunk: true }),
      ...(update.metadata && { metadata: update.metadata }),
    })
  }

  function status(next: TaskStatus, metadata?: JsonObject): readonly AgentEvent[] {
    const before = state
    state = next.state
    question = undefined
    if (isIdle(next, before)) return []
    const message = next.message && { message: ours(next.message) }
    return [
      {
        statusUpdate: { status: { state: next.state, ...message }, ...(metadata && { metadata }) },
      },
    ]
  }

  function ours(message: Message): Message {
    const { metadata } = message
    return { ...turn.reply(message.parts), ...(metadata && { metadata }) }
  }

  function snapshot(task: Task): readonly AgentEvent[] {
    const artifacts = (task.artifacts ?? []).map((value) => artifact(value))
    if (task.status.state === 'TASK_STATE_INPUT_REQUIRED') {
      question = { status: task.status, ...(task.metadata && { metadata: task.metadata }) }
      return artifacts
    }
    return [...artifacts, ...status(withAnswer(task, begun.size > 0, ours), task.metadata)]
  }

  return {
    take(event) {
      if ('artifactUpdate' in event) {
        const { artifact: value, ...update } = event.artifactUpdate
        return [artifact(value, update)]
      }
      if ('statusUpdate' in event)
        return status(event.statusUpdate.status, event.statusUpdate.metadata)
      if ('task' in event) return snapshot(event.task)
      answered = true
      return [ours(event.message)]
    },
    end: () => (question ? status(question.status, question.metadata) : []),
    phase() {
      if (answered || isTerminal(state)) return 'done'
      return isInterrupted(state) ? 'waiting' : 'running'
    },
  }
}

/** States that tell our caller nothing: it knows that we work, unless it was last told that we wait. */
function isIdle({ state, message }: TaskStatus, before: TaskState): boolean {
  if (state === 'TASK_STATE_WORKING') return !message && before !== 'TASK_STATE_AUTH_REQUIRED'
  return state === 'TASK_STATE_SUBMITTED' || state === 'TASK_STATE_UNSPECIFIED'
}

/** Some agents put their answer only into the history; the completed status then brings it. */
function withAnswer(
  task: Task,
  hasArtifacts: boolean,
  ours: (message: Message) => Message,
): TaskStatus {
  const { status } = task
  if (status.state !== 'TASK_STATE_COMPLETED' || status.message || hasArtifacts) return status
  const parts = answerParts(task)
  if (parts.length === 0) return status
  return { ...status, message: ours({ messageId: '', role: 'ROLE_AGENT', parts }) }
}
