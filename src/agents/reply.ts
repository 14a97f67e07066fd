import { A2AError, type A2AErrorOptions } from '../protocol/errors.ts'
import { toUsageMetadata, type Usage, usageOf } from '../protocol/extensions.ts'
import { parseMessage, parseStreamResponse, parseTask } from '../protocol/schema.ts'
import { createFold } from '../protocol/task.ts'
import type { Message, StreamResponse, Task } from '../protocol/types.ts'
import { isAsyncIterable, isPromiseLike } from '../shared/async.ts'
import type { AgentReply, Turn } from './agent.ts'

/**
 * Reads what an agent answers. Engine, teams, tools and reload read here and nowhere else, so an answer means the same
 * wherever its agent works. What comes from the agent is checked by the schema that checks a peer's answer; texts, which
 * become events that we build ourselves, need no check.
 */

/** A model does not answer, and says why in its own words: they are for the caller. The task is rejected. */
export class ModelRefusal extends A2AError {
  override readonly name = 'ModelRefusal'
  /** What the refusal has cost. */
  readonly usage: Usage | undefined

  constructor(words: string, usage?: Usage, options: A2AErrorOptions = {}) {
    super('processingError', words, options)
    this.usage = usage
  }
}

/** The task that a reply is about, and how far its plain answer has come. */
export interface ReplyPlace {
  readonly taskId: string
  readonly contextId: string
  /** The id of the artifact that texts and parts are chunks of. */
  readonly responseId: string
  /** Whether that artifact has begun. Reading sets it. */
  hasResponse: boolean
  /** Now, as the protocol writes it, for status events; they have no time where this is absent. */
  timestamp?(): string
}

/** The name of the artifact that holds a plain answer, and its id in a task's first turn. */
export const responseArtifact = 'response'

/**
 * What an agent yields, as a checked event of its task; a lone Message comes as `{ message }`. A synchronous function,
 * not a generator: every loop over events calls it, and most events are chunks of text.
 *
 * @throws A2AError `invalidAgentResponse` for what is no event.
 */
export function readAgentEvent(event: unknown, place: ReplyPlace): StreamResponse {
  if (typeof event === 'string') return textChunk(event, place)
  if (typeof event !== 'object' || event === null)
    throw new A2AError('invalidAgentResponse', 'The agent said something that is no event')
  if ('artifactUpdate' in event)
    return parseStreamResponse(artifactEvent(membersOf(event.artifactUpdate), place))
  if ('statusUpdate' in event)
    return parseStreamResponse(statusEvent(membersOf(event.statusUpdate), place))
  if ('task' in event) return { task: readTask(event.task, place) }
  if ('message' in event) return { message: parseMessage(event.message) }
  if ('parts' in event) return { message: parseMessage(event) }
  return parseStreamResponse(chunkOf([event], place))
}

/**
 * A whole answer, as a checked event: a text is the artifact `response`, complete.
 * @throws A2AError `invalidAgentResponse` for what is no answer.
 */
export function readAgentAnswer(answer: unknown, place: ReplyPlace): StreamResponse {
  if (typeof answer === 'string') return wholeText(answer, place)
  if (typeof answer === 'object' && answer !== null) {
    if ('parts' in answer) return { message: parseMessage(answer) }
    if ('task' in answer) return { task: readTask(answer.task, place) }
  }
  throw new A2AError('invalidAgentResponse', 'The agent gave something that is no answer')
}

/** Something that may happen while an agent is waited for. Not a signal: one for every reply costs more than the rest. */
interface Interruption {
  throwIfAborted(): void
  onAbort(listener: (reason: unknown) => void): () => void
}

/** How a reply is read to its end. */
interface ReplyReading {
  readonly place: ReplyPlace
  /** What ends the wait; an agent that does not listen to it is left behind. */
  readonly until?: Interruption | undefined
  /** Takes an event; true where nothing more is wanted. */
  take(event: StreamResponse): boolean | Promise<boolean>
  /** Told of an agent that is left before its end, with what resolves when it has cleaned up. */
  readonly onLeft?: ((cleanUp: Promise<unknown>) => void) | undefined
}

/** Reads a reply event by event, until it ends or nothing more is wanted of it. */
export async function readReply(reply: AgentReply, reading: ReplyReading): Promise<void> {
  const { place, take } = reading
  if (!isAsyncIterable(reply)) {
    const answer = isPromiseLike(reply) ? await answerOf(reply, reading.until) : reply
    if (answer !== undefined) await take(readAgentEvent(answer, place))
    return
  }
  const wait = new Wait(reading.until)
  const events = reply[Symbol.asyncIterator]()
  let hasEnded = false
  try {
    while (true) {
      const next = await wait.for(events.next())
      hasEnded = next.done === true
      if (next.done || (await take(readAgentEvent(next.value, place)))) return
    }
  } finally {
    wait.end()
    if (!hasEnded) {
      const cleanUp = Promise.resolve(events.return?.()).catch(() => {})
      reading.onLeft?.(cleanUp)
    }
  }
}

