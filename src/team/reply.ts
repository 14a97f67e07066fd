import type { AgentEvent, AgentReply, Draft, Turn } from '../agents/agent.ts'
import { createFold, type Fold } from '../protocol/fold.ts'
import { isInterrupted, isTerminal } from '../protocol/task.ts'
import type {
  Artifact,
  JsonObject,
  Message,
  Part,
  StreamResponse,
  TaskState,
} from '../protocol/types.ts'
import { isAsyncIterable, isPromiseLike, withSignal } from '../shared/async.ts'

/** What a member gave back, whole and as plain JSON, so that it can stand in the task's log. */
export interface MemberReply {
  /** COMPLETED, or the state in which the member stopped. */
  readonly state: TaskState
  /** The member's lone message, or its last status message. */
  readonly message?: Message
  readonly artifacts?: readonly Artifact[]
  /** All metadata of the reply, later over earlier: routing decisions and token counts stand here. */
  readonly metadata?: JsonObject
  /** Who gave it, and where that member keeps its state; a fallback is not the member that was asked first. */
  readonly from?: { readonly agentId: string; readonly space: string }
}

/** Where a reply is collected. */
export interface Collection {
  readonly turn: Turn
  /** Hears every artifact chunk and status change as it happens; a lone message comes as one chunk. */
  readonly onEvent?: (event: StreamResponse) => Promise<void>
  /** Told of a member that is left before its end, with what resolves when it has cleaned up. */
  readonly onLeft?: (cleanUp: Promise<unknown>) => void
}

/** The artifact that holds a plain answer. */
export const responseArtifact = 'response'

/** Reads a member's reply to its end, or to the first state in which the member stops. */
export async function collectReply(
  reply: AgentReply,
  { turn, onEvent, onLeft }: Collection,
): Promise<MemberReply> {
  const collector = createCollector(turn)
  const take = async (event: AgentEvent): Promise<boolean> => {
    const taken = collector.take(event)
    if (taken && onEvent) await onEvent(taken)
    return collector.stopped()
  }
  if (isAsyncIterable(reply))
    await readEvents(reply as AsyncIterable<AgentEvent>, { turn, ...(onLeft && { onLeft }) }, take) // the contract's only iterable
  else {
    const answer = isPromiseLike(reply)
      ? await withSignal(Promise.resolve(reply), turn.signal)
      : reply
    if (answer !== undefined) await take(answer)
  }
  return collector.reply()
}

/** The parts of a member's answer: its artifacts', else its message's. Files and data are among them. */
export function replyParts(reply: MemberReply): readonly Part[] {
  const { artifacts } = reply
  if (artifacts?.length === 1) return artifacts[0]?.parts ?? []
  if (artifacts?.length) return artifacts.flatMap((artifact) => artifact.parts)
  return reply.message?.parts ?? []
}

/** A member that ignores its signal is left alone: the race ends the wait, `return` asks it to clean up. */
async function readEvents(
  events: AsyncIterable<AgentEvent>,
  { turn, onLeft }: Pick<Collection, 'turn' | 'onLeft'>,
  take: (event: AgentEvent) => Promise<boolean>,
): Promise<void> {
  const iterator = events[Symbol.asyncIterator]()
  let ended = false
  try {
    while (true) {
      const next = await withSignal(iterator.next(), turn.signal)
      ended = next.done === true
      if (next.done || (await take(next.value))) return
    }
  } finally {
    if (!ended) {
      const cleanUp = Promise.resolve(iterator.return?.()).catch(() => {})
      onLeft?.(cleanUp)
    }
  }
}

interface Collector {
  take(event: AgentEvent): StreamResponse | undefined
  stopped(): boolean
  reply(): MemberReply
}

function createCollector(turn: Turn): Collector {
  const { taskId, contextId } = turn
  const ids = { taskId, contextId }
  const fold = createFold({
    id: taskId,
    contextId,
    status: { state: 'TASK_STATE_WORKING' },
  })
  let lone: Message | undefined
  let metadata: JsonObject | undefined
  let begun = false

  const learn = (more: JsonObject | undefined): void => {
    if (more) metadata = { ...metadata, ...more }
  }
  const chunk = (parts: readonly Part[]): StreamResponse => {
    const append = begun
    begun = true
    const artifact = { artifactId: responseArtifact, name: responseArtifact, parts }
    return { artifactUpdate: { taskId, contextId, artifact, append } }
  }

  return {
    take(event) {
      if (isMessage(event)) {
        lone = event
        learn(event.metadata)
        return chunk(event.parts)
      }
      const full = isChunk(event) ? chunk([toPart(event)]) : complete(event, ids)
      if ('message' in full) {
        lone = full.message
        learn(full.message.metadata)
        return chunk(full.message.parts)
      }
      fold.apply(full)
      learn(metadataOf(full))
      return full
    },
    stopped: () => isTerminal(fold.state) || isInterrupted(fold.state),
    reply: () => assemble(fold, lone, metadata),
  }
}

function assemble(
  fold: Fold,
  lone: Message | undefined,
  metadata: JsonObject | undefined,
): MemberReply {
  fold.compact()
  const task = fold.snapshot()
  const message = lone ?? task.status.message
  const stopped = isTerminal(fold.state) || isInterrupted(fold.state)
  return {
    state: stopped ? fold.state : 'TASK_STATE_COMPLETED',
    ...(message && { message }),
    ...(task.artifacts && { artifacts: task.artifacts }),
    ...(metadata && { metadata }),
  }
}

function isChunk(event: AgentEvent): event is string | Part {
  return (
    typeof event === 'string' ||
    'text' in event ||
    'raw' in event ||
    'url' in event ||
    'data' in event
  )
}

function isMessage(event: AgentEvent): event is Message {
  return typeof event === 'object' && 'messageId' in event
}

function toPart(event: string | Part): Part {
  return typeof event === 'string' ? { text: event } : event
}

function complete(
  event: Draft,
  ids: { readonly taskId: string; readonly contextId: string },
): StreamResponse {
  if ('statusUpdate' in event) return { statusUpdate: { ...event.statusUpdate, ...ids } }
  if ('artifactUpdate' in event) return { artifactUpdate: { ...event.artifactUpdate, ...ids } }
  return event
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
