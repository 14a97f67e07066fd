/**
 * The A2A 1.0 data model as plain JSON, exactly as it travels (specification §4, `a2a.proto`). Field names, enum
 * strings and order are the specification's. Every other wire is translated to and from these types at the edge
 * (`bindings/dialects`).
 */

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject

/** A JSON object; `google.protobuf.Struct` in the specification. */
export interface JsonObject {
  readonly [key: string]: Json | undefined
}

/** The lifecycle state of a task (§4.1.3). */
export type TaskState =
  | 'TASK_STATE_UNSPECIFIED'
  | 'TASK_STATE_SUBMITTED'
  | 'TASK_STATE_WORKING'
  | 'TASK_STATE_COMPLETED'
  | 'TASK_STATE_FAILED'
  | 'TASK_STATE_CANCELED'
  | 'TASK_STATE_INPUT_REQUIRED'
  | 'TASK_STATE_REJECTED'
  | 'TASK_STATE_AUTH_REQUIRED'

/** Who wrote a message (§4.1.5). */
export type Role = 'ROLE_USER' | 'ROLE_AGENT'

/** The unit of work an agent is asked to do (§4.1.1). */
export interface Task {
  readonly id: string
  readonly contextId: string
  readonly status: TaskStatus
  readonly artifacts?: readonly Artifact[]
  readonly history?: readonly Message[]
  readonly metadata?: JsonObject
}

/** The state of a task at one moment (§4.1.2). */
export interface TaskStatus {
  readonly state: TaskState
  readonly message?: Message
  readonly timestamp?: string
}

/** One turn of the conversation between client and agent (§4.1.4). */
export interface Message {
  readonly messageId: string
  readonly contextId?: string
  readonly taskId?: string
  readonly role: Role
  readonly parts: readonly Part[]
  readonly metadata?: JsonObject
  readonly extensions?: readonly string[]
  readonly referenceTaskIds?: readonly string[]
}

/** What every part may carry beside its content. */
export interface PartDetails {
  readonly metadata?: JsonObject
  readonly filename?: string
  readonly mediaType?: string
}

/** A part that holds text. */
export interface TextPart extends PartDetails {
  readonly text: string
}

/** A part that holds bytes, base64 encoded. */
export interface RawPart extends PartDetails {
  readonly raw: string
}

/** A part that points at a file. */
export interface UrlPart extends PartDetails {
  readonly url: string
}

/** A part that holds any JSON, null included. */
export interface DataPart extends PartDetails {
  readonly data: Json
}

/** Content of a message or artifact: exactly one of text, raw, url, data (§4.1.6). */
export type Part = TextPart | RawPart | UrlPart | DataPart

/** A result of a task (§4.1.7). */
export interface Artifact {
  readonly artifactId: string
  readonly name?: string
  readonly description?: string
  readonly parts: readonly Part[]
  readonly metadata?: JsonObject
  readonly extensions?: readonly string[]
}

/** Says that a task's status changed (§4.2.1). */
export interface TaskStatusUpdateEvent {
  readonly taskId: string
  readonly contextId: string
  readonly status: TaskStatus
  readonly metadata?: JsonObject
}

/** Brings an artifact or a further chunk of one (§4.2.2). */
export interface TaskArtifactUpdateEvent {
  readonly taskId: string
  readonly contextId: string
  readonly artifact: Artifact
  readonly append?: boolean
  readonly lastChunk?: boolean
  readonly metadata?: JsonObject
}

/** One event of a stream or webhook: exactly one member (§3.2.3). */
export type StreamResponse =
  | { readonly task: Task }
  | { readonly message: Message }
  | { readonly statusUpdate: TaskStatusUpdateEvent }
  | { readonly artifactUpdate: TaskArtifactUpdateEvent }

/** The answer to a message that was sent: exactly one member (§3.1.1). */
export type SendMessageResponse = { readonly task: Task } | { readonly message: Message }

/** An event with its place in the task's log; a Message that answers without a task has none. */
export type Sequenced = { readonly seq?: number; readonly event: StreamResponse }

/** Events in order. One item holds all that were ready at once, so that a burst costs one write. */
export type EventStream = AsyncIterable<readonly Sequenced[]>

