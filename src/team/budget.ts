import type { Account } from '../agents/account.ts'
import { type ModelPrices, withCost } from '../agents/prices.ts'
import { A2AError } from '../protocol/errors.ts'
import { addUsage, type Usage } from '../protocol/usage.ts'
import { CallAccount } from './account.ts'
import type { BudgetConfig } from './team-config.ts'

/** No run makes more delegations than this, whatever its configuration says. */
export const hardCap = 100

/** What one run has used and may still use. */
export interface Budget {
  /**
   * Counts one delegation.
   * @throws Overspent when the run has made too many, or it or a team around it has used too much.
   */
  spendHop(): void
  /** The usage with its cost, where there is a price. */
  price(usage: Usage): Usage
  /** The account of one call, which was counted up to `before` in earlier turns. */
  open(key: string, before: Usage | undefined): CallAccount
  /** The call has come to its end. */
  close(key: string): void
  /** What calls that have not come to their end have used, by their keys. */
  openCalls(): Readonly<Record<string, Usage>>
  /** Undefined as long as no member has told. */
  readonly used: Usage | undefined
}

/** What the account of a run is made of. */
interface BudgetOptions {
  readonly limits?: BudgetConfig | undefined
  readonly prices?: ModelPrices | undefined
  /** What the run has used in earlier turns. */
  readonly before?: Usage | undefined
  /** That of the call by which a team around asked this one. */
  readonly around?: Account | undefined
  /** Told of usage that cannot be held against a limit in money. */
  readonly onUnpriced?: ((usage: Usage) => void) | undefined
}

/** A run must stop: it, or a team around it, may use no more. It does not leave the run whose limit it is. */
export class Overspent extends A2AError {
  /** Whose limit it is. */
  readonly budget: Budget

  constructor(budget: Budget, message: string) {
    super('processingError', message)
    this.budget = budget
  }
}

/** What leaves a run: whoever asked the team need not stop where only the team's own limit is reached. */
export function toOutside(budget: Budget, thrown: unknown): unknown {
  if (!(thrown instanceof Overspent) || thrown.budget !== budget) return thrown
  return new A2AError('processingError', thrown.message, { cause: thrown })
}

/** Makes the account of one run. */
export function createBudget(options: BudgetOptions = {}): Budget {
  return new RunBudget(options)
}

class RunBudget implements Budget {
  readonly #options: BudgetOptions
  readonly #limits: BudgetConfig
  #hops = 0
  #used: Usage | undefined
  /** Of calls that have used something and not come to their end. */
  #accounts: Map<string, CallAccount> | undefined

  constructor(options: BudgetOptions) {
    this.#options = options
    this.#limits = options.limits ?? {}
    this.#used = options.before
    if (options.before) options.around?.resume(options.before)
  }

  get used(): Usage | undefined {
    return this.#used
  }

  spendHop(): void {
    const maxHops = Math.min(this.#limits.maxHops ?? hardCap, hardCap)
    if (++this.#hops > maxHops)
      throw this.#overspent(`${maxHops} delegations`, maxHops < hardCap ? 'raise max_hops' : '')
    this.check()
  }

  check(): void {
    // The outermost first: where its limit is reached too, nobody inside need try again.
    this.#options.around?.check()
    const { maxTokens, maxCostUsd } = this.#limits
    const { inputTokens = 0, outputTokens = 0, costUsd = 0 } = this.#used ?? {}
    const tokens = inputTokens + outputTokens
    if (maxTokens !== undefined && tokens >= maxTokens)
      throw this.#overspent(`${maxTokens} tokens`, `${tokens} are used; raise max_tokens`)
    if (maxCostUsd !== undefined && costUsd >= maxCostUsd)
      throw this.#overspent(`${maxCostUsd} USD`, `${costUsd} are spent; raise max_cost_usd`)
  }

  price(usage: Usage, asked?: string): Usage {
    const { prices, around } = this.#options
    const priced = prices ? withCost(usage, prices, asked) : usage
    return priced.costUsd === undefined && around ? around.price(priced, asked) : priced
  }

  add(usage: Usage): void {
    this.#count(usage)
    this.#options.around?.spend(usage)
  }

  recall(usage: Usage): void {
    const used = this.#count(usage)
    this.#options.around?.resume(used)
  }

  open(key: string, before: Usage | undefined): CallAccount {
    return new CallAccount(this, key, before)
  }

  track(key: string, account: CallAccount): void {
    this.#accounts ??= new Map()
    this.#accounts.set(key, account)
  }

  close(key: string): void {
    this.#accounts?.delete(key)
  }

  openCalls(): Readonly<Record<string, Usage>> {
    const open: Record<string, Usage> = {}
    for (const [key, { used }] of this.#accounts ?? []) if (used) open[key] = used
    return open
  }

  #count(usage: Usage): Usage {
    if (usage.costUsd === undefined && this.#limits.maxCostUsd !== undefined)
      this.#options.onUnpriced?.(usage)
    this.#used = addUsage(this.#used, usage) ?? usage
    return this.#used
  }

  #overspent(limit: string, rest: string): Overspent {
    const words = `The team has used up its budget of ${limit}`
    return new Overspent(this, rest === '' ? words : `${words}: ${rest} in its budget`)
  }
}
