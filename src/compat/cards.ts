import type { SkillDetail } from '../protocol/profile.ts'
import type * as A2A from '../protocol/types.ts'
import { withAlias } from './alias.ts'
import {
  type CapabilitiesDraft,
  type CardDraft,
  type ProviderDraft,
  type SkillDraft,
  toProvider,
  toSkill,
} from './card-info.ts'

/** A card with what the Python SDK has beyond the specification. */
export interface AgentCard extends A2A.AgentCard {
  readonly url: string
  readonly capabilities: AgentCapabilities
  readonly skills: readonly AgentSkill[]
  readonly provider?: AgentProvider
}

/** An agent's flags, the Python SDK's `stateManagement` among them. */
export interface AgentCapabilities extends A2A.AgentCapabilities {
  readonly stateManagement?: boolean
}

/** A skill with the schemas of its input and output. */
export type AgentSkill = SkillDetail

/** Who runs an agent; the organization has the Python SDK's name too. */
export type AgentProvider = A2A.AgentProvider & { readonly name: string }

const usualModes = ['text/plain', 'application/json']

/** Makes a card: `AgentCard({ name, description, url, version, capabilities, skills, provider })`. */
export function AgentCard(draft: CardDraft): AgentCard {
  const { name, description, version, provider, skills, supportedInterfaces: _, ...rest } = draft
  const url = draft.url ?? 'http://localhost:8000'
  return {
    ...rest,
    name,
    description: description ?? name,
    url,
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    version: version ?? '1.0.0',
    capabilities: AgentCapabilities(draft.capabilities ?? {}),
    defaultInputModes: draft.defaultInputModes ?? usualModes,
    defaultOutputModes: draft.defaultOutputModes ?? usualModes,
    skills: (skills ?? []).map(AgentSkill),
    ...(provider && { provider: AgentProvider(provider) }),
  }
}

/** Makes the flags of a card: `AgentCapabilities({ streaming, pushNotifications, stateManagement })`. */
export function AgentCapabilities(flags: CapabilitiesDraft): AgentCapabilities {
  return { ...flags }
}

/** Makes a skill: `AgentSkill({ id, name, description, inputSchema })`; tags are filled in. */
export function AgentSkill(skill: SkillDraft): AgentSkill {
  return toSkill(skill)
}

/** Makes a provider: `AgentProvider({ name })`, or in the specification's words `{ organization, url }`. */
export function AgentProvider(provider: ProviderDraft): AgentProvider {
  const made = toProvider(provider)
  return withAlias(made, { name: made.organization })
}
