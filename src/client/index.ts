/**
 * Call any A2A agent: find its card, send messages, follow tasks, receive webhooks, prove who you are.
 *
 * @module corral/client
 */
export type { ClientReply, ClientRequest, HttpSend } from '../bindings/http.ts'
export type { AddressGuard as Reach } from '../network/rules.ts'
export {
  allOf,
  apiKeyAuth as apiKey,
  basicAuth as basic,
  bearerAuth as bearer,
  type ClientAuth,
  httpAuth,
  type OutgoingCall,
  type Secret,
} from './auth.ts'
export type { BreakOptions } from './breaks.ts'
export {
  authFromCard,
  type BasicCredential,
  type CardAuthOptions,
  type Credential,
  type Credentials,
} from './card-auth.ts'
export {
  type CardCache,
  type CardCacheOptions,
  type CardRequest,
  createCardCache,
} from './card-cache.ts'
export { A2AClient, type Sendable } from './client.ts'
export type {
  CallOptions,
  ClientConfig,
  ClientOptions,
  ClientTarget,
  SendOptions,
  SubscribeOptions,
  Timeouts,
} from './config.ts'
export { UntrustedOrigin } from './credential-origins.ts'
export type { CardVerifier } from './discovery.ts'
export { fetchSend } from './fetch.ts'
export type { FollowOptions } from './follow.ts'
export type { HttpClient, HttpOptions } from './http.ts'
export { type LoopbackOptions, listenForRedirect } from './loopback.ts'
export { createHttp } from './node.ts'
export {
  type Authorization,
  authorizationCode,
  authorize,
  pkceChallenge,
  startAuthorization,
} from './oauth/authorization-code.ts'
export type {
  DevicePrompt,
  Interaction,
  OAuthConfig,
  Redirect,
  Tokens,
} from './oauth/config.ts'
export { authorizeDevice, deviceCode } from './oauth/device-code.ts'
export { clientCredentials, oauth } from './oauth/oauth.ts'
export type { PollOptions } from './result.ts'
export type { RetryOptions } from './retry.ts'
export { signedBy } from './signed-by.ts'
export type { ClientTool } from './tool.ts'
export {
  type JsonRpcDialect,
  JsonRpcTransport,
  RestTransport,
  type RestVersion as RestDialect,
  type Transport,
  type TransportOptions,
} from './transport.ts'
export { createWebhookReceiver, type WebhookReceiverOptions } from './webhook.ts'
export type { WithheldCredentials, WithheldListener } from './withhold.ts'
