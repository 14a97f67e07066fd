import type {
  Json,
  JsonObject,
  Message,
  SendMessageRequest,
  StreamResponse,
} from '../../protocol/types.ts'
import type { Turn, WaitingTask } from '../agent.ts'

/** The remote task behind a task of ours. */
export interface RemoteTask {
  readonly taskId: string
  readonly contextId: string
  /** Our message that it works on or has answered, and the turn that the message was sent in. */
  readonly messageId: string
  readonly turn: number
  /** At work, or waiting for our caller's answer, or at its end. */
  readonly phase: RemotePhase
}

/** How far a remote task is, as far as we are concerned. */
export type RemotePhase = 'running' | 'waiting' | 'done'

/** How a remote task is named. */
export type RemoteIds = Pick<RemoteTask, 'taskId' | 'contextId'>

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
  const { taskId, contextId, messageId, turn: number, phase } = value as JsonObject // neither null nor a list
  if (typeof taskId !== 'string' || typeof contextId !== 'string') return undefined
  const known = phase === 'running' || phase === 'waiting' ? phase : 'done'
  return { taskId, contextId, messageId: String(messageId), turn: Number(number), phase: known }
}

/** Whether a remote task was begun, or gone on with, by this very message: then it is not sent again. */
export function isBegunBy(
  remote: RemoteTask,
  { messageId }: Pick<Message, 'messageId'>,
  turn: Turn,
): boolean {
  return remote.messageId === messageId && remote.turn === turn.number
}

/** Remembers a remote task before anybody hears of what it does. */
export function saveRemote(turn: Turn, key: string, remote: RemoteTask): Promise<void> {
  return turn.save(key, { ...remote })
}

/** A send whose task may not have a name yet: who repeats it with its key learns the name. */
export interface UnnamedSend {
  readonly request: SendMessageRequest
  readonly idempotencyKey: string
  /** The turn that sends it. */
  readonly turn: number
}

/**
 * Remembers a send before it leaves, so that a task which it began is found even if the process dies before it learns
 * the task's name. Where our own task does not exist yet, nobody can cancel it either, and none is made for this.
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

/** Which remote context goes with which of ours. */
export interface RemoteContexts {
  get(turn: Turn): Promise<string | undefined>
  set(turn: Turn, remote: string): void
}

/**
 * Remembers contexts: with ours, so that a restart finds them, and here, for answers that leave no task to keep them
 * with. Those here are told apart by caller and tenant, since two may give their contexts the same name.
 *
 * @param key Names the remote agent among the values of a context.
 */
export function createRemoteContexts(key: string, limit = 1_000): RemoteContexts {
  const known = createRecent<string>(limit)
  /** What the context holds, as far as a turn has seen. */
  const kept = new WeakMap<object, Json>()
  const callerOf = ({ tenant, caller, contextId }: Turn): string =>
    JSON.stringify([tenant, caller.userId, contextId])
  return {
    async get(turn) {
      const stored = await turn.context.get(key)
      if (stored !== undefined) kept.set(turn.context, stored)
      const remote = stored ?? known.get(callerOf(turn))
      return typeof remote === 'string' ? remote : undefined
    },
    set(turn, remote) {
      known.set(callerOf(turn), remote)
      if (kept.get(turn.context) === remote) return
      kept.set(turn.context, remote)
      turn.context.set(key, remote)
    },
  }
}

/** How often something has been sent by this process. */
export interface Sends {
  next(send: string): number
  /** A send that was interrupted by us is gone on with, not tried again. */
  forget(send: string): void
}

/** Counts sends. */
export function createSends(limit = 1_000): Sends {
  const counts = createRecent<number>(limit)
  return {
    next(send) {
      const count = (counts.get(send) ?? 0) + 1
      counts.set(send, count)
      return count
    },
    forget: (send) => counts.set(send, 0),
  }
}

/** A map of the most recent entries; the oldest is forgotten first. */
function createRecent<T>(limit: number): Pick<Map<string, T>, 'get'> & {
  set(key: string, value: T): void
} {
  const entries = new Map<string, T>()
  return {
    get: (key) => entries.get(key),
    set(key, value) {
      entries.delete(key)
      entries.set(key, value)
      const oldest = entries.size > limit ? entries.keys().next().value : undefined
      if (oldest !== undefined) entries.delete(oldest)
    },
  }
}
