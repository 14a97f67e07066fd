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

/** Where a task is in its life (§4.1.3). `isTerminal` and `isInterrupted` tell the kinds apart. */
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
  /** Made by the server; unique there. */
  readonly id: string
  /** The conversation that the task belongs to; tasks of one context know of each other. */
  readonly contextId: string
  /** Where the task is now, and since when. */
  readonly status: TaskStatus
  /** What the task has produced so far. */
  readonly artifacts?: readonly Artifact[]
  /** The messages of the task, oldest first; as many as the request asked for. */
  readonly history?: readonly Message[]
  /** Further facts, under keys of your own or of an extension. */
  readonly metadata?: JsonObject
}

/** The state of a task at one moment (§4.1.2). */
export interface TaskStatus {
  readonly state: TaskState
  /** What the agent says along with the state: a question, a reason, how far it is. */
  readonly message?: Message
  /** When the state was entered: ISO 8601, UTC. */
  readonly timestamp?: string
}

/** One turn of the conversation between client and agent (§4.1.4). */
export interface Message {
  /** Made by whoever writes the message. */
  readonly messageId: string
  /** The conversation it belongs to; a new one if absent. */
  readonly contextId?: string
  /** The task it continues; a new one if absent. */
  readonly taskId?: string
  readonly role: Role
  readonly parts: readonly Part[]
  /** Further facts, under keys of your own or of an extension. */
  readonly metadata?: JsonObject
  /** The URIs of extensions that had a part in the message. */
  readonly extensions?: readonly string[]
  /** Other tasks that the message speaks of. */
  readonly referenceTaskIds?: readonly string[]
}

/** What every part may carry beside its content. */
export interface PartDetails {
  /** Further facts, under keys of your own or of an extension. */
  readonly metadata?: JsonObject
  /** What the content would be called as a file. */
  readonly filename?: string
  /** The MIME type of the content, such as `text/markdown`. */
  readonly mediaType?: string
}

/** A part that holds text. */
export interface TextPart extends PartDetails {
  readonly text: string
}

/** A part that holds bytes, base64 encoded. */
export interface RawPart extends PartDetails {
  /** Base64. */
  readonly raw: string
}

/** A part that points at a file. */
export interface UrlPart extends PartDetails {
  /** Where the file can be fetched. */
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
  /** Unique within the task; chunks of one artifact have the same. */
  readonly artifactId: string
  readonly name?: string
  readonly description?: string
  readonly parts: readonly Part[]
  /** Further facts, under keys of your own or of an extension. */
  readonly metadata?: JsonObject
  /** The URIs of extensions that had a part in the artifact. */
  readonly extensions?: readonly string[]
}

/** Says that a task's status changed (§4.2.1). */
export interface TaskStatusUpdateEvent {
  readonly taskId: string
  readonly contextId: string
  readonly status: TaskStatus
  /** Further facts, under keys of your own or of an extension. */
  readonly metadata?: JsonObject
}

/** Brings an artifact or a further chunk of one (§4.2.2). */
export interface TaskArtifactUpdateEvent {
  readonly taskId: string
  readonly contextId: string
  readonly artifact: Artifact
  /** True where the parts go on at the end of an artifact that is already there; it is replaced otherwise. */
  readonly append?: boolean
  /** True where nothing of this artifact follows. */
  readonly lastChunk?: boolean
  /** Further facts, under keys of your own or of an extension. */
  readonly metadata?: JsonObject
}

/** One event of a stream or webhook: a task, a message, a change of status, or an artifact (§3.2.3). */
export type StreamResponse =
  | { readonly task: Task }
  | { readonly message: Message }
  | { readonly statusUpdate: TaskStatusUpdateEvent }
  | { readonly artifactUpdate: TaskArtifactUpdateEvent }

/** The answer to a message: the task that works on it, or a message where no task was needed (§3.1.1). */
export type SendMessageResponse = { readonly task: Task } | { readonly message: Message }

/** An event with its number in the task's log; a message that answers without a task has none. */
export type Sequenced = { readonly seq?: number; readonly event: StreamResponse }

