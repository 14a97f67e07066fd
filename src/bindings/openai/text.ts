import { type ClientToolCall, toolCallsOf } from '../../protocol/client-tools.ts'
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
  /** What the agent wants its client's tools to do. */
  readonly toolCalls: readonly ClientToolCall[]
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
  return new EventTextReader()
}

class EventTextReader implements TextReader {
  text = ''
  state: TaskState | undefined
  toolCalls: readonly ClientToolCall[] = []
  taskId: string | undefined
  contextId: string | undefined
  /** What has been said of each artifact. */
  readonly #told = new Map<string, string>()
  /** Usage of artifacts adds up; a status or message tells of the whole. */
  #parts: Usage | undefined
  #total: Usage | undefined
  #failure = ''

  get settled(): boolean {
    return this.state !== undefined && isSettled(this.state)
  }

  get usage(): Usage | undefined {
    return this.#total ?? this.#parts
  }

  take(event: StreamResponse): string {
    if ('artifactUpdate' in event) {
      const { artifact, append = false } = event.artifactUpdate
      this.#place(event.artifactUpdate)
      return this.#artifact(artifact, append)
    }
    if ('message' in event) return this.#message(event.message)
    if ('statusUpdate' in event) {
      this.#place(event.statusUpdate)
      this.#conclude(event.statusUpdate.metadata)
      return this.#status(event.statusUpdate.status)
    }
    const { id: taskId, contextId, metadata, artifacts = [], status } = event.task
    this.#place({ taskId, contextId })
    this.#conclude(metadata)
    const said = artifacts.map((artifact) => this.#artifact(artifact, false))
    return said.join('') + this.#status(status)
  }

  fault(): A2AError | undefined {
    const { state } = this
    if (state === undefined || !isSettled(state))
      return new A2AError('timeout', 'The agent has not answered in time')
    if (!isFailure(state)) return undefined
    return new A2AError('processingError', this.#failure || `The task ended as ${state}`, {
      metadata: { openai: state.replace('TASK_STATE_', 'task_').toLowerCase() },
    })
  }

  #say(more: string, apart: boolean): string {
    if (more === '') return ''
    const said = apart && this.text !== '' ? `\n\n${more}` : more
    this.text += said
    return said
  }

  #artifact({ artifactId, parts, metadata }: Artifact, append: boolean): string {
    if (metadata) {
      this.#parts = addUsage(this.#parts, usageOf(metadata))
      this.toolCalls = toolCallsOf(metadata) ?? this.toolCalls
    }
    const before = this.#told.get(artifactId)
    const more = toText(parts)
    const whole = append ? `${before ?? ''}${more}` : more
    this.#told.set(artifactId, whole)
    if (before === undefined || before === '') return this.#say(whole, true)
    if (whole.startsWith(before)) return this.#say(whole.slice(before.length), false)
    return this.#say(whole, true)
  }

  #status({ state, message }: TaskStatus): string {
    this.state = state
    this.#conclude(message?.metadata)
    const words = message ? toText(message.parts) : ''
    if (isFailure(state)) this.#failure = message ? textOf(message.parts) : ''
    else if (state === 'TASK_STATE_COMPLETED') return this.text === '' ? this.#say(words, true) : ''
    else if (isSettled(state)) return this.#say(words, true)
    return ''
  }

  #message({ contextId, metadata, parts }: Message): string {
    this.state = 'TASK_STATE_COMPLETED'
    this.contextId = contextId
    this.#conclude(metadata)
    return this.#say(toText(parts), true)
  }

  #conclude(metadata: JsonObject | undefined): void {
    this.#total = usageOf(metadata) ?? this.#total
  }

  #place({ taskId, contextId }: { readonly taskId: string; readonly contextId: string }): void {
    this.taskId = taskId
    this.contextId = contextId
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
