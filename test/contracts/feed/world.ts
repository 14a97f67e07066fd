import type { AgentBuild, Feed, FeedListener } from '../../../src/store/feed.ts'
import type { Store } from '../../../src/store/store.ts'

/** A store that several processes share. */
export type SharedStore = Store & { readonly feed: Feed }

/** One database of its own, the processes on it, and what can happen to them. */
export interface FeedWorld {
  /** Opens the store of one more process, which has not joined yet. */
  open(options?: MemberOptions): Promise<SharedStore>
  /** The process dies, and the database notices: nothing of it runs any more. */
  kill(store: SharedStore): Promise<void>
  /** Nothing of the process reaches the database and nothing comes back, and neither side notices, until `heal`. */
  cut(store: SharedStore): Promise<void>
  /** What the process sends reaches the database again. */
  heal(store: SharedStore): Promise<void>
  /** The connections of the process break; it may make new ones at once. */
  drop(store: SharedStore): Promise<void>
  /** The next entry that the process forwards is stored, but the answer is lost; then it is off until `heal`. */
  loseAnswer(store: SharedStore): Promise<void>
  /** Lets time pass until the condition holds; leases are short. Rejects if it never comes to hold. */
  until(condition: () => boolean | Promise<boolean>): Promise<void>
  /** Closes all stores and the database. */
  close(): Promise<void>
}

/** How a process differs from others. */
export interface MemberOptions {
  readonly name?: string
  readonly serving?: readonly AgentBuild[]
  /** How long tasks of other builds are left to those who have them; `fail` for ever. */
  readonly foreignBuildAfterMs?: number | 'fail'
  /** How far the clock of its machine is ahead. */
  readonly clockAheadMs?: number
}

/** A process that has joined, and what it was told. */
export interface Member {
  readonly store: SharedStore
  readonly feed: Feed
  readonly heard: readonly Heard[]
}

/** One call of a listener. */
export type Heard =
  | readonly ['grown', string, number]
  | readonly ['mail', string, string]
  | readonly ['deliveries', string]
  | readonly ['lost', string]
  | readonly ['orphans']
  | readonly ['joined']

/** The world of the running test, and how processes join. */
export interface FeedUnderTest {
  readonly world: FeedWorld
  join(options?: MemberOptions): Promise<Member>
}

/** A listener that keeps what it is told. */
export function createListener(): {
  readonly heard: readonly Heard[]
  readonly listener: FeedListener
} {
  const heard: Heard[] = []
  return {
    heard,
    listener: {
      grown: (taskId, version) => void heard.push(['grown', taskId, version]),
      mail: (taskId, agent) => void heard.push(['mail', taskId, agent]),
      orphans: () => void heard.push(['orphans']),
      deliveries: (taskId) => void heard.push(['deliveries', taskId]),
      lost: (reason) => void heard.push(['lost', reason]),
      joined: () => void heard.push(['joined']),
    },
  }
}

/** Whether a process was told this. */
export function hasHeard(member: Member, ...wanted: Heard): boolean {
  return member.heard.some((one) => wanted.every((part, i) => one[i] === part))
}

/** Whether a process was told something of this kind. */
export function hasHeardOf(member: Member, kind: Heard[0]): boolean {
  return member.heard.some(([one]) => one === kind)
}
