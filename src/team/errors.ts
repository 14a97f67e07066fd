import type { KeyRow, Rows } from '../shared/rows.ts'

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

/** Throws the error that names the team, the fault, the reason and the place. */
export type Refuse = (fault: TeamFault, reason: string, at: TeamPath | TextPlace) => never

/** A place within a text of a TeamConfig. */
interface TextPlace {
  readonly path: TeamPath
  /** The character at which it begins. */
  readonly offset: number | undefined
}

/** Refuses numbers beyond the `max` of their rows. `at` is the table that they stand in. */
export function checkLimits<T extends object>(
  rows: Rows<T>,
  { at, values }: { readonly at: TeamPath; readonly values: T },
  refuse: Refuse,
): void {
  for (const [name, { max }] of Object.entries<KeyRow>(rows)) {
    const value: unknown = Reflect.get(values, name)
    if (max === undefined || value === undefined) continue
    if (Number(value) > 0 && Number(value) <= max) continue
    const reason = `${name} must be more than 0 and at most ${max}, not ${value}`
    refuse('invalidLimit', reason, [...at, name])
  }
}

/** What is wrong with a team, and where. */
export interface FaultDetail {
  /** In words for people. */
  readonly reason: string
  /** Where in the team's config it stands, by the keys; empty where it is the team as a whole. */
  readonly path?: TeamPath
  /** The character at which it begins, where a text stands there. */
  readonly offset?: number | undefined
  /** The id that was probably meant. */
  readonly meant?: string | undefined
}

/** Errors with a text that says where they are. */
const inPlainSight: ReadonlySet<TeamFault> = new Set<TeamFault>([
  ...(['missingName', 'invalidId', 'empty', 'duplicateMember', 'unregisteredMember'] as const),
  ...(['unknownScheduler', 'invalidScheduler', 'cycle'] as const),
])

/** Thrown for a team that is not valid: it says which one, where and why, for the person who wrote it. */
export class InvalidTeamError extends Error {
  override readonly name = 'InvalidTeamError'
  /** The team. */
  readonly teamId: string
  /** What is wrong, for programs. */
  readonly fault: TeamFault
  /** Why, apart from where. */
  readonly reason: string
  /** Where in the team's config it stands, by the keys; empty where it is the team as a whole. */
  readonly path: TeamPath
  /** The character at which it begins, where a text stands there in which something is wrong. */
  readonly offset: number | undefined

  constructor(teamId: string, fault: TeamFault, detail: string | FaultDetail) {
    const given: FaultDetail = typeof detail === 'string' ? { reason: detail } : detail
    const { reason, path = [], offset, meant } = given
    super(
      `Team "${teamId}": ${toSentence(reason, inPlainSight.has(fault) ? [] : path)}${meant ? `; did you mean "${meant}"?` : ''}`,
    )
    this.teamId = teamId
    this.fault = fault
    this.reason = reason
    this.path = path
    this.offset = offset
  }
}

/** `scheduler.steps[2].timeoutSeconds must be …`, `scheduler.steps[1].agentId: a step names …` */
function toSentence(reason: string, path: TeamPath): string {
  const place = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('')
  if (place === '') return reason
  const key = `${path.at(-1)} `
  const words = reason.startsWith(key) ? reason.slice(key.length) : reason
  return `${place.slice(1)}${/^(?:is|must|needs) /.test(words) ? '' : ':'} ${words}`
}
