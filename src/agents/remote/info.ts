import type { AgentCard, AgentSkill } from '../../protocol/types.ts'
import type { AgentDetails, AgentInfo } from '../agent.ts'

/** What a remote agent is called here; the card's own words if absent. */
export interface LocalInfo {
  /** The URL of the remote agent or of its card. */
  readonly endpoint: string
  /** The remote agent's own id; discovered if absent. */
  readonly agentId?: string
  /** The agent's id here, unique in its team and server. */
  readonly id?: string
  readonly name?: string
  readonly description?: string
  readonly capabilities?: readonly string[]
  readonly metadata?: Readonly<Record<string, string>>
}

/** A remote agent's info: local names first, then what its card says, then what its URL tells. */
export function toRemoteInfo(local: LocalInfo, card?: AgentCard): AgentInfo {
  const name = local.name ?? card?.name ?? new URL(local.endpoint).host
  return {
    id: local.id ?? local.agentId ?? card?.name ?? new URL(local.endpoint).host,
    name,
    description: local.description ?? card?.description ?? name,
    capabilities: abilitiesOf(local, card),
    metadata: { ...local.metadata, type: 'a2a' },
    ...(card && { details: detailsOf(card) }),
  }
}

/** Abilities are the configured ones, else the names of the card's skills. */
function abilitiesOf(local: LocalInfo, card?: AgentCard): readonly string[] {
  if (local.capabilities?.length) return [...new Set(local.capabilities)]
  return [...new Set((card?.skills ?? []).map((skill: AgentSkill) => skill.name))]
}

/** URLs, schemes and signatures are the remote's own and do not become ours. */
function detailsOf(card: AgentCard): AgentDetails {
  const { version, provider, skills, documentationUrl, iconUrl, capabilities } = card
  return {
    version,
    ...(provider && { provider }),
    skills,
    inputModes: card.defaultInputModes,
    outputModes: card.defaultOutputModes,
    ...(documentationUrl !== undefined && { documentationUrl }),
    ...(iconUrl !== undefined && { iconUrl }),
    ...(capabilities.extensions && { extensions: capabilities.extensions }),
  }
}
