import type { Turn } from '../agents/agent.ts'
import { type ReplyPlace, responseArtifact, responseOf } from '../agents/reply.ts'
import { A2AError } from '../protocol/errors.ts'
import { toAmounts, type Usage } from '../protocol/extensions.ts'
import {
  createFold,
  dataOf,
  type Fold,
  isInterrupted,
  isTerminal,
  readableText,
} from '../protocol/task.ts'
import type {
  Json,
  JsonObject,
  Message,
  Part,
  StreamResponse,
  TaskState,
} from '../protocol/types.ts'
import type { Mutable } from '../shared/json.ts'
import type { StepResult } from './config.ts'
import type { MemberReply } from './schedulers/scheduler.ts'

/**
 * What a team writes into its task's trace, one entry for each thing that happens. Entries about one call share its
 * `call` id; those of nested teams have `at`, the way by which they were reached. Guards write entries of the type
 * `guard`, with the `side` that they stand on, with which their `at` also ends.
 */
export type TraceEntry =
  /** A member is being called; `try` counts from 1. */
  | (CallFacts & { readonly type: 'delegation'; readonly try: number; readonly text: string })
  /** It has answered. */
  | (CallFacts & {
      readonly type: 'reply'
      readonly state: TaskState
      readonly durationMs: number
      readonly inputTokens?: number
      readonly outputTokens?: number
      readonly costUsd?: number
      readonly text: string
    })
  /** It has failed; `reason` is an error code. */
  | (CallFacts & {
      readonly type: 'failure'
      readonly reason: string
      readonly durationMs: number
    })
  /** It will be tried again. */
  | (CallFacts & { readonly type: 'retry'; readonly try: number; readonly delayMs: number })
  /** Another member answers in its place. */
  | (CallFacts & { readonly type: 'fallback'; readonly to: string })
  /** A supervisor or router has decided who goes on. */
  | {
      readonly type: 'decision'
      readonly team: string
      readonly member: string
      readonly recipients: readonly string[]
      readonly reason?: string
    }
  /** The user has answered an approval: `approved`, `rejected`, `feedback` for an earlier step, or `unclear` and asked again. */
  | {
      readonly type: 'approval'
      readonly team: string
      readonly step: string
      readonly verdict: 'approved' | 'rejected' | 'feedback' | 'unclear'
      readonly text: string
    }
  /** A workflow step was left out because its condition does not hold, or no case of a branch applies. */
  | { readonly type: 'skip'; readonly team: string; readonly step: string }
  /** A branch goes on by one of its cases, counted from 1. */
  | {
      readonly type: 'branch'
      readonly team: string
      readonly step: string
      readonly case: number
    }
  /** A map goes through so many items. */
  | {
      readonly type: 'map'
      readonly team: string
      readonly step: string
      readonly items: number
    }

/** Which call of a member an entry of the trace is about. */
export type CallFacts = {
  readonly call: string
  readonly team: string
  readonly member: string
  readonly step: string
}

type From = NonNullable<MemberReply['from']>

/** A member's reply as it comes in, to its end or to the first state in which the member stops. */
export class Collector implements ReplyPlace {
  readonly taskId: string
  readonly contextId: string
  readonly responseId: string = responseArtifact
  hasResponse: boolean = false
  readonly #fold: Fold
  #lone: Message | undefined
  #metadata: JsonObject | undefined

  constructor({ taskId, contextId }: Turn) {
    this.taskId = taskId
    this.contextId = contextId
    this.#fold = createFold({ id: taskId, contextId, status: { state: 'TASK_STATE_WORKING' } })
  }

  /** Takes in an event; gives it back as the team passes it on, a lone message as a chunk of the response. */
  take(event: StreamResponse): StreamResponse {
    this.#metadata = merge(this.#metadata, metadataOf(event))
    if ('message' in event) {
      this.#lone = event.message
      return responseOf(event.message, this)
    }
    this.#fold.apply(event)
    return event
  }

  get hasStopped(): boolean {
    return isTerminal(this.#fold.state) || isInterrupted(this.#fold.state)
  }

  reply(from: From): MemberReply {
    this.#fold.compact()
    const task = this.#fold.snapshot()
    const message = this.#lone ?? task.status.message
    const state = this.hasStopped ? this.#fold.state : 'TASK_STATE_COMPLETED'
    const reply: Mutable<MemberReply> = { from, state }
    if (message) reply.message = message
    if (task.artifacts) reply.artifacts = task.artifacts
    if (this.#metadata) reply.metadata = this.#metadata
    return reply
  }
}

function metadataOf(event: StreamResponse): JsonObject | undefined {
  if ('statusUpdate' in event) {
    const { metadata, status } = event.statusUpdate
    return merge(status.message?.metadata, metadata)
  }
  if ('artifactUpdate' in event)
    return merge(event.artifactUpdate.artifact.metadata, event.artifactUpdate.metadata)
  if ('task' in event)
    return merge(
      merge(event.task.artifacts?.at(-1)?.metadata, event.task.status.message?.metadata),
      event.task.metadata,
    )
  return event.message.metadata
}

function merge(a: JsonObject | undefined, b: JsonObject | undefined): JsonObject | undefined {
  if (!a) return b
  return b ? { ...a, ...b } : a
}

/** A reply as the task's log takes it. */
export function replyToJson(reply: MemberReply): Json {
  const value: object = reply
  return value as Json // a reply is built of JSON values only
}

/** A reply from the task's log, where only `replyToJson` has put it. */
export function replyFromJson(value: Json): MemberReply {
  if (typeof value !== 'object' || value === null)
    throw new A2AError('internal', 'The log of the team holds no reply')
  const stored: object = value
  return stored as MemberReply // written by replyToJson
}

/** The entry for a reply, which used so much. */
export function replyEntry(
  { call, team, member, step }: CallFacts,
  reply: MemberReply,
  { durationMs, usage }: { readonly durationMs: number; readonly usage: Usage | undefined },
): JsonObject {
  const { state } = reply
  const text = clip(replyParts(reply))
  const entry: TraceEntry = { type: 'reply', state, text, call, team, member, step, durationMs }
  return toEntry(usage ? { ...entry, ...toAmounts(usage) } : entry)
}

const longest = 2_000

/** The text of parts, or the data where they are data alone, short enough for a trace. */
export function clip(parts: readonly Part[], length: number = longest): string {
  const { text } = toStepResult(parts)
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}

/** What parts say as words and as data: the data of the data part, a list where there are several. */
export function toStepResult(parts: readonly Part[]): StepResult {
  return { text: readableText(parts), data: dataOf(parts) }
}

/** Gives the parts of a member's answer: its artifacts', else its message's. Files and data are among them. */
export function replyParts(reply: MemberReply): readonly Part[] {
  const { artifacts } = reply
  if (artifacts?.length === 1) return artifacts[0]?.parts ?? []
  if (artifacts?.length) return artifacts.flatMap((artifact) => artifact.parts)
  return reply.message?.parts ?? []
}

/** An entry as the log takes it. */
export function toEntry(entry: TraceEntry): JsonObject {
  return entry
}
