import type { Usage } from '../protocol/usage.ts'

/**
 * Where the work of a turn is counted, against the budgets of the teams around it. Models count by themselves; an
 * agent that calls one on its own may tell it here, and is then stopped in time.
 */
export interface Account {
  /** What was counted for the turn so far, by whomever in it; undefined where nothing was. */
  readonly used: Usage | undefined
  /**
   * Call it before what costs something, such as a request to a model.
   * @throws A2AError `processingError` when a team around has used up its tokens or its money.
   */
  check(): void
  /**
   * Gives the usage with its cost, where it has none yet and the model has a price; `asked` is the name that the model
   * was asked for by.
   */
  price(usage: Usage, asked?: string): Usage
  /** Counts what has just been used. */
  spend(usage: Usage): void
  /** Counts what the turn is known to have used in all, so far as that is not counted: it may have begun in another process. */
  resume(total: Usage): void
}
