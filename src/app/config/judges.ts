import { nearest } from '../../shared/nearest.ts'
import { judgesIn } from '../../team/check-guards.ts'
import type { Config } from './file.ts'
import type { Unplaced } from './problems.ts'

/** Agents that guards of agents ask: they must be in the file, and nobody may be judged by what it judges. */
export function checkJudges({ agents, teams }: Config): readonly Unplaced[] {
  const ids = [...agents, ...teams].map(({ id }) => id)
  const asked = new Map<string, readonly string[]>([
    ...agents.map(({ id, guards = {} }) => [id, judgesIn(guards).map(memberOf)] as const),
    ...teams.map(({ id, agents: members }) => [id, members.map(({ agentId }) => agentId)] as const),
  ])
  return agents.flatMap(({ id, guards = {} }, index) =>
    judgesIn(guards).flatMap(({ member, at }): readonly Unplaced[] => {
      const path = ['agents', index, 'guards', ...at]
      if (!ids.includes(member)) return [{ path, ...unknown(member, ids) }]
      const way = wayBack(id, member, asked)
      if (!way) return []
      return [{ path, message: `Agent "${id}" cannot be judged by itself (${way.join(' > ')})` }]
    }),
  )
}

function memberOf({ member }: { readonly member: string }): string {
  return member
}

function unknown(member: string, ids: readonly string[]): Pick<Unplaced, 'message' | 'hint'> {
  const meant = nearest(member, ids)
  const hint = meant ? `did you mean ${meant}?` : `known: ${ids.join(', ')}`
  return { message: `there is no agent ${member} to be asked`, hint }
}

/** How one comes from an agent, through a judge of it and those that are asked then, back to the agent. */
function wayBack(
  id: string,
  judge: string,
  asked: ReadonlyMap<string, readonly string[]>,
): readonly string[] | undefined {
  const seen = new Set<string>()
  const visit = (here: string, way: readonly string[]): readonly string[] | undefined => {
    if (here === id) return way
    if (seen.has(here)) return undefined
    seen.add(here)
    for (const next of asked.get(here) ?? []) {
      const found = visit(next, [...way, next])
      if (found) return found
    }
    return undefined
  }
  return visit(judge, [id, judge])
}
