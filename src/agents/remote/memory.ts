import type { JsonObject } from '../../protocol/types.ts'
import type { Turn, WaitingTask } from '../agent.ts'

/** The remote task behind a task of ours. */
export interface RemoteTask {
  readonly taskId: string
  readonly contextId: string
  /** Names what it was asked. */
  readonly digest: string
  /** At work, or waiting for our caller's answer, or of no more use. */
  readonly phase: RemotePhase
}

/** How far a remote task is, as far as we are concerned. */
export type RemotePhase = 'running' | 'waiting' | 'done'

/** What is remembered of a remote task: in the log of ours, so that a restart finds it. */
export function loadRemote(turn: Pick<WaitingTask, 'load'>, key: string): RemoteTask | undefined {
  const value = turn.load(key)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const { taskId, contextId, digest, phase } = value as JsonObject // neither null nor a list
  if (typeof taskId !== 'string' || typeof contextId !== 'string') return undefined
  const known = phase === 'running' || phase === 'waiting' ? phase : 'done'
  return { taskId, contextId, digest: String(digest), phase: known }
}

/** Remembers a remote task before anybody hears of what it does. */
export function saveRemote(turn: Turn, key: string, remote: RemoteTask): Promise<void> {
  return turn.save(key, { ...remote })
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
