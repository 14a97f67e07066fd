import type { TeamScheduler } from '../team-config.ts'
import type { SchedulerKind } from './kind.ts'
import { ownScheduler } from './own.ts'
import { router } from './router.ts'
import { supervisor } from './supervisor.ts'
import { workflow } from './workflow/workflow.ts'

/** Every way in which a team can work, by the type of its configuration. A type without its row does not compile. */
const kinds: {
  readonly [Type in TeamScheduler['type']]: SchedulerKind<Extract<TeamScheduler, { type: Type }>>
} = { supervisor, workflow, router, own: ownScheduler }

/** Whether a type is one of the table's own. */
export function isKind(type: string): type is TeamScheduler['type'] {
  return Object.hasOwn(kinds, type)
}

/** The row of a configuration whose type is in the table. */
export function kindOf(scheduler: TeamScheduler): SchedulerKind<TeamScheduler> {
  return kinds[scheduler.type]
}

const named = Object.keys(kinds).filter((type) => type !== 'own')

/** The types that a configuration can name, for people: `a, b and c`. */
export const builtInTypes: string = `${named.slice(0, -1).join(', ')} and ${named.at(-1)}`
