import type { TeamConfig } from '../../team/team-config.ts'

/** Teams in an order in which every team comes after the teams that it contains. Circles have been refused before. */
export function inBuildOrder(teams: readonly TeamConfig[]): readonly TeamConfig[] {
  const byId = new Map(teams.map((team) => [team.id, team]))
  const ordered = new Set<TeamConfig>()
  const place = (team: TeamConfig): void => {
    if (ordered.has(team)) return
    for (const { agentId } of team.agents) {
      const inner = byId.get(agentId)
      if (inner) place(inner)
    }
    ordered.add(team)
  }
  for (const team of teams) place(team)
  return [...ordered]
}
