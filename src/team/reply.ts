import type { AgentReply, Turn } from '../agents/agent.ts'
import { type ReplyPlace, readReply, responseArtifact, responseOf } from '../agents/reply.ts'
import { A2AError } from '../protocol/errors.ts'
import { toAmounts, type Usage } from '../protocol/extensions.ts'
import { createFold, type Fold } from '../protocol/fold.ts'
import { dataOf, isInterrupted, isTerminal, readableText } from '../protocol/task.ts'
import type {
  Artifact,
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
import type { LinkedSignal } from './signal.ts'

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

/** Where a reply is collected. */
interface Collection {
  readonly turn: Turn
  /** The member that replies. */
  readonly from: From
  /** What ends the wait for the member. */
  readonly until?: LinkedSignal
  /** Called with every artifact chunk and status change as it happens; a lone message comes as one chunk. */
  readonly onEvent?: ((event: StreamResponse) => Promise<void> | undefined) | undefined
  /** Called with a member that is left before its end, with what resolves when it has cleaned up. */
  readonly onLeft?: (cleanUp: Promise<unknown>) => void
}

type From = NonNullable<MemberReply['from']>

/** Reads a member's reply to its end, or to the first state in which the member stops. */
export async function collectReply(
  reply: AgentReply,
  { turn, from, until, onEvent, onLeft }: Collection,
): Promise<MemberReply> {
  const collector = createCollector(turn)
  await readReply(reply, {
    place: collector,
    until,
    onLeft,
    take(event) {
      const taken = collector.take(event)
      const passing = onEvent?.(taken)
      return passing ? passing.then(collector.stopped) : collector.stopped()
    },
  })
  return collector.reply(from)
}

interface Collector extends ReplyPlace {
  /** Takes in an event; gives it back as the team passes it on, a lone message as a chunk of the response. */
  take(event: StreamResponse): StreamResponse
  stopped(): boolean
  reply(from: From): MemberReply
}

function createCollector({ taskId, contextId }: Turn): Collector {
  const fold = createFold({
    id: taskId,
    contextId,
    status: { state: 'TASK_STATE_WORKING' },
  })
  let lone: Message | undefined
  let metadata: JsonObject | undefined

  return {
    taskId,
    contextId,
    responseId: responseArtifact,
    hasResponse: false,
    take(event) {
      const more = metadataOf(event)
      if (more) metadata = { ...metadata, ...more }
      if ('message' in event) {
        lone = event.message
        return responseOf(event.message, this)
      }
      fold.apply(event)
      return event
    },
    stopped: () => isTerminal(fold.state) || isInterrupted(fold.state),
    reply: (from) => assemble(fold, lone, { from, metadata }),
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
      merge(lastArtifact(event.task.artifacts), event.task.status.message?.metadata),
      event.task.metadata,
    )
  return event.message.metadata
}

function merge(a: JsonObject | undefined, b: JsonObject | undefined): JsonObject | undefined {
  if (!a) return b
  return b ? { ...a, ...b } : a
}

function lastArtifact(artifacts: readonly Artifact[] | undefined): JsonObject | undefined {
  return artifacts?.at(-1)?.metadata
}

function assemble(
  fold: Fold,
  lone: Message | undefined,
  { from, metadata }: { readonly from: From; readonly metadata: JsonObject | undefined },
): MemberReply {
  fold.compact()
  const task = fold.snapshot()
  const message = lone ?? task.status.message
  const stopped = isTerminal(fold.state) || isInterrupted(fold.state)
  const state = stopped ? fold.state : 'TASK_STATE_COMPLETED'
  const reply: Mutable<MemberReply> = { from, state }
  if (message) reply.message = message
  if (task.artifacts) reply.artifacts = task.artifacts
  if (metadata) reply.metadata = metadata
  return reply
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
