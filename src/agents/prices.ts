import type { Usage } from '../protocol/extensions.ts'
import type { Message } from '../protocol/types.ts'
import type { Account, Agent, AgentReply, Turn } from './agent.ts'
import { WrappedTurn, wrapAgent } from './wrap.ts'

/** What a model costs, in US dollars per million tokens. */
export interface ModelPrice {
  /** For a million tokens that the model reads. */
  readonly input: number
  /** For a million tokens that it writes. */
  readonly output: number
  /** Of input that the service had in its cache, where it tells how much that was; as `input` if absent. */
  readonly cachedInput?: number
}

/**
 * Prices by the names of models. A price holds for dated versions of its model too, that of `gpt-4.1` for
 * `gpt-4.1-2025-04-14`, but not for its relatives, such as `gpt-4.1-mini`.
 */
export type ModelPrices = Readonly<Record<string, ModelPrice>>

/** Checks prices that a program gives. @throws RangeError that names the wrong one. */
export function checkPrices(prices: ModelPrices): void {
  for (const [model, price] of Object.entries(prices)) {
    const { input, output, cachedInput = 0 } = Object(price)
    for (const [name, value] of Object.entries({ input, output, cachedInput }))
      if (typeof value !== 'number' || !(value >= 0 && value < Number.POSITIVE_INFINITY))
        throw new RangeError(
          `prices["${model}"].${name} must be US dollars per million tokens, a number from 0, not ${value}`,
        )
  }
}

/** The price of the model that goes by one of these names: what it was asked for by, and what it calls itself. */
export function findPrice(
  prices: ModelPrices,
  ...names: readonly (string | undefined)[]
): ModelPrice | undefined {
  for (const name of names)
    if (name !== undefined && Object.hasOwn(prices, name)) return prices[name]
  for (const name of names) {
    const undated = name?.replace(date, '')
    if (undated !== undefined && Object.hasOwn(prices, undated)) return prices[undated]
  }
  return undefined
}

/** What services put behind a model's name for one version of it: `-2025-04-14`, `-0613`, `@20250514`, `:latest`. */
const date = /[-@:](?:\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|\d{4}|latest)$/

/** The usage with its cost, where it has none yet and there is a price. */
export function withCost(usage: Usage, prices: ModelPrices, asked?: string): Usage {
  if (usage.costUsd !== undefined) return usage
  const price = findPrice(prices, asked, usage.model)
  if (!price) return usage
  const { inputTokens, outputTokens, cachedInputTokens = 0 } = usage
  const { input, output, cachedInput = input } = price
  const cached = Math.min(cachedInputTokens, inputTokens)
  const millionfold = (inputTokens - cached) * input + cached * cachedInput + outputTokens * output
  return { ...usage, costUsd: Math.round(millionfold * 1e6) / 1e12 }
}

/** The agent, which tells what its answers cost at these prices. @throws RangeError for a wrong one. */
export function withPrices(agent: Agent, prices: ModelPrices): Agent {
  checkPrices(prices)
  const account: Account = {
    used: undefined,
    check() {},
    price: (usage, asked) => withCost(usage, prices, asked),
    unreported: () => undefined,
    spend() {},
    resume() {},
  }
  return wrapAgent(agent, {
    process: (ask: (turn: Turn) => AgentReply, _message: Message, turn) =>
      ask(new PricedTurn(turn, account)),
  })
}

class PricedTurn extends WrappedTurn {
  readonly #account: Account

  constructor(outer: Turn, account: Account) {
    super(outer)
    this.#account = account
  }

  override get account(): Account {
    return this.#account
  }
}