/** How the server authenticates itself to a webhook (§4.3.2). */
export interface AuthenticationInfo {
  readonly scheme: string
  readonly credentials?: string
}

/** A webhook for a task's events (§4.3.1). */
export interface TaskPushNotificationConfig {
  readonly tenant?: string
  readonly id?: string
  readonly taskId?: string
  readonly url: string
  readonly token?: string
  readonly authentication?: AuthenticationInfo
  /** RANCH's filter, beyond the specification: statusChanged, artifactAdded, completed, failed, cancelled; all if absent. */
  readonly events?: readonly string[]
}

/** Options of a send (§3.2.2). */
export interface SendMessageConfiguration {
  readonly acceptedOutputModes?: readonly string[]
  readonly taskPushNotificationConfig?: TaskPushNotificationConfig
  readonly historyLength?: number
  readonly returnImmediately?: boolean
}

/** The request to send a message, at once or as a stream (§3.2.1). */
export interface SendMessageRequest {
  readonly tenant?: string
  readonly message: Message
  readonly configuration?: SendMessageConfiguration
  readonly metadata?: JsonObject
}

/** The request for one task (§3.1.3). */
export interface GetTaskRequest {
  readonly tenant?: string
  readonly id: string
  readonly historyLength?: number
}

/** The request for a page of tasks (§3.1.4). */
export interface ListTasksRequest {
  readonly tenant?: string
  readonly contextId?: string
  readonly status?: TaskState
  readonly pageSize?: number
  readonly pageToken?: string
  readonly historyLength?: number
  readonly statusTimestampAfter?: string
  readonly includeArtifacts?: boolean
}

/** A page of tasks (§3.1.4). */
export interface ListTasksResponse {
  readonly tasks: readonly Task[]
  readonly nextPageToken: string
  readonly pageSize: number
  readonly totalSize: number
}

/** The request to cancel a task (§3.1.5). */
export interface CancelTaskRequest {
  readonly tenant?: string
  readonly id: string
  readonly metadata?: JsonObject
}

/** The request for a task's events (§3.1.6). */
export interface SubscribeToTaskRequest {
  readonly tenant?: string
  readonly id: string
}

/** The request for one webhook (§3.1.8). */
export interface GetTaskPushNotificationConfigRequest {
  readonly tenant?: string
  readonly taskId: string
  readonly id: string
}

/** The request for a task's webhooks (§3.1.9). */
export interface ListTaskPushNotificationConfigsRequest {
  readonly tenant?: string
  readonly taskId: string
  readonly pageSize?: number
  readonly pageToken?: string
}

/** A task's webhooks (§3.1.9). */
export interface ListTaskPushNotificationConfigsResponse {
  readonly configs: readonly TaskPushNotificationConfig[]
  readonly nextPageToken?: string
}

/** The request to delete a webhook (§3.1.10). */
export interface DeleteTaskPushNotificationConfigRequest {
  readonly tenant?: string
  readonly taskId: string
  readonly id: string
}

/** The request for the card of the authenticated (§3.1.11). */
export interface GetExtendedAgentCardRequest {
  readonly tenant?: string
}

/** What an agent says of itself (§4.4.1). */
export interface AgentCard {
  readonly name: string
  readonly description: string
  readonly supportedInterfaces: readonly AgentInterface[]
  readonly provider?: AgentProvider
  readonly version: string
  readonly documentationUrl?: string
  readonly capabilities: AgentCapabilities
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>
  readonly securityRequirements?: readonly SecurityRequirement[]
  readonly defaultInputModes: readonly string[]
  readonly defaultOutputModes: readonly string[]
  readonly skills: readonly AgentSkill[]
  readonly signatures?: readonly AgentCardSignature[]
  readonly iconUrl?: string
}

/** Who runs an agent (§4.4.2). */
export interface AgentProvider {
  readonly url: string
  readonly organization: string
}

/** Optional abilities of an agent's protocol surface (§4.4.3). */
export interface AgentCapabilities {
  readonly streaming?: boolean
  readonly pushNotifications?: boolean
  readonly extensions?: readonly AgentExtension[]
  readonly extendedAgentCard?: boolean
}

