import type { Account, Turn } from '../agents/agent.ts'
import { type ModelPrices, withCost } from '../agents/prices.ts'
import { A2AError } from '../protocol/errors.ts'
import { addUsage, type Usage, usageBeyond, usageOf } from '../protocol/extensions.ts'
import type { MemberFailed } from '../protocol/failure.ts'
import { isInterrupted } from '../protocol/task.ts'
import { type BudgetConfig, budgetRows, type TeamConfig } from './config.ts'
import type { MemberReply } from './schedulers/scheduler.ts'

/** Models beyond this many are not logged any more: a remote agent may call its models what it likes. */
const maxNames = 100

/** What holds for the budgets of all runs of a team; it warns once of what they cannot count. */
export class BudgetRules {
  readonly limits: BudgetConfig
  readonly prices: ModelPrices | undefined
  readonly #team: string
  readonly #unpriced = new Set<string>()
  #hasWarned = false

  constructor({ id, budget = {} }: TeamConfig, prices: ModelPrices | undefined) {
    this.#team = id
    this.limits = budget
    this.prices = prices
  }

  /** Warns of a model that a limit in money cannot price, once each. */
  warnOfUnpriced({ model = '' }: Usage, { log }: Turn): void {
    const told = this.#unpriced
    if (told.has(model) || told.size >= maxNames) return
    told.add(model)
    const which = model === '' ? 'Usage that names no model' : `The model "${model}"`
    log.warn(
      { team: this.#team, ...(model !== '' && { model }) },
      `${which} has no price, so max_cost_usd does not count it: add it to prices`,
    )
  }

  /** Warns, once, that the budget holds by estimates or not at all. */
  warnOfUnreported({ log }: Turn): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    const words =
      'The service of a model does not report what it uses; budget.unknown of the team says what becomes of that'
    log.warn({ team: this.#team }, words)
  }
}

/** What a run has used in earlier turns, and what of that belongs to unfinished calls, by their keys. */
interface EarlierUse {
  readonly used: Usage | undefined
  readonly open: Readonly<Record<string, Usage>>
}

/** What one run has used and may still use. */
export class Budget {
  readonly #turn: Turn
  readonly #rules: BudgetRules
  /** The account of the call by which a team around asked this one. */
  readonly #around: Account | undefined
  /** What unfinished calls had used by the beginning of this turn. */
  readonly #open: EarlierUse['open'] | undefined
  #hops = 0
  #used: Usage | undefined
  /** Of calls that have used something and not come to their end. */
  #accounts: Map<string, CallAccount> | undefined
  /** Calls of earlier turns that have ended in this one. */
  #ended: Set<string> | undefined

  constructor(turn: Turn, rules: BudgetRules, earlier: EarlierUse) {
    this.#turn = turn
    this.#rules = rules
    this.#around = turn.account
    this.#used = earlier.used
    if (!earlier.used) return
    this.#open = earlier.open
    this.#around?.resume(earlier.used)
  }

  /** Undefined as long as no member has reported. */
  get used(): Usage | undefined {
    return this.#used
  }

  /**
   * Counts one delegation.
   * @throws Overspent when the run has made too many, or it or a team around it has used too much.
   */
  spendHop(): void {
    const { maxDelegations = budgetRows.maxDelegations.default, maxHops = maxDelegations } =
      this.#rules.limits
    const most = Math.min(maxDelegations, maxHops)
    if (++this.#hops > most) {
      const key = maxHops < maxDelegations ? 'max_hops' : 'max_delegations'
      throw this.#overspent(`${most} delegations`, `raise ${key}`)
    }
    this.check()
  }

  /** @throws Overspent where nothing more may be used. */
  check(): void {
    // The outermost first: where its limit is reached too, no team inside need try again.
    this.#around?.check()
    const { maxTokens, maxCostUsd } = this.#rules.limits
    const { inputTokens = 0, outputTokens = 0, costUsd = 0 } = this.#used ?? {}
    const tokens = inputTokens + outputTokens
    if (maxTokens !== undefined && tokens >= maxTokens)
      throw this.#overspent(`${maxTokens} tokens`, `${tokens} are used; raise max_tokens`)
    if (maxCostUsd !== undefined && costUsd >= maxCostUsd)
      throw this.#overspent(`${maxCostUsd} USD`, `${costUsd} are spent; raise max_cost_usd`)
  }

  /** The usage with its cost, where there is a price. */
  price(usage: Usage, asked?: string): Usage {
    const { prices } = this.#rules
    const around = this.#around
    const priced = prices ? withCost(usage, prices, asked) : usage
    return priced.costUsd === undefined && around ? around.price(priced, asked) : priced
  }

  /**
   * What of an estimate counts where a model's service reported nothing. Without a limit in tokens or money nothing does.
   * @throws Overspent where the budget does not want to go on without knowing.
   */
  unreported(estimate: Usage): Usage | undefined {
    const wanted = this.#around?.unreported(estimate)
    const { maxTokens, maxCostUsd, unknown = 'estimate' } = this.#rules.limits
    if ((maxTokens === undefined && maxCostUsd === undefined) || unknown === 'ignore') return wanted
    this.#rules.warnOfUnreported(this.#turn)
    if (unknown === 'estimate') return estimate
    const words =
      'The service of a model does not report what it uses, so that the budget cannot hold'
    throw new Overspent(this, `${words}: set unknown = "estimate" in it`)
  }

  /** Counts what has just been used, in the teams around too. */
  add(usage: Usage): void {
    this.#count(usage)
    this.#around?.spend(usage)
  }

  /** Counts what is known from before: the teams around may have counted it already. */
  recall(usage: Usage): void {
    const used = this.#count(usage)
    this.#around?.resume(used)
  }

  /** The account of one call, which was counted up to `before` until now; `failed` is the part of this turn's failed tries. */
  open(key: string, before: Usage | undefined, failed: Usage | undefined): CallAccount {
    return new CallAccount(this, key, before, failed)
  }

  /** Keeps in mind what a call costs, from the first time that something is counted. */
  track(key: string, account: CallAccount): void {
    this.#accounts ??= new Map()
    this.#accounts.set(key, account)
  }

  /** The call has come to its end. */
  close(key: string): void {
    this.#accounts?.delete(key)
    if (!this.#open || !Object.hasOwn(this.#open, key)) return
    this.#ended ??= new Set()
    this.#ended.add(key)
  }

  /** What unfinished calls have used, by their keys; also calls of earlier turns that this turn has not reached. */
  openCalls(): Readonly<Record<string, Usage>> {
    const open: Record<string, Usage> = { ...this.#open }
    for (const key of this.#ended ?? []) delete open[key]
    for (const [key, { used }] of this.#accounts ?? []) if (used) open[key] = used
    return open
  }

  #count(usage: Usage): Usage {
    if (usage.costUsd === undefined && this.#rules.limits.maxCostUsd !== undefined)
      this.#rules.warnOfUnpriced(usage, this.#turn)
    this.#used = addUsage(this.#used, usage) ?? usage
    return this.#used
  }

  #overspent(limit: string, rest: string): Overspent {
    return new Overspent(this, `The team has used up its budget of ${limit}: ${rest} in its budget`)
  }
}

/**
 * What one call of a member has cost, failed tries and the turns before a question to the user included. A model and a
 * team count while they work; all others report in their reply, and what they report is the sum since the member was first
 * asked. So each thing is counted once, however often a run is repeated.
 */
export class CallAccount implements Account {
  readonly #budget: Budget
  readonly #key: string
  /** What it had cost by the beginning of this turn. */
  readonly #earlier: Usage | undefined
  #counted: Usage | undefined
  /** What failed tries of this turn had cost. */
  #base: Usage | undefined
  /** Whether this try counts while it works. */
  #isLive = false

  constructor(budget: Budget, key: string, before: Usage | undefined, failed: Usage | undefined) {
    this.#budget = budget
    this.#key = key
    this.#earlier = before && usageBeyond(failed, before)
    this.#counted = before
    this.#base = failed
    if (before) budget.track(key, this)
  }

  /** Undefined as long as nothing was reported. */
  get used(): Usage | undefined {
    return this.#counted
  }

  check(): void {
    this.#budget.check()
  }

  price(usage: Usage, asked?: string): Usage {
    return this.#budget.price(usage, asked)
  }

  unreported(estimate: Usage): Usage | undefined {
    return this.#budget.unreported(estimate)
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
    this.#budget.recall(more)
  }

  /** Counts what the member says that it used. */
  told(usage: Usage): void {
    const total = this.price(usage)
    const more = usageBeyond(this.#counted, (!this.#isLive && addUsage(this.#base, total)) || total)
    if (more) this.#add(more)
  }

  /** The call is tried again, or another member is called. */
  again(): void {
    this.#base = this.#counted && usageBeyond(this.#earlier, this.#counted)
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
    this.#budget.add(usage)
  }

  #note(usage: Usage): void {
    if (!this.#counted) this.#budget.track(this.#key, this)
    this.#counted = addUsage(this.#counted, usage)
  }
}

/** A run must stop: it, or a team around it, may use no more. It does not leave the run that has the limit. */
export class Overspent extends A2AError {
  /** The one that has the limit. */
  readonly budget: Budget
  /** The member of which a call came to the limit. */
  reached: MemberFailed | undefined

  constructor(budget: Budget, message: string) {
    super('processingError', message, { why: 'budget' })
    this.budget = budget
  }
}

/** What leaves a run: the caller of the team need not stop where only the team's own limit is reached. */
export function toOutside(budget: Budget, thrown: unknown): unknown {
  if (!(thrown instanceof Overspent) || thrown.budget !== budget) return thrown
  return new A2AError('processingError', thrown.message, { cause: thrown.reached ?? thrown })
}
