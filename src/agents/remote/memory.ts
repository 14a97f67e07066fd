import type { SendOptions } from '../../client/config.ts'
import { hopsExtension } from '../../protocol/extensions.ts'
import type {
  Json,
  JsonObject,
  Message,
  SendMessageRequest,
  StreamResponse,
} from '../../protocol/types.ts'
import { digestOf } from '../../shared/ids.ts'
import type { Turn, WaitingTask } from '../agent.ts'
import { withSchemaInWords } from '../output/tries.ts'
import { ownFault } from './connect.ts'

/** The remote task behind a task of ours. */
export interface RemoteTask {
  readonly taskId: string
  readonly contextId: string
  /** Our message that it works on or has answered, and the turn that the message was sent in. */
  readonly messageId: string
  readonly turn: number
  /** At work, or waiting for our caller's answer, or at its end. */
  readonly phase: RemotePhase
  /** When that message was first sent, in milliseconds since the epoch. */
  readonly since: number | undefined
}

/** How far a remote task is, as far as we are concerned. */
export type RemotePhase = 'running' | 'waiting' | 'done'

/** How a remote task is named. */
export type RemoteIds = Pick<RemoteTask, 'taskId' | 'contextId'>

/** What is known where a message leaves for a remote agent. */
export interface Departure {
  /** Where the remote task is remembered in our task's log. */
  readonly key: string
  readonly endpoint: string
  readonly contexts: RemoteContexts
  readonly sends: SendCounts
}

/** A message that is ready to go, and what surrounds its call. */
export interface Outgoing {
  readonly request: SendMessageRequest
  readonly options: Omit<SendOptions, 'signal'> & { readonly idempotencyKey: string }
  /** The remote task that this message began, or went on with, before a crash. */
  readonly begun: RemoteTask | undefined
  /** The send was interrupted by us: the next one of this message goes on with it. */
  interrupted(): void
}

/**
 * Prepares our message for the remote: in the remote's context, to the remote's task where it answers a question, with
 * the hops so far. Its `Idempotency-Key` is the same when a turn runs again after a crash, and another when a team
 * tries again on purpose.
 *
 * @throws A2AError `unsupportedOperation` for a message that has passed this remote before.
 */
export async function prepare(
  message: Message,
  turn: Turn,
  departure: Departure,
): Promise<Outgoing> {
  const { key, contexts, sends } = departure
  const hops = await nextHops(turn, departure.endpoint)
  const known = loadRemote(turn, key)
  const send = JSON.stringify([key, turn.taskId, message.messageId])
  const count = sends.next(send)
  // A task that this very message began, or went on with, is not sent again. What this process has sent before is tried
  // again on purpose; what another one sent is resumed.
  const isBegun = known?.messageId === message.messageId && known.turn === turn.number
  const begun = count === 1 && isBegun ? known : undefined
  const continued = known?.phase === 'waiting' && !begun ? known : undefined
  const contextId = continued?.contextId ?? (await contexts.get(turn))
  const { messageId, metadata, extensions } = message
  const { outputSchema: schema } = turn
  // What answers a question, such as an approval's, must stay the word that it is.
  const parts = schema && !continued ? withSchemaInWords(message.parts, schema) : message.parts
  const idempotencyKey = await digestOf(`${send}#${count}`)
  // Repeat what was sent before a crash unchanged: the remote's context may be known by now, from another call.
  const sent = loadUnnamed(turn, key)
  const repeated = sent?.idempotencyKey === idempotencyKey ? sent.request : undefined
  return {
    request: repeated ?? {
      message: {
        messageId,
        role: 'ROLE_USER',
        parts,
        ...(contextId !== undefined && { contextId }),
        ...(continued && { taskId: continued.taskId }),
        metadata: { ...metadata, [hopsExtension]: hops },
        ...(extensions && { extensions }),
      },
    },
    options: {
      idempotencyKey,
      ...(turn.traceparent !== undefined && { traceparent: turn.traceparent }),
      ...(extensions && { extensions: extensions.filter(isHeaderSafe) }),
    },
    begun,
    interrupted: () => sends.forget(send),
  }
}

/** Beyond this many agents a message goes round in circles, whatever their names. */
const maxHops = 32

/** By URL, because ids need not be unique in the world; hashed, because our URLs are private. */
async function nextHops(turn: Turn, endpoint: string): Promise<readonly string[]> {
  const hop = `a2a:${await digestOf(new URL(endpoint).href)}`
  if (turn.hops.includes(hop) || turn.hops.length >= maxHops)
    throw ownFault('unsupportedOperation', 'The message has come back to an agent it passed')
  return [...turn.hops, hop]
}

/** A message's extensions are its sender's words; only those that can stand in a list of URIs go into a header. */
function isHeaderSafe(uri: string): boolean {
  return /^[\x21-\x2b\x2d-\x7e]+$/.test(uri)
}

/** Whether a message makes a task at the remote, as far as we know. */
export function beginsTask({ begun, request }: Outgoing): boolean {
  return !begun && request.message.taskId === undefined
}