async function answerOf(
  reply: PromiseLike<unknown>,
  until: Interruption | undefined,
): Promise<unknown> {
  const wait = new Wait(until)
  try {
    return await wait.for(reply)
  } finally {
    wait.end()
  }
}

/** The waits of one reply, one after the other, for as long as nothing interrupts them. */
class Wait {
  readonly #until: Interruption | undefined
  readonly #stopListening: (() => void) | undefined
  #leave: (reason: unknown) => void = () => {}

  constructor(until: Interruption | undefined) {
    this.#until = until
    this.#stopListening = until?.onAbort((reason) => this.#leave(reason))
  }

  for<T>(work: PromiseLike<T>): PromiseLike<T> {
    if (!this.#until) return work
    return new Promise((resolve, reject) => {
      this.#leave = reject
      // Listened to in any case: a rejection after the wait must not end the process.
      work.then(resolve, reject)
      this.#until?.throwIfAborted()
    })
  }

  end(): void {
    this.#stopListening?.()
  }
}

/** The task that a reply amounts to; a lone message is its response. */
export async function collectTask(
  reply: AgentReply,
  { taskId, contextId }: Pick<Turn, 'taskId' | 'contextId'>,
): Promise<Task> {
  const place = { taskId, contextId, responseId: responseArtifact, hasResponse: false }
  const fold = createFold({ id: taskId, contextId, status: { state: 'TASK_STATE_WORKING' } })
  await readReply(reply, {
    place,
    take(event) {
      fold.apply('message' in event ? responseOf(event.message, place) : event)
      return false
    },
  })
  return fold.snapshot()
}

/** A lone message as a chunk of the response, with what it used: a team counts that before it passes the chunk on. */
export function responseOf({ parts, metadata }: Message, place: ReplyPlace): StreamResponse {
  const chunk = chunkOf(parts, place) as ArtifactChunk // the parts of a checked message
  const used = usageOf(metadata)
  if (!used) return chunk
  const { artifactUpdate } = chunk
  const artifact = { ...artifactUpdate.artifact, metadata: toUsageMetadata(used) }
  return { artifactUpdate: { ...artifactUpdate, artifact } }
}

type ArtifactChunk = Extract<StreamResponse, { readonly artifactUpdate: unknown }>

/** The agent's task is the turn's own, whatever ids it has. */
function readTask(given: unknown, { taskId, contextId }: ReplyPlace): Task {
  const task = typeof given === 'object' ? { ...given, id: taskId, contextId } : given
  return parseTask(task)
}

function textChunk(text: string, place: ReplyPlace): StreamResponse {
  return chunkOf([{ text }], place) as StreamResponse // a text is a part
}

/** Written out: to spread a member that may be missing costs more than the rest of a chunk. */
function chunkOf(parts: readonly unknown[], place: ReplyPlace): Unchecked {
  const { taskId, contextId, responseId: artifactId } = place
  if (place.hasResponse)
    return { artifactUpdate: { taskId, contextId, artifact: { artifactId, parts }, append: true } }
  place.hasResponse = true
  const artifact = { artifactId, name: responseArtifact, parts }
  return { artifactUpdate: { taskId, contextId, artifact } }
}

function wholeText(text: string, place: ReplyPlace): StreamResponse {
  const { taskId, contextId, responseId: artifactId } = place
  const artifact = { artifactId, name: responseArtifact, parts: [{ text }] }
  return { artifactUpdate: { taskId, contextId, artifact, lastChunk: true } }
}

/** An event that is yet to be checked. */
type Unchecked = { readonly artifactUpdate: object } | { readonly statusUpdate: object }

/** An object from an agent, of which nothing is known. */
type Members = Readonly<Record<string, unknown>>

function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {} // its members are unknown
}

function statusEvent({ status, metadata }: Members, place: ReplyPlace): Unchecked {
  const { state, message } = membersOf(status)
  const { taskId, contextId } = place
  const timestamp = place.timestamp?.()
  const entered =
    timestamp === undefined
      ? { state, ...(message !== undefined && { message }) }
      : message
        ? { state, message, timestamp }
        : { state, timestamp }
  return metadata
    ? { statusUpdate: { taskId, contextId, status: entered, metadata } }
    : { statusUpdate: { taskId, contextId, status: entered } }
}

function artifactEvent(draft: Members, { taskId, contextId }: ReplyPlace): Unchecked {
  const { artifact, append, lastChunk, metadata } = draft
  const artifactUpdate: Record<string, unknown> = { taskId, contextId, artifact }
  if (append !== undefined) artifactUpdate.append = append
  if (lastChunk !== undefined) artifactUpdate.lastChunk = lastChunk
  if (metadata !== undefined) artifactUpdate.metadata = metadata
  return { artifactUpdate }
}
