import type {
  AgentExtension,
  AgentProvider,
  AgentSkill,
  JsonObject,
  SecurityRequirement,
  SecurityScheme,
} from './types.ts'

/** What an agent says of itself inside Corral, with the details that cards can show. */
export interface AgentInfo {
  /** Unique within a manager and a server; also the agent's path segment. */
  readonly id: string
  readonly name: string
  readonly description: string
  /** Abilities such as "research" or "writing", without duplicates. Not the protocol's capabilities. */
  readonly capabilities: readonly string[]
  readonly metadata: Readonly<Record<string, string>>
  readonly details?: AgentDetails
}

/** What cards can show beyond AgentInfo; all of it optional. */
export interface AgentDetails {
  /** The agent's own version; "1.0.0" if absent. */
  readonly version?: string
  readonly provider?: AgentProvider
  /** Words and version of an ability, by its name (RANCH's Capability). */
  readonly capabilities?: readonly CapabilityDetail[]
  /** What the agent is good at, and how (RANCH's Skill). */
  readonly proficiencies?: readonly Proficiency[]
  /** Skills for A2A cards; derived from the abilities if absent. */
  readonly skills?: readonly SkillDetail[]
  readonly inputModes?: readonly string[]
  readonly outputModes?: readonly string[]
  /** The JSON Schema of its answers, where they are data. */
  readonly outputSchema?: JsonObject
  readonly documentationUrl?: string
  readonly iconUrl?: string
  /** Whether it keeps state between turns; shown in the superset card only. */
  readonly stateManagement?: boolean
  /** Whether the agent can stream; true if absent. */
  readonly streaming?: boolean
  readonly extensions?: readonly AgentExtension[]
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>
  readonly securityRequirements?: readonly SecurityRequirement[]
}

/** An ability with its words (RANCH's Capability). */
export interface CapabilityDetail {
  readonly name: string
  readonly description: string
  readonly version: string
}

/** How well an agent does something (RANCH's Skill). */
export interface Proficiency {
  readonly name: string
  readonly proficiency: string
}

/** An A2A skill, with schemas of what goes in and comes out. */
export interface SkillDetail extends AgentSkill {
  readonly inputSchema?: JsonObject
  readonly outputSchema?: JsonObject
}
