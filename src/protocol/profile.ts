import type {
  AgentExtension,
  AgentProvider,
  AgentSkill,
  JsonObject,
  SecurityRequirement,
  SecurityScheme,
} from './types.ts'

/** Who an agent is: its id, its name, what it can do. */
export interface AgentInfo {
  /** Unique within a team and a server; also the agent's path, `/agents/{id}`. */
  readonly id: string
  readonly name: string
  /** What it does, for those who choose among agents: people, supervisors, models. */
  readonly description: string
  /** Abilities such as "research" or "writing", without duplicates. Not the protocol's capabilities. */
  readonly capabilities: readonly string[]
  /** Further facts, for those who look for agents. */
  readonly metadata: Readonly<Record<string, string>>
  /** What its card shows beyond this. */
  readonly details?: AgentDetails
}

/** What cards can show beyond AgentInfo; all of it optional. */
export interface AgentDetails {
  /** The agent's own version; "1.0.0" if absent. */
  readonly version?: string
  /** Who runs the agent. */
  readonly provider?: AgentProvider
  /** Descriptions and versions of abilities, by their names. */
  readonly capabilities?: readonly CapabilityDetail[]
  /** What the agent is good at, and how good. */
  readonly proficiencies?: readonly Proficiency[]
  /** Skills for A2A cards; derived from the abilities if absent. */
  readonly skills?: readonly SkillDetail[]
  /** MIME types that it takes; plain text and JSON if absent. */
  readonly inputModes?: readonly string[]
  /** MIME types that it answers in; plain text and JSON if absent. */
  readonly outputModes?: readonly string[]
  /** The JSON Schema of its answers, where they are data. */
  readonly outputSchema?: JsonObject
  readonly documentationUrl?: string
  readonly iconUrl?: string
  /** Whether it keeps state between turns; only cards for clients of 0.3 show it. */
  readonly stateManagement?: boolean
  /** Whether the agent can stream; true if absent. */
  readonly streaming?: boolean
  /** Extensions that the agent supports. */
  readonly extensions?: readonly AgentExtension[]
  /** Ways to authenticate beside the server's own. */
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>
  /** What a caller must satisfy beside what the server asks for. */
  readonly securityRequirements?: readonly SecurityRequirement[]
}

/** An ability with a description and a version. */
export interface CapabilityDetail {
  readonly name: string
  readonly description: string
  readonly version: string
}

/** What an agent is good at, and how good. */
export interface Proficiency {
  readonly name: string
  /** How good it is, in a word of your own: `expert`. */
  readonly proficiency: string
}

/** A skill of a card, with the JSON Schemas of what goes in and comes out. */
export interface SkillDetail extends AgentSkill {
  /** The JSON Schema of its input: a message of nothing but data must fit that of one of the skills. */
  readonly inputSchema?: JsonObject
  /** The JSON Schema of the answer's data. */
  readonly outputSchema?: JsonObject
}
