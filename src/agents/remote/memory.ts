import type { JsonObject, Part } from '../../protocol/types.ts'
import type { Turn, WaitingTask } from '../agent.ts'

/** The remote task behind a task of ours. */
export interface RemoteTask {
  readonly taskId: string
  readonly contextId: string
  /** Tells whether it answers the same words. */
  readonly digest: string
  /** It asked something; our next message is the answer. */
  readonly waiting: boolean
}

/** What is remembered of a remote task: in the log of ours, so that a restart finds it. */
export function loadRemote(turn: Pick<WaitingTask, 'load'>, key: string): RemoteTask | undefined {
  const value = turn.load(key)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const { taskId, contextId, digest, waiting } = value as JsonObject // neither null nor a list
  if (typeof taskId !== 'string' || typeof contextId !== 'string') return undefined
  return { taskId, contextId, digest: String(digest), waiting: waiting === true }
}

/** Remembers a remote task before anybody hears of what it does. */
export function saveRemote(turn: Turn, key: string, remote: RemoteTask): Promise<void> {
  return turn.save(key, { ...remote })
}

/** A short name of what is asked, the same in every process. */
export async function digestOf(value: string | readonly Part[]): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(value))
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return Array.from(hash.subarray(0, 12), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Which remote context goes with which of ours. */
export interface Contexts {
  get(turn: Turn): string | undefined
  set(turn: Turn, remote: string): void
}

/** Remembers contexts per caller: two callers may give their contexts the same name. */
export function createContexts(limit = 1_000): Contexts {
  const known = createRecent<string>(limit)
  const keyOf = (turn: Turn): string => JSON.stringify([turn.caller.userId, turn.contextId])
  return {
    get: (turn) => known.get(keyOf(turn)),
    set: (turn, remote) => known.set(keyOf(turn), remote),
  }
}

/** How often something has been sent by this process. */
export interface Sends {
  next(send: string): number
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
