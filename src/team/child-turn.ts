import { hash } from 'node:crypto'
import type { Account } from '../agents/account.ts'
import type { Turn } from '../agents/agent.ts'
import { InnerTurn, type InnerTurnOptions } from '../agents/wrap.ts'
import type { JsonObject, Message, Task } from '../protocol/types.ts'
import { withSignal } from '../shared/async.ts'
import { type Clock, toTimestamp } from '../shared/clock.ts'
import { copyOf } from '../shared/json.ts'
import { replyParts } from './reply.ts'
import type { MemberReply } from './schedulers/scheduler.ts'
import type { LinkedSignal } from './signal.ts'

/** What a member's turn has of its own. */
interface ChildTurnOptions extends InnerTurnOptions {
  /** Fires when the member is to stop; its signal is made only for a member that looks at it. */
  readonly link: LinkedSignal
  readonly clock: Clock
  readonly hops: readonly string[]
  readonly traceparent: string | undefined
  /** What the member was asked and answered before in this run. */
  readonly exchange: readonly Message[]
  /** The reply in which the member asked what this message answers. */
  readonly asked: MemberReply | undefined
  /** Whether the member speaks with the team's caller, and so sees their conversation and must keep to their formats. */
  readonly facesCaller: boolean
  /** What the member is told to answer by. */
  readonly answerSchema: JsonObject | undefined
  readonly account: Account
}

/** A member's turn, as its team has it. */
interface MemberTurn extends Turn {
  /**
   * Ends what the member waited for elsewhere, also for one that is left behind: when this resolves the team has its slot
   * again. Undefined where the member never was away.
   */
  end(link: LinkedSignal): Promise<unknown> | undefined
}

/**
 * The turn that a member sees: the team's task, with a space of its own for steps and state. To the member, a question
 * that it asked is a task of its own that waits for input.
 */
export function createChildTurn(parent: Turn, options: ChildTurnOptions): MemberTurn {
  return new ChildTurn(parent, options)
}

/** A class, not closures: one is made per hop. */
class ChildTurn extends InnerTurn implements MemberTurn {
  readonly #parent: Turn
  readonly #options: ChildTurnOptions
  /** The member's own copies, made when it looks. */
  #task: Task | undefined
  #history: readonly Message[] | undefined
  #outside: Set<() => Promise<void>> | undefined

  constructor(parent: Turn, options: ChildTurnOptions) {
    super(parent, options)
    this.#parent = parent
    this.#options = options
  }

  override get task(): Task | undefined {
    const { asked } = this.#options
    this.#task ??= asked && copyOf(waitingTask(this.#parent, asked, this.#options))
    return this.#task
  }
  override get history(): readonly Message[] {
    this.#history ??= copyOf(this.#options.exchange)
    return this.#history
  }
  override get signal(): AbortSignal {
    return this.#options.link.signal
  }
  override get hops(): readonly string[] {
    return this.#options.hops
  }
  override get traceparent(): string | undefined {
    return this.#options.traceparent
  }
  override get outputSchema(): JsonObject | undefined {
    return this.#options.answerSchema
  }
  override get acceptedOutputModes(): readonly string[] {
    return this.#options.facesCaller ? this.#parent.acceptedOutputModes : []
  }

  override get account(): Account {
    return this.#options.account
  }

  override away(): () => Promise<void> {
    const back = this.#parent.away()
    this.#outside ??= new Set()
    this.#outside.add(back)
    return back
  }

  end(link: LinkedSignal): Promise<unknown> | undefined {
    if (!this.#outside) return undefined
    return withSignal(Promise.all([...this.#outside].map((back) => back())), link.signal)
  }

  override trace(entry: JsonObject): void {
    this.#parent.trace(withPlace(entry, this.#options.space))
  }

  override async conversation(limit: number): Promise<readonly Message[]> {
    if (limit <= 0) return []
    const { facesCaller, exchange } = this.#options
    const heard = facesCaller ? await this.#parent.conversation(limit + 1) : []
    // The caller's message may be among them; the member has it as its own, under another id.
    const { messageId: callers } = this.#parent.message
    const earlier = heard.filter(({ messageId }) => messageId !== callers)
    return [...earlier, ...copyOf(exchange)].slice(-limit)
  }
}

/**
 * The id of a message to a member: a UUID that is the same when the turn runs again after a crash, so that a remote peer
 * can tell a repeated send, and another one for every try and every delegation.
 */
export function toMessageId(turn: Turn, place: string): string {
  const hex = hash('sha256', `${turn.taskId}/${turn.message.messageId}/${place}`)
  // Version 8 and the standard variant of RFC 9562, for ids made in a way of one's own.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Where members keep something with a task, by the keys that their team sees: `<delegation>:<member>/<their key>`. */
export function memberSpaces(
  keys: Iterable<string>,
): readonly { readonly agentId: string; readonly space: string }[] {
  const spaces = new Set<string>()
  for (const key of keys) {
    const end = key.indexOf('/')
    if (end > 0) spaces.add(key.slice(0, end))
  }
  return [...spaces].flatMap((space) => {
    const colon = space.indexOf(':')
    return colon < 0 ? [] : [{ agentId: space.slice(colon + 1), space }]
  })
}

/** The keys of one space, as the member that keeps them names them. */
export function* keysIn(space: string, keys: Iterable<string>): Iterable<string> {
  for (const key of keys) if (key.startsWith(`${space}/`)) yield key.slice(space.length + 1)
}

/** The place names nest, so that an entry of a nested team says by which way it was reached. */
function withPlace(entry: JsonObject, space: string): JsonObject {
  return { ...entry, at: typeof entry.at === 'string' ? `${space}/${entry.at}` : space }
}

function waitingTask(
  parent: Turn,
  asked: MemberReply,
  { exchange, clock }: Pick<ChildTurnOptions, 'exchange' | 'clock'>,
): Task {
  const question = asked.message ?? parent.reply(replyParts(asked))
  return {
    id: parent.taskId,
    contextId: parent.contextId,
    status: { state: asked.state, message: question, timestamp: toTimestamp(clock.now()) },
    ...(asked.artifacts && { artifacts: asked.artifacts }),
    history: exchange,
  }
}
