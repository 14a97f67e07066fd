import type { MemberReply } from '../reply.ts'
import type { Run } from '../run.ts'

/**
 * How a team works: which member gets which message next, until there is an answer (000's Scheduler, whose
 * `determine_next_recipient` is the body of the loops here). A scheduler is a value without state: what a run needs
 * to know stands in the run, so any number of runs share one scheduler.
 */
export interface Scheduler {
  /**
   * Works from the run's first message to the reply that is the team's answer. It may be called again for the same run,
   * after a crash or when the user has answered: names of delegations must then be the same.
   */
  schedule(run: Run): Promise<MemberReply>
}
