import { isTerminal } from '../../src/protocol/task.ts'
import type { StreamResponse, Task } from '../../src/protocol/types.ts'
import type { Told } from './caller.ts'

/** What the server has acknowledged of one task. */
export interface Entry {
  readonly agent: string
  readonly id: string
  /** The last acknowledged task. */
  task: Task
  /** Ids of further messages that were acknowledged. */
  readonly continued: string[]
  /** Whether a further message was sent, acknowledged or not. */
  maybeContinued: boolean
}

/** What a follower of a stream saw over all its connections. */
export interface Follower {
  readonly id: string
  readonly agent: string
  readonly seen: Told[]
  /** When each was seen, and over which connection. */
  readonly heard: { readonly at: number; readonly connection: number }[]
  connections: number
  /** The replica that answers the connection there is, where there are several. */
  holder: number | undefined
}

/** What a program that follows through our own client saw. */
export interface ClientFollower {
  readonly id: string
  readonly agent: string
  /** Events after the first snapshot. */
  readonly events: readonly StreamResponse[]
}

/** What was said and heard outside the server: the measure of what it must still know. */
export interface Ledger {
  readonly entries: ReadonlyMap<string, Entry>
  readonly followers: Follower[]
  readonly clients: ClientFollower[]
  /** The names of operations that were sent with an idempotency key. */
  readonly keyed: Set<string>
  /** The names of operations that the server refused, without a key. */
  readonly refused: Set<string>
  /** The names of operations that were sent with a webhook. */
  readonly hooked: Set<string>
  readonly counts: Record<Count, number>
  readonly violations: string[]
  /** Writes down an acknowledged task; it must not be behind what was acknowledged when it was asked for. */
  acknowledge(agent: string, task: Task, asked?: Task): Entry
  violation(text: string): void
  /** Forgets all but the last tasks, followers and names: for runs so long that nobody could remember them all. */
  forget(most: number): void
}

/** What is counted while it happens. */
export type Count =
  | 'acknowledged'
  | 'lost'
  | 'refused'
  | 'keyedRetries'
  | 'cancels'
  | 'answers'
  | 'reads'

/** Opens a ledger; `sign` is told of every acknowledgement. */
export function createLedger(sign: () => void): Ledger {
  const entries = new Map<string, Entry>()
  const counts: Record<Count, number> = {
    acknowledged: 0,
    lost: 0,
    refused: 0,
    keyedRetries: 0,
    cancels: 0,
    answers: 0,
    reads: 0,
  }
  const violations: string[] = []
  const violation = (text: string): void => void violations.push(text)
  const names = { keyed: new Set<string>(), refused: new Set<string>(), hooked: new Set<string>() }
  const followers: Follower[] = []
  const clients: ClientFollower[] = []
  return {
    entries,
    followers,
    clients,
    ...names,
    counts,
    violations,
    forget(most) {
      for (const all of [entries, ...Object.values(names)])
        for (const key of all.keys()) if (all.size > most) all.delete(key)
      for (const list of [followers, clients]) list.splice(0, list.length - most)
    },
    acknowledge(agent, task, asked) {
      counts.acknowledged++
      sign()
      const known = entries.get(task.id)
      if (!known) {
        const entry = { agent, id: task.id, task, continued: [], maybeContinued: false }
        entries.set(task.id, entry)
        return entry
      }
      const fault = asked && regression({ ...known, task: asked }, task)
      if (fault) violation(fault)
      // Answers may overtake each other; an end is the last word.
      if (!isTerminal(known.task.status.state)) known.task = task
      return known
    },
    violation,
  }
}

/** What is wrong with a task that is seen after it was acknowledged; undefined if nothing is. */
export function regression({ task: before, maybeContinued }: Entry, now: Task): string | undefined {
  const [was, is] = [before.status.state, now.status.state]
  if (isTerminal(was) && JSON.stringify(outcomeOf(before)) !== JSON.stringify(outcomeOf(now)))
    return `Task ${now.id} was acknowledged as ${was} and has changed; it is ${is}`
  if (was === 'TASK_STATE_INPUT_REQUIRED' && is !== was && !maybeContinued && !isTerminal(is))
    return `Task ${now.id} was acknowledged as ${was} and is ${is}`
  if (was === 'TASK_STATE_WORKING' && is === 'TASK_STATE_SUBMITTED' && !maybeContinued)
    return `Task ${now.id} was acknowledged as ${was} and is ${is}`
  return undefined
}

function outcomeOf({ status, artifacts }: Task): object {
  return { status, artifacts: artifacts ?? [] }
}
