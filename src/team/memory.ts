import type { Turn, WaitingTask } from '../agents/agent.ts'
import { addUsage, type Usage, usageBeyond } from '../protocol/extensions.ts'
import { isInterrupted } from '../protocol/task.ts'
import type { Json, Message } from '../protocol/types.ts'
import type { Budget } from './budget.ts'
import type { MemberReply } from './schedulers/scheduler.ts'

/** The replies of members that wait for the user in a task between two turns. */
export function waitingReplies(task: WaitingTask): readonly MemberReply[] {
  const saved = read(task)
  return saved && saved.over === undefined ? waitingOf(Object.values(saved.entries)) : []
}

/** What is kept with the task. It is never taken away before its time: what counts follows from the turns' numbers. */
interface SavedRun {
  readonly message: Message
  /** The turn that saved this. */
  readonly turn: number
  /** The question that the task waits with. */
  readonly asked: string
  /** The question that the turn's message answered, where the turn did not begin the run. */
  readonly answered?: string
  /** The turn in which the run ended. Until that turn has ended too, a crash makes it run again. */
  readonly over?: number
  readonly entries: Readonly<Record<string, readonly RememberedReply[]>>
  /** What the user last said to each delegation. */
  readonly answers?: Readonly<Record<string, UserAnswer>>
  /** What the run has used by the end of the turn that saved this, and by its beginning. */
  readonly used?: Usage
  readonly usedBefore?: Usage
  /** What of that belongs to delegations that had not come to their end, by their keys. */
  readonly open?: OpenCalls
  readonly openBefore?: OpenCalls
}

interface RememberedReply {
  /** The turn that brought the reply. */
  readonly turn: number
  readonly reply: MemberReply
}

interface UserAnswer {
  /** The turn that brought it. */
  readonly turn: number
  readonly message: Message
}

type OpenCalls = ReturnType<Budget['openCalls']>

const stateKey = 'run'

function read(task: Pick<WaitingTask, 'load'>): SavedRun | undefined {
  const value = task.load(stateKey)
  if (typeof value !== 'object' || value === null) return undefined
  const saved: object = value
  return saved as SavedRun // only save() writes this key
}

function waitingOf(entries: Iterable<readonly RememberedReply[]>): readonly MemberReply[] {
  return [...entries].flatMap((list) => {
    const last = list.at(-1)?.reply
    return last && isInterrupted(last.state) ? [last] : []
  })
}

/** What delegations that failed, or that others made, have used in one turn, by their keys. */
interface Spent {
  readonly turn: number
  readonly by: Readonly<Record<string, Usage>>
  /** The part of their failed tries. */
  readonly failed?: Readonly<Record<string, Usage>>
}

/** When a delegation with a limit in time began in one turn, in milliseconds since the epoch. */
interface Began {
  readonly turn: number
  readonly at: number
}

const none: readonly MemberReply[] = []
const noUsage: Usage = { inputTokens: 0, outputTokens: 0 }
const spentKey = 'spent'
const beganKey = 'began'

/**
 * What a run remembers across the turns of its task.
 *
 * When a member asks the user something, the run stops and keeps, with the task, the message that began it and the
 * reply of every delegation so far. The user's answer begins a turn that runs the same scheduler from the start:
 * delegations that are remembered return at once, the one that asked gets the answer, and the run goes on from there.
 * A scheduler therefore needs no notion of where it was.
 * A class, not closures: one is made per run.
 */
export class Memory {
  readonly #turn: Turn
  readonly #saved: SavedRun | undefined
  readonly #entries: Map<string, readonly RememberedReply[]>
  readonly #answers: Map<string, UserAnswer>
  #message: Message
  #unanswered: string | undefined
  #spent: Spent['by'] | undefined
  #failed: Spent['failed'] | undefined
  /** What the run's earlier turns used, where a member has reported it. */
  readonly used: Usage | undefined

  constructor(turn: Turn, message: Message) {
    const saved = load(turn)
    const { by: spent, failed } = loadOfTurn<Spent>(turn, spentKey) ?? {}
    this.#turn = turn
    this.#message = message
    this.#saved = saved
    this.#entries = new Map(saved && Object.entries(saved.entries))
    this.#answers = new Map(saved?.answers && Object.entries(saved.answers))
    this.#unanswered = saved?.asked
    this.#spent = spent
    this.#failed = failed
    this.used = spent ? Object.values(spent).reduce(addUsage, saved?.used) : saved?.used
  }

  /** The message that began the run. */
  get message(): Message {
    return this.#saved?.message ?? this.#message
  }

  /** This turn's message is another one: what guards have left of it. */
  hear(message: Message): void {
    this.#message = message
  }

