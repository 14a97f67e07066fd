import { toolCallsOf } from '../../protocol/client-tools.ts'
import { clientRoutingExtension } from '../../protocol/extensions.ts'
import { createFold, type Fold } from '../../protocol/fold.ts'
import { isInterrupted, isTerminal, textOf } from '../../protocol/task.ts'
import type {
  Artifact,
  Json,
  JsonObject,
  Message,
  Part,
  StreamResponse,
  TaskState,
} from '../../protocol/types.ts'
import { addUsage, toUsageMetadata, type Usage, usageOf } from '../../protocol/usage.ts'
import type { AgentAnswer, AgentEvent, Turn } from '../agent.ts'
import { type ReplyPlace, readAgentEvent, responseArtifact } from '../reply.ts'

/** What an agent says in one try, held back until it is known whether it is an answer and whether it fits. */
export class HeldAnswer implements ReplyPlace {
  readonly taskId: string
  readonly contextId: string
  readonly responseId: string = responseArtifact
  hasResponse = false
  readonly #turn: Turn
  /** Made for what is more than one message. */
  #fold: Fold | undefined
  readonly #events: StreamResponse[] = []
  #artifacts: readonly Artifact[] | undefined
  #lone: Message | undefined
  /** What is said of the answer as a whole. */
  #metadata: JsonObject | undefined
  /** What a status on the way says of who goes on; any metadata may, where there are no words. */
  #handing: 'over' | 'perhaps' | undefined

  constructor(turn: Turn) {
    this.taskId = turn.taskId
    this.contextId = turn.contextId
    this.#turn = turn
  }

  /** Takes in an event. False for one that is no part of the answer, such as progress, and need not wait. */
  take(event: StreamResponse): boolean {
    if ('message' in event) this.#lone = event.message
    else this.#toFold().apply(event)
    if ('statusUpdate' in event) {
      const { status, metadata } = event.statusUpdate
      const { state } = status
      const ends = isTerminal(state) || state === 'TASK_STATE_INPUT_REQUIRED'
      if (!ends) {
        if (metadata) this.#handing = clientRoutingExtension in metadata ? 'over' : 'perhaps'
        return false
      }
      this.#note(status.message?.metadata)
      this.#note(metadata)
    } else if ('task' in event) {
      this.#note(event.task.status.message?.metadata)
      this.#note(event.task.metadata)
    } else if ('message' in event) this.#note(event.message.metadata)
    this.#events.push(event)
    return true
  }

  /** Takes in a whole answer. */
  takeAnswer(answer: AgentAnswer): void {
    if (answer !== undefined) this.take(readAgentEvent(answer, this))
  }

  /** Whether the agent has nothing more to say. */
  get hasEnded(): boolean {
    const state = this.#state
    return isTerminal(state) || state === 'TASK_STATE_INPUT_REQUIRED'
  }

  /** Whether it waits for the user. */
  get asks(): boolean {
    return isInterrupted(this.#state)
  }

  /** Whether it is an answer at all: no question, no failure, no call of the client's tools, no handing over. */
  get isAnswer(): boolean {
    const state = this.#state
    if (this.asks || (isTerminal(state) && state !== 'TASK_STATE_COMPLETED')) return false
    if (this.#handing === 'over' || (this.#handing && this.parts.every(isEmpty))) return false
    return !this.#all().some(({ metadata }) => metadata && toolCallsOf(metadata)?.length)
  }

  get parts(): readonly Part[] {
    const artifacts = this.#all()
    if (artifacts.length > 0) return artifacts.flatMap(({ parts }) => parts)
    return this.#lone?.parts ?? this.#fold?.snapshot().status.message?.parts ?? []
  }

  get usage(): Usage | undefined {
    const whole = usageOf(this.#metadata)
    if (whole) return whole
    return this.#all().reduce<Usage | undefined>(
      (sum, { metadata }) => addUsage(sum, usageOf(metadata)),
      undefined,
    )
  }

  /** The events as they came, the last with the tokens that earlier tries used as well. */
  *asItIs(earlier: Usage | undefined): Iterable<AgentEvent> {
    const total = earlier && addUsage(earlier, this.usage)
    const last = this.#events.at(-1)
    for (const event of this.#events) yield event === last && total ? telling(event, total) : event
  }

  /** The answer as data: one part, and behind it the files that came with it. */
  *asData(data: Json, earlier: Usage | undefined): Iterable<AgentEvent> {
    const { number } = this.#turn
    const artifactId = number === 1 ? responseArtifact : `${responseArtifact}-${number}`
    const [first, ...others] = this.#all()
    const total = addUsage(earlier, this.usage)
    const metadata = {
      ...this.#metadata,
      ...first?.metadata,
      ...(total && toUsageMetadata(total)),
    }
    const answer: Artifact = {
      artifactId,
      name: responseArtifact,
      parts: [{ data, mediaType: 'application/json' }, ...filesOf(first ?? this)],
      ...(Object.keys(metadata).length > 0 && { metadata }),
    }
    yield this.#turn.artifact(answer, { lastChunk: true })
    for (const artifact of others) {
      const parts = filesOf(artifact)
      const isTaken = artifact.artifactId === artifactId
      const name = isTaken ? { artifactId: `${artifactId}-other` } : {}
      if (parts.length > 0)
        yield this.#turn.artifact({ ...artifact, ...name, parts }, { lastChunk: true })
    }
  }

  get #state(): TaskState {
    return this.#fold?.state ?? 'TASK_STATE_WORKING'
  }

  #toFold(): Fold {
    const { taskId: id, contextId } = this
    this.#fold ??= createFold({ id, contextId, status: { state: 'TASK_STATE_WORKING' } })
    return this.#fold
  }

  #note(metadata: JsonObject | undefined): void {
    if (metadata) this.#metadata = this.#metadata ? { ...this.#metadata, ...metadata } : metadata
  }

  /** Looked at when everything has been said. */
  #all(): readonly Artifact[] {
    if (this.#artifacts) return this.#artifacts
    this.#fold?.compact()
    this.#artifacts = this.#fold?.snapshot().artifacts ?? []
    return this.#artifacts
  }
}

function filesOf({ parts }: { readonly parts: readonly Part[] }): readonly Part[] {
  return parts.filter((part) => 'raw' in part || 'url' in part)
}

function isEmpty(part: Part): boolean {
  return 'text' in part && textOf([part]) === ''
}

function telling(event: StreamResponse, total: Usage): StreamResponse {
  const usage = toUsageMetadata(total)
  if ('statusUpdate' in event) {
    const { statusUpdate } = event
    return { statusUpdate: { ...statusUpdate, metadata: { ...statusUpdate.metadata, ...usage } } }
  }
  if ('artifactUpdate' in event) {
    const { artifactUpdate } = event
    const { artifact } = artifactUpdate
    const metadata = { ...artifact.metadata, ...usage }
    return { artifactUpdate: { ...artifactUpdate, artifact: { ...artifact, metadata } } }
  }
  if ('task' in event)
    return { task: { ...event.task, metadata: { ...event.task.metadata, ...usage } } }
  return event
}
