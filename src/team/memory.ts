import type { Turn, WaitingTask } from '../agents/agent.ts'
import { isInterrupted } from '../protocol/task.ts'
import type { Json, Message } from '../protocol/types.ts'
import type { MemberReply } from './reply.ts'

/**
 * What a run remembers across the turns of its task.
 *
 * When a member asks the user something, the run stops and keeps, with the task, the message that began it and the
 * reply of every delegation so far. The user's answer begins a turn that runs the same scheduler from the start:
 * delegations that are remembered return at once, the one that asked gets the answer, and the run goes on from there.
 * A scheduler therefore needs no notion of where it was.
 */
export interface Memory {
  /** The message that began the run. */
  readonly message: Message
  /** What a delegation gave back in an earlier turn, oldest first. */
  recall(key: string): readonly MemberReply[]
  /** The user's answer, for the delegation whose question it answers, once. */
  takeAnswer(key: string): Message | undefined
  /** Whether a delegation's last reply came in this turn. */
  isFresh(key: string): boolean
  /** Keeps a reply for later turns. */
  remember(key: string, reply: MemberReply): void
  /** Keeps everything with the task, because the run waits for the user. */
  suspend(asked: string): Promise<void>
  /** Forgets everything, because the run is over. */
  forget(): Promise<void>
}

/** Stops a run until the user has answered; the team turns it into the task's question. */
export class Suspension extends Error {
  override readonly name = 'Suspension'
  readonly key: string
  readonly reply: MemberReply

  constructor(key: string, reply: MemberReply) {
    super(`Waiting for the user at ${key}`)
    this.key = key
    this.reply = reply
  }
}

interface Entry {
  /** The message of the turn that brought the reply. */
  readonly at: string
  readonly reply: MemberReply
}

interface Saved {
  readonly message: Message
  readonly asked: string
  readonly entries: Readonly<Record<string, readonly Entry[]>>
}

const stateKey = 'run'

/** The replies of members that wait for the user in a task between two turns. */
export function waitingReplies(task: WaitingTask): readonly MemberReply[] {
  const value = task.load(stateKey)
  if (value === undefined || value === null) return []
  const { entries } = value as unknown as Saved // only suspend() writes this key
  return Object.values(entries).flatMap((list) => {
    const last = list.at(-1)
    return last && isWaiting(list) ? [last.reply] : []
  })
}

/** The memory of the run that this turn begins or goes on with. */
export function openMemory(turn: Turn, message: Message): Memory {
  const at = turn.message.messageId
  const saved = load(turn)
  const entries = new Map(Object.entries(saved?.entries ?? {}))
  let unanswered = saved?.asked
  return {
    message: saved?.message ?? message,
    recall: (key) => (entries.get(key) ?? []).map((entry) => entry.reply),
    takeAnswer(key) {
      if (key !== unanswered) return undefined
      unanswered = undefined
      return message
    },
    isFresh: (key) => entries.get(key)?.at(-1)?.at === at,
    remember(key, reply) {
      entries.set(key, [...(entries.get(key) ?? []), { at, reply }])
    },
    async suspend(asked) {
      const state: Saved = {
        message: saved?.message ?? message,
        asked,
        entries: Object.fromEntries(entries),
      }
      await turn.save(stateKey, state as unknown as Json) // built of JSON values only
    },
    async forget() {
      if (saved) await turn.save(stateKey, null)
    },
  }
}

/**
 * A turn that runs again after a crash may find what its own first run saved. That is taken back, else the message that
 * made the run stop would count as the answer to its own question. Only where the task waits with the very question
 * that was saved is the message certainly an answer, whatever its id.
 */
function load(turn: Turn): Saved | undefined {
  const value = turn.load(stateKey)
  if (value === undefined || value === null) return undefined
  const saved = value as unknown as Saved // only suspend() writes this key
  return answers(turn, saved) ? saved : before(turn.message.messageId, saved)
}

function answers({ task }: Turn, { asked, entries }: Saved): boolean {
  const question = entries[asked]?.at(-1)?.reply.message?.messageId
  if (!task || question === undefined || !isInterrupted(task.status.state)) return false
  return task.status.message?.messageId === question
}

/** What was saved, without what the turn of this message brought. */
function before(at: string, saved: Saved): Saved | undefined {
  const earlier = Object.entries(saved.entries).map(
    ([key, list]) => [key, list.filter((entry) => entry.at !== at)] as const,
  )
  const entries = Object.fromEntries(earlier.filter(([, list]) => list.length > 0))
  const asked = isWaiting(entries[saved.asked])
    ? saved.asked
    : Object.keys(entries).find((key) => isWaiting(entries[key]))
  return asked === undefined ? undefined : { message: saved.message, asked, entries }
}

function isWaiting(entries: readonly Entry[] | undefined): boolean {
  const last = entries?.at(-1)
  return last !== undefined && isInterrupted(last.reply.state)
}
