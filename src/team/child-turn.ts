import { createHash } from 'node:crypto'
import type { Turn } from '../agents/agent.ts'
import { newStatus } from '../protocol/build.ts'
import type { JsonObject, Message, Task } from '../protocol/types.ts'
import { type MemberReply, replyParts } from './reply.ts'

/** What a member's turn has of its own. */
export interface ChildTurnOptions {
  /** Keeps the member's steps and state apart from everybody else's. */
  readonly space: string
  readonly message: Message
  readonly signal: AbortSignal
  readonly hops: readonly string[]
  readonly traceparent: string | undefined
  /** What the member was asked and answered before in this run. */
  readonly exchange: readonly Message[]
  /** The reply in which the member asked what this message answers. */
  readonly asked: MemberReply | undefined
  /** Whether the member speaks with the team's caller, and so sees their conversation and must keep to their formats. */
  readonly facesCaller: boolean
}

/**
 * The turn that a member sees: the team's task, with a space of its own for steps and state. To the member, a question
 * that it asked is a task of its own that waits for input.
 */
export function createChildTurn(parent: Turn, options: ChildTurnOptions): Turn {
  const { space, message, exchange, facesCaller } = options
  const task = options.asked && waitingTask(parent, options.asked, exchange)
  return {
    taskId: parent.taskId,
    contextId: parent.contextId,
    message,
    task,
    history: exchange,
    caller: parent.caller,
    signal: options.signal,
    log: parent.log,
    extensions: parent.extensions,
    acceptedOutputModes: facesCaller ? parent.acceptedOutputModes : [],
    metadata: parent.metadata,
    attempt: parent.attempt,
    traceparent: options.traceparent,
    hops: options.hops,
    status: (state, text) => parent.status(state, text),
    artifact: (artifact, how) => parent.artifact(artifact, how),
    ask: (text) => parent.ask(text),
    reply: (content) => parent.reply(content),
    step: (name, work) => parent.step(`${space}/${name}`, work),
    load: (key) => parent.load(`${space}/${key}`),
    save: (key, value) => parent.save(`${space}/${key}`, value),
    trace: (entry) => parent.trace(withPlace(entry, space)),
    async conversation(limit) {
      if (limit <= 0) return []
      const heard = facesCaller ? await parent.conversation(limit + 1) : []
      // The caller's message may be among them; the member has it as its own, under another id.
      const earlier = heard.filter(({ messageId }) => messageId !== parent.message.messageId)
      return [...earlier, ...exchange].slice(-limit)
    },
  }
}

/**
 * The id of a message to a member: a UUID that is the same when the turn runs again after a crash, so that a remote peer
 * can tell a repeated send, and another one for every try and every delegation.
 */
export function toMessageId(turn: Turn, place: string): string {
  const hash = createHash('sha256').update(`${turn.taskId}/${turn.message.messageId}/${place}`)
  const hex = hash.digest('hex')
  // Version 8 and the standard variant of RFC 9562, for ids made in a way of one's own.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** The place names nest, so that an entry of a nested team says by which way it was reached. */
function withPlace(entry: JsonObject, space: string): JsonObject {
  return { ...entry, at: typeof entry.at === 'string' ? `${space}/${entry.at}` : space }
}

function waitingTask(parent: Turn, asked: MemberReply, exchange: readonly Message[]): Task {
  const question = asked.message ?? parent.reply(replyParts(asked))
  return {
    id: parent.taskId,
    contextId: parent.contextId,
    status: newStatus(asked.state, question),
    ...(asked.artifacts && { artifacts: asked.artifacts }),
    history: exchange,
  }
}
