import type { AgentReply, Turn } from '../agents/agent.ts'
import { type ReplyPlace, readReply, responseArtifact, responseOf } from '../agents/reply.ts'
import { A2AError } from '../protocol/errors.ts'
import { createFold, type Fold } from '../protocol/fold.ts'
import { isInterrupted, isTerminal } from '../protocol/task.ts'
import type {
  Artifact,
  Json,
  JsonObject,
  Message,
  Part,
  StreamResponse,
} from '../protocol/types.ts'
import type { Mutable } from '../shared/json.ts'
import type { MemberReply } from './schedulers/scheduler.ts'
import type { LinkedSignal } from './signal.ts'

type From = NonNullable<MemberReply['from']>

/** Where a reply is collected. */
interface Collection {
  readonly turn: Turn
  /** Whose reply it is. */
  readonly from: From
  /** What ends the wait for the member. */
  readonly until?: LinkedSignal
  /** Hears every artifact chunk and status change as it happens; a lone message comes as one chunk. */
  readonly onEvent?: ((event: StreamResponse) => Promise<void>) | undefined
  /** Told of a member that is left before its end, with what resolves when it has cleaned up. */
  readonly onLeft?: (cleanUp: Promise<unknown>) => void
}

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
      return onEvent ? onEvent(taken).then(collector.stopped) : collector.stopped()
    },
  })
  return collector.reply(from)
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

/** Gives the parts of a member's answer: its artifacts', else its message's. Files and data are among them. */
export function replyParts(reply: MemberReply): readonly Part[] {
  const { artifacts } = reply
  if (artifacts?.length === 1) return artifacts[0]?.parts ?? []
  if (artifacts?.length) return artifacts.flatMap((artifact) => artifact.parts)
  return reply.message?.parts ?? []
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

function lastArtifact(artifacts: readonly Artifact[] | undefined): JsonObject | undefined {
  return artifacts?.at(-1)?.metadata
}

function merge(a: JsonObject | undefined, b: JsonObject | undefined): JsonObject | undefined {
  if (!a) return b
  return b ? { ...a, ...b } : a
}