/** An extension that an agent supports (§4.4.4). */
export interface AgentExtension {
  readonly uri: string
  readonly description?: string
  readonly required?: boolean
  readonly params?: JsonObject
}

/** Something an agent can do (§4.4.5). */
export interface AgentSkill {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly tags: readonly string[]
  readonly examples?: readonly string[]
  readonly inputModes?: readonly string[]
  readonly outputModes?: readonly string[]
  readonly securityRequirements?: readonly SecurityRequirement[]
}

/** A place and way to reach an agent (§4.4.6). */
export interface AgentInterface {
  readonly url: string
  readonly protocolBinding: string
  readonly tenant?: string
  readonly protocolVersion: string
}

/** A JWS over an agent card (§4.4.7). */
export interface AgentCardSignature {
  readonly protected: string
  readonly signature: string
  readonly header?: JsonObject
}

/** Schemes that must all be satisfied; a list of these is an OR (§4.5). */
export interface SecurityRequirement {
  readonly schemes: Readonly<Record<string, { readonly list?: readonly string[] }>>
}

/** A way to authenticate: exactly one member (§4.5.1). */
export type SecurityScheme =
  | { readonly apiKeySecurityScheme: APIKeySecurityScheme }
  | { readonly httpAuthSecurityScheme: HTTPAuthSecurityScheme }
  | { readonly oauth2SecurityScheme: OAuth2SecurityScheme }
  | { readonly openIdConnectSecurityScheme: OpenIdConnectSecurityScheme }
  | { readonly mtlsSecurityScheme: MutualTlsSecurityScheme }

/** A key in a header, query parameter or cookie (§4.5.2). */
export interface APIKeySecurityScheme {
  readonly description?: string
  readonly location: 'query' | 'header' | 'cookie'
  readonly name: string
}

/** An HTTP authentication scheme (§4.5.3). */
export interface HTTPAuthSecurityScheme {
  readonly description?: string
  readonly scheme: string
  readonly bearerFormat?: string
}

/** OAuth 2 (§4.5.4). */
export interface OAuth2SecurityScheme {
  readonly description?: string
  readonly flows: OAuthFlows
  readonly oauth2MetadataUrl?: string
}

/** OpenID Connect (§4.5.5). */
export interface OpenIdConnectSecurityScheme {
  readonly description?: string
  readonly openIdConnectUrl: string
}

/** Mutual TLS (§4.5.6). */
export interface MutualTlsSecurityScheme {
  readonly description?: string
}

/** An OAuth 2 flow: exactly one member (§4.5.7). */
export type OAuthFlows =
  | { readonly authorizationCode: AuthorizationCodeOAuthFlow }
  | { readonly clientCredentials: ClientCredentialsOAuthFlow }
  | { readonly deviceCode: DeviceCodeOAuthFlow }
  | { readonly implicit: ImplicitOAuthFlow }
  | { readonly password: PasswordOAuthFlow }

/** Names of scopes and what they are for. */
export type OAuthScopes = Readonly<Record<string, string>>

/** Authorization code flow (§4.5.8). */
export interface AuthorizationCodeOAuthFlow {
  readonly authorizationUrl: string
  readonly tokenUrl: string
  readonly refreshUrl?: string
  readonly scopes: OAuthScopes
  readonly pkceRequired?: boolean
}

/** Client credentials flow (§4.5.9). */
export interface ClientCredentialsOAuthFlow {
  readonly tokenUrl: string
  readonly refreshUrl?: string
  readonly scopes: OAuthScopes
}

/** Device code flow (§4.5.10). */
export interface DeviceCodeOAuthFlow {
  readonly deviceAuthorizationUrl: string
  readonly tokenUrl: string
  readonly refreshUrl?: string
  readonly scopes: OAuthScopes
}

/** Implicit flow; deprecated, still in the data model. */
export interface ImplicitOAuthFlow {
  readonly authorizationUrl?: string
  readonly refreshUrl?: string
  readonly scopes?: OAuthScopes
}

/** Password flow; deprecated, still in the data model. */
export interface PasswordOAuthFlow {
  readonly tokenUrl?: string
  readonly refreshUrl?: string
  readonly scopes?: OAuthScopes
}
