import { toolCallsOf } from '../../protocol/client-tools.ts'
import { createFold, type Fold } from '../../protocol/fold.ts'
import { isInterrupted, isTerminal } from '../../protocol/task.ts'
import type { Artifact, JsonObject, Message, Part, StreamResponse } from '../../protocol/types.ts'
import { addUsage, toUsageMetadata, type Usage, usageOf } from '../../protocol/usage.ts'
import type { AgentEvent, Turn } from '../agent.ts'
import { type ReplyPlace, responseArtifact } from '../reply.ts'
import type { GuardCheck } from './check.ts'
import { checkArtifact, checkPieces } from './pieces.ts'

/** What an agent says, held back until its guards have looked at it. */
export class HeldReply implements ReplyPlace {
  readonly taskId: string
  readonly contextId: string
  readonly responseId: string
  hasResponse = false
  readonly #turn: Turn
  readonly #check: GuardCheck
  readonly #fold: Fold
  #lone: Message | undefined
  /** Of events, not of what they bring. */
  #metadata: JsonObject | undefined

  constructor(turn: Turn, check: GuardCheck) {
    const { taskId: id, contextId, number } = turn
    this.taskId = id
    this.contextId = contextId
    this.responseId = number === 1 ? responseArtifact : `${responseArtifact}-${number}`
    this.#turn = turn
    this.#check = check
    this.#fold = createFold({ id, contextId, status: { state: 'TASK_STATE_WORKING' } })
  }

  /** Takes in an event; true where nothing more is wanted. */
  take(event: StreamResponse): boolean {
    if ('message' in event) {
      this.#lone = event.message
      return true
    }
    this.#fold.apply(event)
    this.#note('task' in event ? event.task.metadata : Object.values(event)[0]?.metadata)
    return this.hasEnded
  }

  get hasEnded(): boolean {
    const { state } = this.#fold
    return isTerminal(state) || state === 'TASK_STATE_INPUT_REQUIRED'
  }

  /** What the answer has cost. */
  get usage(): Usage | undefined {
    const { artifacts = [], status } = this.#fold.snapshot()
    const whole = usageOf(this.#metadata) ?? usageOf((this.#lone ?? status.message)?.metadata)
    if (whole) return whole
    return artifacts.reduce<Usage | undefined>(
      (sum, { metadata }) => addUsage(sum, usageOf(metadata)),
      undefined,
    )
  }

  /** What the guards have left, as events. @throws ContentBlocked */
  async *released(): AsyncGenerator<AgentEvent> {
    if (this.#lone) {
      yield await this.#message(this.#lone, 'answer')
      return
    }
    this.#fold.compact()
    const { artifacts = [], status } = this.#fold.snapshot()
    const { state, message } = status
    const isAnswer = state === 'TASK_STATE_COMPLETED' || !this.hasEnded
    const words = isAnswer && message ? [message.parts] : []
    const pieces = [...artifacts.map(({ parts }) => parts), ...words]
    const left = this.#saysNothing(artifacts, pieces)
      ? pieces
      : await checkPieces(this.#check, pieces)
    for (const [index, artifact] of artifacts.entries()) {
      const parts = left[index]
      if (parts)
        yield this.#turn.artifact(checkArtifact(this.#check, artifact, parts), { lastChunk: true })
    }
    const said = message && (await this.#last(message, { isAnswer, parts: left[artifacts.length] }))
    const metadata = this.#total()
    yield {
      statusUpdate: {
        status: {
          state: this.hasEnded ? state : 'TASK_STATE_COMPLETED',
          ...(said && { message: said }),
        },
        ...(metadata && { metadata }),
      },
    }
  }

  /** A question, or a call of the client's tools, comes without an answer. */
  #saysNothing(artifacts: readonly Artifact[], pieces: readonly (readonly Part[])[]): boolean {
    if (pieces.some(({ length }) => length > 0)) return false
    const calls = artifacts.some(({ metadata }) => metadata && toolCallsOf(metadata)?.length)
    return calls || (this.hasEnded && this.#fold.state !== 'TASK_STATE_COMPLETED')
  }

  async #last(
    message: Message,
    {
      isAnswer,
      parts,
    }: { readonly isAnswer: boolean; readonly parts: readonly Part[] | undefined },
  ): Promise<Message | undefined> {
    if (isAnswer) return parts && this.#noted({ ...message, parts })
    return this.#message(message, isInterrupted(this.#fold.state) ? 'question' : 'status')
  }

  async #message(message: Message, kind: 'answer' | 'question' | 'status'): Promise<Message> {
    return this.#noted({ ...message, parts: await this.#check.parts(message.parts, kind) })
  }

  #noted(message: Message): Message {
    const { metadata } = message
    return metadata ? { ...message, metadata: this.#check.notes(metadata) } : message
  }

  /** The tokens of those who were asked for verdicts are the answer's too. */
  #total(): JsonObject | undefined {
    const { usage } = this.#check
    const total = usage && addUsage(usage, this.usage)
    const own = this.#metadata && this.#check.notes(this.#metadata)
    return total ? { ...own, ...toUsageMetadata(total) } : own
  }

  #note(metadata: JsonObject | undefined): void {
    if (metadata) this.#metadata = this.#metadata ? { ...this.#metadata, ...metadata } : metadata
  }
}
