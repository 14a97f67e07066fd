import { hardCap } from './budget.ts'

/** What is wrong with a team, found when it is made. */
export type TeamFault =
  | 'missingName'
  | 'invalidId'
  | 'invalidVersion'
  | 'unnamedCapability'
  | 'unknownScheduler'
  | 'invalidScheduler'
  | 'empty'
  | 'duplicateMember'
  | 'unregisteredMember'
  | 'notAMember'
  | 'missingSupervisor'
  | 'missingDefaultAgent'
  | 'emptyWorkflow'
  | 'invalidLimit'
  | 'cycle'

/** Throws the error that names the team, the fault and the reason. */
export type Refuse = (fault: TeamFault, reason: string) => never

/** A number that a configuration may set. */
interface Limit {
  readonly name: string
  readonly value: number | undefined
  /** What one run may do at most, if absent. */
  readonly max?: number
}

/** Refuses a number out of range. */
export function checkLimit({ name, value, max = hardCap }: Limit, refuse: Refuse): void {
  if (value !== undefined && !(value > 0 && value <= max))
    refuse('invalidLimit', `${name} must be more than 0 and at most ${max}, not ${value}`)
}
