import type { Guards } from '../agents/guards/guard.ts'
import { readGuards } from '../agents/guards/read.ts'
import { GuardFault } from '../agents/guards/ready.ts'
import { isFields } from '../shared/json.ts'
import type { Refuse, TeamPath } from './faults.ts'
import type { TeamConfig } from './team-config.ts'

/** How the guards of a team are checked. */
export interface GuardCheckOptions {
  /** Whether files of modules are loaded later, as those of a configuration are. */
  readonly modulesLater?: boolean
}

/** Guards in a team's configuration. */
interface PlacedGuards {
  readonly guards: Guards
  readonly path: TeamPath
  /** The member that they stand around, where it is one. */
  readonly agentId: unknown
}

/** All guards of a team: its own, then those of its steps in their order. */
export function guardsIn({ guards, scheduler }: TeamConfig): readonly PlacedGuards[] {
  const own = guards ? [{ guards, path: ['guards'], agentId: undefined }] : []
  // A scheduler of one's own has guards only where it asks somebody.
  return scheduler.type === 'workflow' ? [...own, ...below(scheduler.steps, stepsPath)] : own
}

const stepsPath: TeamPath = ['scheduler', 'steps']

function below(value: unknown, path: TeamPath): readonly PlacedGuards[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => below(item, [...path, index]))
  if (!isFields(value)) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === 'outputSchema' || key === 'jsonSchema') return []
    if (key !== 'guards' || inner === undefined) return below(inner, [...path, key])
    const guards = inner as Guards // looked at where they are read
    return [{ guards, path: [...path, key], agentId: value.agentId }]
  })
}

/** Refuses guards that cannot be, and a member that is to judge itself. */
export function checkTeamGuards(
  config: TeamConfig,
  refuse: Refuse,
  { modulesLater = false }: GuardCheckOptions,
): void {
  const members = config.agents.map(({ agentId }) => agentId)
  for (const { guards, path, agentId } of guardsIn(config)) {
    if (path.length > 1 && typeof agentId !== 'string')
      refuse('invalidGuard', 'guards must stand beside agentId: they look at one member', path)
    try {
      readGuards(guards, { members, modulesLater })
    } catch (error) {
      if (!(error instanceof GuardFault)) throw error
      const { reason, hint, offset } = error
      const at = { path: [...path, ...error.path], offset }
      refuse('invalidGuard', hint ? `${reason} (${hint})` : reason, at)
    }
    for (const { member, at } of judgesIn(guards))
      if (member === agentId)
        refuse('invalidGuard', `"${member}" cannot judge itself`, [...path, ...at])
  }
}

/** Who is asked by guards, and where among them that is said. */
export function judgesIn(
  guards: Guards,
): readonly { readonly member: string; readonly at: TeamPath }[] {
  return (['input', 'output'] as const).flatMap((side) =>
    (guards[side] ?? []).flatMap((rule, index) =>
      typeof rule === 'object' && 'member' in rule
        ? [{ member: rule.member, at: [side, index, 'member'] }]
        : [],
    ),
  )
}
