import { A2AError } from '../protocol/errors.ts'
import { type MemberReply, replyUsage, type Usage } from './reply.ts'
import type { BudgetConfig } from './team-config.ts'

/** No run makes more delegations than this, whatever its configuration says. */
export const hardCap = 100

/** What one run has used and may still use. */
export interface Budget {
  /**
   * Counts one delegation.
   * @throws A2AError `processingError` when the run has made too many or used too many tokens.
   */
  spendHop(): void
  /** Counts the tokens of a reply. */
  spend(reply: MemberReply): void
  readonly used: Usage
}

/** Makes the account of one run. */
export function createBudget(limits: BudgetConfig = {}): Budget {
  const maxHops = Math.min(limits.maxHops ?? hardCap, hardCap)
  let hops = 0
  let inputTokens = 0
  let outputTokens = 0
  return {
    spendHop() {
      if (++hops > maxHops) throw overspent(`${maxHops} delegations`)
      if (limits.maxTokens !== undefined && inputTokens + outputTokens >= limits.maxTokens)
        throw overspent(`${limits.maxTokens} tokens`)
    },
    spend(reply) {
      const usage = replyUsage(reply)
      inputTokens += usage?.inputTokens ?? 0
      outputTokens += usage?.outputTokens ?? 0
    },
    get used() {
      return { inputTokens, outputTokens }
    },
  }
}

function overspent(what: string): A2AError {
  return new A2AError('processingError', `The team has used up its budget of ${what}`)
}