/** Which remote task an event is about; undefined for a lone message. */
export function idsOf(event: StreamResponse): RemoteIds | undefined {
  if ('task' in event) return { taskId: event.task.id, contextId: event.task.contextId }
  if ('message' in event) return undefined
  const { taskId, contextId } = 'statusUpdate' in event ? event.statusUpdate : event.artifactUpdate
  return { taskId, contextId }
}

/** What is remembered of a remote task: in the log of ours, so that a restart finds it. */
export function loadRemote(turn: Pick<WaitingTask, 'load'>, key: string): RemoteTask | undefined {
  const value = turn.load(key)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const { taskId, contextId, messageId, turn: number, phase, since } = value as JsonObject // neither null nor a list
  if (typeof taskId !== 'string' || typeof contextId !== 'string') return undefined
  const known = phase === 'running' || phase === 'waiting' ? phase : 'done'
  return {
    taskId,
    contextId,
    messageId: String(messageId),
    turn: Number(number),
    phase: known,
    since: typeof since === 'number' ? since : undefined,
  }
}

/** Remembers a remote task before its events are passed on. */
export function saveRemote(turn: Turn, key: string, remote: RemoteTask): Promise<void> {
  const { since, ...rest } = remote
  return turn.save(key, since === undefined ? rest : { ...rest, since })
}

/** A send whose task may not have a name yet: to repeat it with its key gives the name. */
export interface UnnamedSend {
  readonly request: SendMessageRequest
  readonly idempotencyKey: string
  /** The turn that sends it. */
  readonly turn: number
}

/**
 * Remembers a send before it leaves, so that a task which it began is found even if the process dies before it learns
 * the task's name. Where our own task does not exist yet, it cannot be cancelled either, and none is made for this.
 */
export function saveSend(turn: Turn, key: string, send: Omit<UnnamedSend, 'turn'>): Promise<void> {
  const { request, idempotencyKey } = send
  // What came out of JSON is JSON.
  const value = { request: JSON.parse(JSON.stringify(request)), idempotencyKey, turn: turn.number }
  return turn.save(sendKey(key), value)
}

/** Forgets a send that was answered without a task. */
export function forgetSend(turn: Turn, key: string): Promise<void> {
  return turn.save(sendKey(key), null)
}

/** The last send, unless its task has a name by now. */
export function loadUnnamed(task: Pick<WaitingTask, 'load'>, key: string): UnnamedSend | undefined {
  const value = task.load(sendKey(key))
  if (typeof value !== 'object' || value === null) return undefined
  const stored: object = value
  const send = stored as UnnamedSend // only saveSend writes there
  const named = loadRemote(task, key)
  const isNamed = named?.turn === send.turn && named.messageId === send.request.message.messageId
  return isNamed ? undefined : send
}

function sendKey(key: string): string {
  return `corral:${key}:send`
}

/**
 * Which remote context goes with which of ours: remembered with ours, so that a restart finds them, and here, for answers
 * that leave no task to keep them with. Those here are kept apart by caller and tenant, since two may give their contexts
 * the same name.
 */
export class RemoteContexts {
  readonly #key: string
  readonly #known: RecentMap<string>
  /** What the context holds, as far as a turn has seen. */
  readonly #kept = new WeakMap<object, Json>()

  /** @param key Names the remote agent among the values of a context. */
  constructor(key: string, limit = 1_000) {
    this.#key = key
    this.#known = new RecentMap(limit)
  }

  async get(turn: Turn): Promise<string | undefined> {
    const stored = await turn.context.get(this.#key)
    if (stored !== undefined) this.#kept.set(turn.context, stored)
    const remote = stored ?? this.#known.get(callerOf(turn))
    return typeof remote === 'string' ? remote : undefined
  }

  set(turn: Turn, remote: string): void {
    this.#known.set(callerOf(turn), remote)
    if (this.#kept.get(turn.context) === remote) return
    this.#kept.set(turn.context, remote)
    turn.context.set(this.#key, remote)
  }
}

function callerOf({ tenant, caller, contextId }: Turn): string {
  return JSON.stringify([tenant, caller.userId, contextId])
}

/** How often something has been sent by this process. */
export class SendCounts {
  readonly #counts = new RecentMap<number>(1_000)

  next(send: string): number {
    const count = (this.#counts.get(send) ?? 0) + 1
    this.#counts.set(send, count)
    return count
  }

  /** A send that was interrupted by us is resumed, not tried again. */
  forget(send: string): void {
    this.#counts.set(send, 0)
  }
}

/** A map of the most recent entries; the oldest is evicted first. */
class RecentMap<T> {
  readonly #limit: number
  readonly #entries = new Map<string, T>()

  constructor(limit: number) {
    this.#limit = limit
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)
  }

  set(key: string, value: T): void {
    const entries = this.#entries
    entries.delete(key)
    entries.set(key, value)
    const oldest = entries.size > this.#limit ? entries.keys().next().value : undefined
    if (oldest !== undefined) entries.delete(oldest)
  }
}
