import type { Refuse } from '../faults.ts'
import type { Run } from '../run.ts'
import type { MemberReply } from './scheduler.ts'

/** A row of the table of schedulers (kinds.ts): all that the rest of the team asks of one kind. */
export interface SchedulerKind<Config> {
  /** The team's mode, as cards show it. */
  mode(config: Config): string
  /** Refuses a config that cannot be in a team of these members. */
  check(config: Config, members: ReadonlySet<string>, refuse: Refuse): void
  /** The member that gets the caller's message first, where there is one. */
  first(config: Config): string | undefined
  /** Makes the scheduler of one team. */
  create(config: Config): Schedule
}

/** Works from a run's first message to the team's answer; the rules of `Scheduler.schedule` hold here too. */
export type Schedule = (run: Run) => Promise<MemberReply>
