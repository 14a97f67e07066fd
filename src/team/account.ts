import type { Account } from '../agents/account.ts'
import { isInterrupted } from '../protocol/task.ts'
import { addUsage, type Usage, usageBeyond, usageOf } from '../protocol/usage.ts'
import type { MemberReply } from './schedulers/scheduler.ts'

/** The budget of a run, as the accounts of its calls see it. */
interface Ledger extends Pick<Account, 'check' | 'price'> {
  /** Counts what has just been used, in the teams around too. */
  add(usage: Usage): void
  /** Counts what is known from before: the teams around may have counted it already. */
  recall(usage: Usage): void
  /** Keeps in mind what a call costs, from the first time that something is counted. */
  track(key: string, account: CallAccount): void
}

/**
 * What one call of a member has cost, failed tries and the turns before a question to the user included. A model and a
 * team count while they work; all others tell in their reply, and what is told is the sum since the member was first
 * asked. So each thing is counted once, whoever tells it, and however often a run is repeated.
 */
export class CallAccount implements Account {
  readonly #ledger: Ledger
  readonly #key: string
  #counted: Usage | undefined
  /** What failed tries had cost. */
  #base: Usage | undefined
  /** Whether this try counts while it works. */
  #isLive = false

  /** `before` was counted in earlier turns. */
  constructor(ledger: Ledger, key: string, before: Usage | undefined) {
    this.#ledger = ledger
    this.#key = key
    this.#counted = before
    if (before) ledger.track(key, this)
  }

  /** Undefined as long as nothing was told. */
  get used(): Usage | undefined {
    return this.#counted
  }

  check(): void {
    this.#ledger.check()
  }

  price(usage: Usage, asked?: string): Usage {
    return this.#ledger.price(usage, asked)
  }

  spend(usage: Usage): void {
    this.#isLive = true
    this.#add(this.price(usage))
  }

  resume(total: Usage): void {
    this.#isLive = true
    const more = usageBeyond(this.#counted, this.price(total))
    if (!more) return
    this.#note(more)
    this.#ledger.recall(more)
  }

  /** Counts what the member says that it used. */
  told(usage: Usage): void {
    const total = this.price(usage)
    const more = usageBeyond(this.#counted, (!this.#isLive && addUsage(this.#base, total)) || total)
    if (more) this.#add(more)
  }

  /** The call is tried again, or somebody else is called. */
  again(): void {
    this.#base = this.#counted
    this.#isLive = false
  }

  /** Counts a reply that the log holds. */
  replay(reply: MemberReply): void {
    // A log of an earlier version has no sum; there, a member that asked the user tells it all when it has answered.
    const total = reply.used ?? (isInterrupted(reply.state) ? undefined : usageOf(reply.metadata))
    if (total) this.resume(total)
  }

  #add(usage: Usage): void {
    this.#note(usage)
    this.#ledger.add(usage)
  }

  #note(usage: Usage): void {
    if (!this.#counted) this.#ledger.track(this.#key, this)
    this.#counted = addUsage(this.#counted, usage)
  }
}