/** Events in order, in the batches in which they became ready. */
export type EventStream = AsyncIterable<readonly Sequenced[]>

/** How the server authenticates itself to a webhook (§4.3.2). */
export interface AuthenticationInfo {
  /** An HTTP authentication scheme, such as `Bearer`. */
  readonly scheme: string
  /** What stands after the scheme's name in `Authorization`. */
  readonly credentials?: string
}

/** A webhook for a task's events (§4.3.1). */
export interface TaskPushNotificationConfig {
  /** The tenant that the request is for, where the server has several. */
  readonly tenant?: string
  /** Unique for its task; the server makes one if absent. */
  readonly id?: string
  /** The task whose events are sent; where the config comes with a message, the message's. */
  readonly taskId?: string
  /** Where the events are sent to, by POST. */
  readonly url: string
  /** Comes back with every delivery as `X-A2A-Notification-Token`, so that the receiver knows it. */
  readonly token?: string
  /** Credentials that the server presents to the receiver. */
  readonly authentication?: AuthenticationInfo
  /**
   * Which events are sent, beyond the specification: `statusChanged`, `artifactAdded`, `completed`, `failed`,
   * `cancelled`; all if absent.
   */
  readonly events?: readonly string[]
}

/** Options of a send (§3.2.2). */
export interface SendMessageConfiguration {
  /** MIME types that the client can read; any if absent. */
  readonly acceptedOutputModes?: readonly string[]
  /** A webhook for the events of the task that the message begins or continues. */
  readonly taskPushNotificationConfig?: TaskPushNotificationConfig
  /** How many messages of its history the task comes with; all if absent, none if 0. */
  readonly historyLength?: number
  /** True for the task as soon as it exists; otherwise the answer waits until the task ends or asks something. */
  readonly returnImmediately?: boolean
}

/** The request to send a message, at once or as a stream (§3.2.1). */
export interface SendMessageRequest {
  /** The tenant that the request is for, where the server has several. */
  readonly tenant?: string
  readonly message: Message
  readonly configuration?: SendMessageConfiguration
  /** Further facts, under keys of your own or of an extension. */
  readonly metadata?: JsonObject
}

/** The request for one task (§3.1.3). */
export interface GetTaskRequest {
  /** The tenant that the request is for, where the server has several. */
  readonly tenant?: string
  readonly id: string
  /** How many messages of its history the task comes with; all if absent, none if 0. */
  readonly historyLength?: number
}

/** The request for a page of tasks (§3.1.4). */
export interface ListTasksRequest {
  /** The tenant that the request is for, where the server has several. */
  readonly tenant?: string
  /** Only tasks of this conversation. */
  readonly contextId?: string
  /** Only tasks in this state. */
  readonly status?: TaskState
  /** From 1 to 100; 50 if absent. */
  readonly pageSize?: number
  /** The `nextPageToken` of the page before; the first page if absent. */
  readonly pageToken?: string
  /** How many messages of its history each task comes with; all if absent, none if 0. */
  readonly historyLength?: number
  /** Only tasks whose status is of this moment or later: ISO 8601. */
  readonly statusTimestampAfter?: string
  /** Whether the tasks come with their artifacts; false if absent. */
  readonly includeArtifacts?: boolean
}

/** A page of tasks (§3.1.4). */
export interface ListTasksResponse {
  /** Newest status first. */
  readonly tasks: readonly Task[]
  /** For the next page; empty on the last one. */
  readonly nextPageToken: string
  readonly pageSize: number
  /** How many tasks match, on all pages together. */
  readonly totalSize: number
}

/** The request to cancel a task (§3.1.5). */
export interface CancelTaskRequest {
  /** The tenant that the request is for, where the server has several. */
  readonly tenant?: string
  readonly id: string
  /** Further facts, under keys of your own or of an extension. */
  readonly metadata?: JsonObject
}

/** The request for a task's events (§3.1.6). */
export interface SubscribeToTaskRequest {
  /** The tenant that the request is for, where the server has several. */
  readonly tenant?: string
  readonly id: string
}

