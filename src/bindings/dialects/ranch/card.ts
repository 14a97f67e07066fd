import type { AgentInfo } from '../../../protocol/profile.ts'

/** The card of RANCH's `agent/card`. */
interface RanchCard {
  readonly agent_id: string
  readonly name: string
  readonly description: string
  readonly capabilities: readonly {
    readonly name: string
    readonly description: string
    readonly version: string
  }[]
  readonly skills: readonly { readonly name: string; readonly proficiency: string }[]
  readonly version: string
  readonly provider: { readonly name: string; readonly url: string }
}

const framework = { name: 'Corral', url: 'urn:corral' }

/**
 * What an agent says of itself, as a RANCH card. Abilities keep their order and occur once; without details a
 * description is the name, a version "1.0.0" and the provider the framework.
 */
export function toRanchCard(info: AgentInfo): RanchCard {
  const { details } = info
  const { provider } = details ?? {}
  return {
    agent_id: info.id,
    name: info.name,
    description: info.description,
    capabilities: [...new Set(info.capabilities)].map((name) => toCapability(name, info)),
    skills: (details?.proficiencies ?? []).map(({ name, proficiency }) => ({ name, proficiency })),
    version: details?.version ?? '1.0.0',
    provider: provider ? { name: provider.organization, url: provider.url } : framework,
  }
}

function toCapability(name: string, info: AgentInfo): RanchCard['capabilities'][number] {
  const known = info.details?.capabilities?.find((detail) => detail.name === name)
  return {
    name,
    description: known?.description ?? name,
    version: known?.version ?? '1.0.0',
  }
}
