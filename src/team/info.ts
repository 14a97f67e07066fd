import type { AgentDetails, AgentInfo, Health } from '../agents/agent.ts'
import { historyExtension, usageExtension } from '../protocol/extensions.ts'
import type { AgentManager } from './manager.ts'
import { kindOf } from './schedulers/kinds.ts'
import type { TeamConfig } from './team-config.ts'

/**
 * What a team says of itself: its own words, and its members' abilities in the order of the configuration without
 * duplicates. A member that cannot say what it can do contributes what the configuration says of it.
 */
export async function teamInfo(config: TeamConfig, manager: AgentManager): Promise<AgentInfo> {
  const infos = await Promise.all(config.agents.map(({ agentId }) => manager.info(agentId)))
  const abilities = config.agents.flatMap(({ capabilities = [] }, i) => [
    ...capabilities,
    ...(infos[i]?.capabilities ?? []),
  ])
  return {
    id: config.id,
    name: config.name,
    description: config.description,
    capabilities: [...new Set(abilities)],
    metadata: {
      type: 'team',
      mode: kindOf(config.scheduler).mode(config.scheduler),
      member_count: String(config.agents.length),
    },
    details: { ...detailsOf(config), ...extensionsOf(config, infos) },
  }
}

/** A team is healthy when all of its members are. */
export async function teamHealth(config: TeamConfig, manager: AgentManager): Promise<Health> {
  const ids = config.agents.map(({ agentId }) => agentId)
  const answers = await Promise.all(ids.map((id) => manager.health(id)))
  const members = Object.fromEntries(ids.map((id, i) => [id, answers[i] ?? { healthy: false }]))
  const sick = ids.filter((id) => !members[id]?.healthy)
  if (sick.length === 0) return { healthy: true, members }
  return { healthy: false, reason: `not healthy: ${sick.join(', ')}`, members }
}

/**
 * What members can do with messages that the team can therefore do too: tell the tokens used, if any of them does, and
 * read the turns that a client sends along, if the member that gets the client's message does.
 */
function extensionsOf(
  config: TeamConfig,
  infos: readonly AgentInfo[],
): Pick<AgentDetails, 'extensions'> {
  const first = kindOf(config.scheduler).first(config.scheduler)
  const declared = infos.flatMap(({ id, details }) =>
    (details?.extensions ?? []).filter(
      ({ uri }) => uri === usageExtension || (uri === historyExtension && id === first),
    ),
  )
  const extensions = new Map(declared.map((extension) => [extension.uri, extension]))
  return extensions.size > 0 ? { extensions: [...extensions.values()] } : {}
}

function detailsOf(config: TeamConfig): NonNullable<AgentInfo['details']> {
  const { version, provider, capabilityDetails, proficiencies, skills } = config
  return {
    ...(version !== undefined && { version }),
    ...(provider && { provider }),
    ...(capabilityDetails && { capabilities: capabilityDetails }),
    ...(proficiencies && { proficiencies }),
    ...(skills && { skills }),
  }
}
