import { A2AError } from '../../protocol/errors.ts'
import { textOf } from '../../protocol/task.ts'
import type {
  Artifact,
  JsonObject,
  Message,
  Part,
  StreamResponse,
  TaskState,
  TaskStatus,
} from '../../protocol/types.ts'
import { addUsage, type Usage, usageOf } from '../../protocol/usage.ts'
import { isSettled } from '../ask.ts'

/** An agent's events as the one text that a chat client sees. */
export interface TextReader {
  /** The further text that an event brings; often none. */
  take(event: StreamResponse): string
  readonly state: TaskState | undefined
  /** Whether the answer is whole, or the agent asks back. */
  readonly settled: boolean
  readonly text: string
  readonly usage: Usage | undefined
  readonly taskId: string | undefined
  readonly contextId: string | undefined
  /** The error that the task ended in; undefined where it answered or asks. */
  fault(): A2AError | undefined
}

/**
 * Reads text out of events. Artifacts follow one another with a blank line; one that is sent anew goes on where it
 * was, if it begins alike. Progress notes are not part of the answer; the last status' words are, where there is no
 * artifact, or where they are a question.
 */
export function createTextReader(): TextReader {
  const told = new Map<string, string>()
  let text = ''
  let parts: Usage | undefined
  let total: Usage | undefined
  let state: TaskState | undefined
  let failure = ''
  let taskId: string | undefined
  let contextId: string | undefined

  function say(more: string, apart: boolean): string {
    if (more === '') return ''
    const said = apart && text !== '' ? `\n\n${more}` : more
    text += said
    return said
  }
  // Usage of artifacts adds up; a status or message tells of the whole.
  function conclude(metadata: JsonObject | undefined): void {
    total = usageOf(metadata) ?? total
  }
  function artifact(value: Artifact, append: boolean): string {
    parts = addUsage(parts, usageOf(value.metadata))
    const { artifactId } = value
    const before = told.get(artifactId)
    const more = toText(value.parts)
    const whole = append ? `${before ?? ''}${more}` : more
    told.set(artifactId, whole)
    if (before === undefined || before === '') return say(whole, true)
    return whole.startsWith(before) ? say(whole.slice(before.length), false) : say(whole, true)
  }
  function status({ state: next, message }: TaskStatus): string {
    state = next
    conclude(message?.metadata)
    const words = message ? toText(message.parts) : ''
    if (isFailure(next)) failure = message ? textOf(message.parts) : ''
    else if (next === 'TASK_STATE_COMPLETED') return text === '' ? say(words, true) : ''
    else if (isSettled(next)) return say(words, true)
    return ''
  }
  function place(ids: { readonly taskId: string; readonly contextId: string }): void {
    taskId = ids.taskId
    contextId = ids.contextId
  }
  function lone(message: Message): string {
    state = 'TASK_STATE_COMPLETED'
    contextId = message.contextId
    conclude(message.metadata)
    return say(toText(message.parts), true)
  }

  return {
    take(event) {
      if ('artifactUpdate' in event) {
        const { artifact: value, append = false } = event.artifactUpdate
        place(event.artifactUpdate)
        return artifact(value, append)
      }
      if ('message' in event) return lone(event.message)
      if ('statusUpdate' in event) {
        place(event.statusUpdate)
        conclude(event.statusUpdate.metadata)
        return status(event.statusUpdate.status)
      }
      place({ taskId: event.task.id, contextId: event.task.contextId })
      conclude(event.task.metadata)
      const artifacts = (event.task.artifacts ?? []).map((value) => artifact(value, false))
      return artifacts.join('') + status(event.task.status)
    },
    get state() {
      return state
    },
    get settled() {
      return state !== undefined && isSettled(state)
    },
    get text() {
      return text
    },
    get usage() {
      return total ?? parts
    },
    get taskId() {
      return taskId
    },
    get contextId() {
      return contextId
    },
    fault() {
      if (state === undefined || !isSettled(state))
        return new A2AError('timeout', 'The agent has not answered in time')
      if (!isFailure(state)) return undefined
      return new A2AError('processingError', failure || `The task ended as ${state}`, {
        metadata: { openai: state.replace('TASK_STATE_', 'task_').toLowerCase() },
      })
    },
  }
}

function isFailure(state: TaskState): boolean {
  return (
    state === 'TASK_STATE_FAILED' ||
    state === 'TASK_STATE_REJECTED' ||
    state === 'TASK_STATE_CANCELED'
  )
}

function toText(parts: readonly Part[]): string {
  return parts.map(partText).join('')
}

/** Data and files in the Markdown that chat clients show; bytes are named, not shown. */
function partText(part: Part): string {
  if ('text' in part) return part.text
  if ('data' in part) return `\n\`\`\`json\n${JSON.stringify(part.data, null, 2)}\n\`\`\`\n`
  const name = part.filename ?? part.mediaType ?? 'file'
  return 'url' in part ? `[${name}](${part.url})` : `[${name}]`
}
