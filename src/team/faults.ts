import { hardCap } from './budget.ts'

/** What can be wrong with a team, found when it is made. */
export type TeamFault =
  | 'invalidShape'
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
  | 'invalidGuard'
  | 'invalidStep'
  | 'duplicateStep'
  | 'unknownStep'
  | 'invalidExpression'
  | 'invalidSchema'
  | 'cycle'

/** Where in a team's configuration something stands, by its keys. */
export type TeamPath = readonly (string | number)[]

/** A place within a text of a TeamConfig. */
interface TextPlace {
  readonly path: TeamPath
  /** The character at which it begins. */
  readonly offset: number | undefined
}

/** Throws the error that names the team, the fault, the reason and the place. */
export type Refuse = (fault: TeamFault, reason: string, at: TeamPath | TextPlace) => never

/** A number that a configuration may set. */
interface Limit {
  /** The table that it stands in. */
  readonly at: TeamPath
  readonly name: string
  readonly value: number | undefined
  /** What one run may do at most, if absent. */
  readonly max?: number
}

/** Refuses a number out of range. */
export function checkLimit({ at, name, value, max = hardCap }: Limit, refuse: Refuse): void {
  if (value === undefined || (value > 0 && value <= max)) return
  const reason = `${name} must be more than 0 and at most ${max}, not ${value}`
  refuse('invalidLimit', reason, [...at, name])
}
