import { toId } from '../agents/function.ts'
import type { AgentInfo, SkillDetail } from '../protocol/profile.ts'
import type {
  AgentExtension,
  AgentProvider,
  AgentSkill,
  SecurityRequirement,
  SecurityScheme,
} from '../protocol/types.ts'

/**
 * A card as its author writes it: a name, and of the rest what there is to say, in the words of 1.0, of 0.3 or of the
 * Python SDK. The server adds where the agent is reached.
 */
export interface CardDraft {
  readonly name: string
  readonly description?: string
  readonly version?: string
  /** Not looked at: the server says where the agent is reached. */
  readonly url?: string
  /** Not looked at: the server says where the agent is reached. */
  readonly supportedInterfaces?: readonly unknown[]
  readonly provider?: ProviderDraft
  readonly capabilities?: CapabilitiesDraft
  readonly skills?: readonly SkillDraft[]
  readonly defaultInputModes?: readonly string[]
  readonly defaultOutputModes?: readonly string[]
  readonly documentationUrl?: string
  readonly iconUrl?: string
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>
  readonly securityRequirements?: readonly SecurityRequirement[]
}

/** Who runs an agent; the Python SDK calls the organization its name. */
export interface ProviderDraft {
  readonly organization?: string
  /** The same as `organization`, in the Python SDK's word. */
  readonly name?: string
  readonly url?: string
}

/** An agent's flags, the Python SDK's `stateManagement` among them. */
export interface CapabilitiesDraft {
  readonly streaming?: boolean
  readonly pushNotifications?: boolean
  /** Whether the agent keeps state between turns; the Python SDK's own. */
  readonly stateManagement?: boolean
  readonly extendedAgentCard?: boolean
  readonly extensions?: readonly AgentExtension[]
}

/** A skill as its author writes it; only its name is needed. */
export interface SkillDraft
  extends Partial<AgentSkill>,
    Pick<SkillDetail, 'inputSchema' | 'outputSchema'> {
  readonly name: string
}

/** The info behind a card: its skills become abilities, so that every shape of card can show them. */
export function infoFromCard(card: CardDraft): AgentInfo {
  const skills = (card.skills ?? []).map(toSkill)
  return {
    id: toId(card.name),
    name: card.name,
    description: card.description || card.name,
    capabilities: [...new Set(skills.map(({ name }) => name))],
    metadata: {},
    details: { ...detailsOf(card), skills },
  }
}

function detailsOf(card: CardDraft): NonNullable<AgentInfo['details']> {
  const { version, capabilities = {}, documentationUrl, iconUrl, provider } = card
  const { streaming, stateManagement, extensions } = capabilities
  const { defaultInputModes, defaultOutputModes, securitySchemes, securityRequirements } = card
  return {
    ...(version && { version }),
    ...(provider && { provider: toProvider(provider) }),
    ...(card.skills && { capabilities: card.skills.map(toCapability) }),
    ...(defaultInputModes && { inputModes: defaultInputModes }),
    ...(defaultOutputModes && { outputModes: defaultOutputModes }),
    ...(documentationUrl && { documentationUrl }),
    ...(iconUrl && { iconUrl }),
    ...(stateManagement !== undefined && { stateManagement }),
    ...(streaming !== undefined && { streaming }),
    ...(extensions && { extensions }),
    ...(securitySchemes && { securitySchemes }),
    ...(securityRequirements && { securityRequirements }),
  }
}

/** A provider in the specification's words. */
export function toProvider({ organization, name, url }: ProviderDraft): AgentProvider {
  return { organization: organization ?? name ?? '', url: url ?? '' }
}

/** A skill with all that the specification demands. */
export function toSkill(skill: SkillDraft): SkillDetail {
  const { id, name, description, tags, ...rest } = skill
  return {
    id: id ?? toId(name),
    name,
    description: description || name,
    tags: tags?.length ? tags : [name],
    ...rest,
  }
}

function toCapability(skill: SkillDraft): { name: string; description: string; version: string } {
  return { name: skill.name, description: skill.description || skill.name, version: '1.0.0' }
}