  /** What of that a delegation used which has not come to its end. */
  usedBy(key: string): Usage | undefined {
    return addUsage(this.#earlierBy(key), this.#spent?.[key])
  }

  /** What of that its failed tries used in this turn, before a crash. */
  failedBy(key: string): Usage | undefined {
    return this.#failed?.[key]
  }

  /** What unfinished delegations have used, by their keys. */
  get open(): OpenCalls {
    const open: Record<string, Usage> = { ...this.#saved?.open }
    for (const key in this.#spent) open[key] = this.usedBy(key) ?? noUsage
    return open
  }

  /** What a delegation gave back in an earlier turn, oldest first. */
  recall(key: string): readonly MemberReply[] {
    return this.#entries.get(key)?.map((entry) => entry.reply) ?? none
  }

  /**
   * The user's answer, for the delegation that asked, once per turn. One that had its answer in an earlier turn and has
   * not replied since, because another question came up within it, gets the same again.
   */
  takeAnswer(key: string): Message | undefined {
    if (key !== this.#unanswered) return openAnswer(this.#answers.get(key), this.#entries.get(key))
    this.#unanswered = undefined
    this.#answers.set(key, { turn: this.#turn.number, message: this.#message })
    return this.#message
  }

  /** Whether a delegation's last reply came in this turn. */
  isFresh(key: string): boolean {
    return this.#entries.get(key)?.at(-1)?.turn === this.#turn.number
  }

  /**
   * Stores the usage of a delegation that failed or that another one made, so that it still counts if the turn runs again.
   * The next try is paid for beside a failed one. One that was interrupted is repeated, and its member reports it again.
   */
  spend(key: string, used: Usage | undefined, hasFailed: boolean): void {
    const more = used && usageBeyond(this.#earlierBy(key), used)
    if (!more) return
    this.#spent = { ...this.#spent, [key]: more }
    if (hasFailed) this.#failed = { ...this.#failed, [key]: more }
    const value: object = { turn: this.#turn.number, by: this.#spent, failed: this.#failed }
    // Stored with the delegation's reply, or with what becomes of its failure; nothing waits for it.
    this.#turn.save(spentKey, value as Json).catch(() => {}) // numbers and names only
  }

  /** When a delegation began in this turn: stored before it continues, for a turn that resumes after a crash. */
  async begin(key: string, now: number): Promise<number> {
    const name = `${beganKey}/${key}`
    const known = loadOfTurn<Began>(this.#turn, name)
    if (known) return known.at
    await this.#turn.save(name, { turn: this.#turn.number, at: now })
    return now
  }

  /** Keeps a reply for later turns. */
  remember(key: string, reply: MemberReply): void {
    const entry = { turn: this.#turn.number, reply }
    const earlier = this.#entries.get(key)
    this.#entries.set(key, earlier ? [...earlier, entry] : [entry])
  }

  /** The last replies of delegations that wait for the user. */
  waiting(): readonly MemberReply[] {
    return waitingOf(this.#entries.values())
  }

  /** Keeps everything with the task, and what was used so far, because the run waits for the user. */
  suspend(asked: string, budget: Pick<Budget, 'used' | 'openCalls'>): Promise<void> {
    const saved = this.#saved
    return save(this.#turn, {
      message: this.message,
      turn: this.#turn.number,
      asked,
      ...(saved && { answered: saved.asked }),
      entries: Object.fromEntries(this.#entries),
      ...(this.#answers.size > 0 && { answers: Object.fromEntries(this.#answers) }),
      ...(budget.used && { used: budget.used, open: budget.openCalls() }),
      ...(saved?.used && { usedBefore: saved.used }),
      ...(saved?.open && { openBefore: saved.open }),
    })
  }

  /** Notes that the run is over, so that a later turn begins another one. */
  async end(): Promise<void> {
    if (this.#saved) await save(this.#turn, { ...this.#saved, over: this.#turn.number })
  }

  /** What was used of the delegation before this turn. */
  #earlierBy(key: string): Usage | undefined {
    const open = this.#saved?.open
    return open && Object.hasOwn(open, key) ? open[key] : undefined
  }
}

/** What was saved, as it was before this turn: a turn that runs again after a crash begins where it first began. */
function load(turn: Turn): SavedRun | undefined {
  const saved = read(turn)
  if (!saved || (saved.over !== undefined && saved.over !== turn.number)) return undefined
  return saved.turn === turn.number ? before(saved) : saved
}

/** What was saved, without what the turn that saved it brought. */
function before(saved: SavedRun): SavedRun | undefined {
  const { message, turn, answered, entries, answers = {} } = saved
  const { usedBefore: used, openBefore: open } = saved
  if (answered === undefined) return undefined
  const given = Object.entries(answers).filter(([, answer]) => answer.turn !== turn)
  const earlier = Object.entries(entries).map(
    ([key, list]) => [key, list.filter((entry) => entry.turn !== turn)] as const,
  )
  const kept = Object.fromEntries(earlier.filter(([, list]) => list.length > 0))
  return {
    message,
    turn: turn - 1,
    asked: answered,
    entries: kept,
    answers: Object.fromEntries(given),
    ...(used && { used }),
    ...(open && { open }),
  }
}

/** What an earlier attempt of this very turn has saved under a key. */
function loadOfTurn<Saved extends { readonly turn: number }>(
  turn: Turn,
  key: string,
): Saved | undefined {
  const value = turn.load(key)
  if (typeof value !== 'object' || value === null) return undefined
  const saved: object = value
  const known = saved as Saved // only this class writes its keys
  return known.turn === turn.number ? known : undefined
}

/** An answer that came after the delegation's last reply: it is still to be replied to. */
function openAnswer(
  answer: UserAnswer | undefined,
  entries: readonly RememberedReply[] = [],
): Message | undefined {
  const replied = entries.at(-1)?.turn ?? 0
  return answer && answer.turn > replied ? answer.message : undefined
}

async function save(turn: Turn, state: SavedRun): Promise<void> {
  const value: object = state
  await turn.save(stateKey, value as Json) // built of JSON values only
}
