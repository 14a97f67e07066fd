import type { JsonObject } from './json.ts'
import type { SecurityRequirement, SecurityScheme } from './security.ts'

/** What an agent says of itself: who it is, what it can do, where and how it is reached (§4.4.1). */
export interface AgentCard {
  readonly name: string
  readonly description: string
  /** Where and how the agent is reached, the preferred one first. */
  readonly supportedInterfaces: readonly AgentInterface[]
  readonly provider?: AgentProvider
  /** The agent's own version. */
  readonly version: string
  readonly documentationUrl?: string
  /** Which optional parts of the protocol it offers. */
  readonly capabilities: AgentCapabilities
  /** Ways to authenticate, by names that `securityRequirements` use. */
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>
  /** What a caller must satisfy: one of the list. */
  readonly securityRequirements?: readonly SecurityRequirement[]
  /** MIME types that it takes, where a skill does not say others. */
  readonly defaultInputModes: readonly string[]
  /** MIME types that it answers in, where a skill does not say others. */
  readonly defaultOutputModes: readonly string[]
  readonly skills: readonly AgentSkill[]
  /** Proofs of who wrote the card; `verifyCard` checks them. */
  readonly signatures?: readonly AgentCardSignature[]
  readonly iconUrl?: string
}

/** Who runs an agent (§4.4.2). */
export interface AgentProvider {
  readonly url: string
  readonly organization: string
}

/** Which optional parts of the protocol an agent offers (§4.4.3). */
export interface AgentCapabilities {
  readonly streaming?: boolean
  /** Whether it sends events to webhooks. */
  readonly pushNotifications?: boolean
  readonly extensions?: readonly AgentExtension[]
  /** Whether authenticated callers can ask for a fuller card. */
  readonly extendedAgentCard?: boolean
}

/** An extension that an agent supports (§4.4.4). */
export interface AgentExtension {
  /** What the extension is known by. */
  readonly uri: string
  readonly description?: string
  /** Whether requests must activate it. */
  readonly required?: boolean
  /** What the extension itself needs to be told. */
  readonly params?: JsonObject
}

/** Something an agent can do (§4.4.5). */
export interface AgentSkill {
  /** Unique within the card. */
  readonly id: string
  readonly name: string
  readonly description: string
  /** Words to find the skill by. */
  readonly tags: readonly string[]
  /** What one might ask. */
  readonly examples?: readonly string[]
  /** MIME types that it takes; the card's if absent. */
  readonly inputModes?: readonly string[]
  /** MIME types that it answers in; the card's if absent. */
  readonly outputModes?: readonly string[]
  /** What a caller must satisfy beside the card's. */
  readonly securityRequirements?: readonly SecurityRequirement[]
}

/** A place and way to reach an agent (§4.4.6). */
export interface AgentInterface {
  readonly url: string
  /** `JSONRPC`, `HTTP+JSON`, `GRPC`, or a binding's own URI. */
  readonly protocolBinding: string
  /** What requests to this interface must name as their tenant. */
  readonly tenant?: string
  /** The version spoken there, such as `1.0`. */
  readonly protocolVersion: string
}

/** A JWS over an agent card (§4.4.7). */
export interface AgentCardSignature {
  /** The signed header, base64url. */
  readonly protected: string
  /** Base64url. */
  readonly signature: string
  /** Further facts that are not signed. */
  readonly header?: JsonObject
}
