import { A2AError } from '../protocol/errors.ts'
import { isInterrupted } from '../protocol/task.ts'
import { addUsage, type Usage, usageOf } from '../protocol/usage.ts'
import type { MemberReply } from './schedulers/scheduler.ts'
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
  /** Undefined as long as no member has told. */
  readonly used: Usage | undefined
}

/** Makes the account of one run, which has used this much in earlier turns. */
export function createBudget(limits: BudgetConfig = {}, before?: Usage): Budget {
  const maxHops = Math.min(limits.maxHops ?? hardCap, hardCap)
  let hops = 0
  let used = before
  return {
    spendHop() {
      if (++hops > maxHops) throw overspent(`${maxHops} delegations`)
      if (limits.maxTokens !== undefined && total(used) >= limits.maxTokens)
        throw overspent(`${limits.maxTokens} tokens`)
    },
    spend(reply) {
      // A member that asks the user tells what it used, also before its question, when it has answered.
      if (isInterrupted(reply.state)) return
      used = addUsage(used, usageOf(reply.metadata))
    },
    get used() {
      return used
    },
  }
}

function total(usage: Usage | undefined): number {
  return usage ? usage.inputTokens + usage.outputTokens : 0
}

function overspent(what: string): A2AError {
  return new A2AError('processingError', `The team has used up its budget of ${what}`)
}