/** The request for one webhook (§3.1.8). */
export interface GetTaskPushNotificationConfigRequest {
  /** The tenant that the request is for, where the server has several. */
  readonly tenant?: string
  readonly taskId: string
  readonly id: string
}

/** The request for a task's webhooks (§3.1.9). */
export interface ListTaskPushNotificationConfigsRequest {
  /** The tenant that the request is for, where the server has several. */
  readonly tenant?: string
  readonly taskId: string
  readonly pageSize?: number
  readonly pageToken?: string
}

/** A task's webhooks (§3.1.9). */
export interface ListTaskPushNotificationConfigsResponse {
  readonly configs: readonly TaskPushNotificationConfig[]
  /** For the next page; absent or empty on the last one. */
  readonly nextPageToken?: string
}

/** The request to delete a webhook (§3.1.10). */
export interface DeleteTaskPushNotificationConfigRequest {
  /** The tenant that the request is for, where the server has several. */
  readonly tenant?: string
  readonly taskId: string
  readonly id: string
}

/** The request for the card that authenticated callers see (§3.1.11). */
export interface GetExtendedAgentCardRequest {
  /** The tenant that the request is for, where the server has several. */
  readonly tenant?: string
}

/** Schemes that must all be satisfied; of a list of requirements one is enough (§4.5). */
export interface SecurityRequirement {
  /** Names of the card's schemes, each with the scopes it needs. */
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
  /** The header's, parameter's or cookie's name. */
  readonly name: string
}

/** An HTTP authentication scheme (§4.5.3). */
export interface HTTPAuthSecurityScheme {
  readonly description?: string
  /** The scheme's name in `Authorization`, such as `Bearer`. */
  readonly scheme: string
  /** What a bearer token looks like, for people: `JWT`. */
  readonly bearerFormat?: string
}

/** Tokens of an OAuth 2 authorization server (§4.5.4). */
export interface OAuth2SecurityScheme {
  readonly description?: string
  /** How a client gets a token. */
  readonly flows: OAuthFlows
  /** Where the authorization server describes itself (RFC 8414). */
  readonly oauth2MetadataUrl?: string
}

/** Tokens of an OpenID Connect provider (§4.5.5). */
export interface OpenIdConnectSecurityScheme {
  readonly description?: string
  /** Where the provider describes itself. */
  readonly openIdConnectUrl: string
}

/** The client proves itself by its TLS certificate (§4.5.6). */
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

/** A user logs in with a browser, and the client exchanges the code it gets for a token (§4.5.8). */
export interface AuthorizationCodeOAuthFlow {
  readonly authorizationUrl: string
  readonly tokenUrl: string
  /** Where a token is renewed; `tokenUrl` if absent. */
  readonly refreshUrl?: string
  readonly scopes: OAuthScopes
  /** Whether the exchange must be protected by PKCE (RFC 7636). */
  readonly pkceRequired?: boolean
}

/** The client gets a token for itself, without a user (§4.5.9). */
export interface ClientCredentialsOAuthFlow {
  readonly tokenUrl: string
  /** Where a token is renewed; `tokenUrl` if absent. */
  readonly refreshUrl?: string
  readonly scopes: OAuthScopes
}

/** A user enters a code on another device (§4.5.10). */
export interface DeviceCodeOAuthFlow {
  readonly deviceAuthorizationUrl: string
  readonly tokenUrl: string
  /** Where a token is renewed; `tokenUrl` if absent. */
  readonly refreshUrl?: string
  readonly scopes: OAuthScopes
}

/** The implicit flow: deprecated, still part of the data model. */
export interface ImplicitOAuthFlow {
  readonly authorizationUrl?: string
  readonly refreshUrl?: string
  readonly scopes?: OAuthScopes
}

/** The password flow: deprecated, still part of the data model. */
export interface PasswordOAuthFlow {
  readonly tokenUrl?: string
  readonly refreshUrl?: string
  readonly scopes?: OAuthScopes
}

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
