/**
 * Call any A2A agent: find its card, send messages, follow tasks, receive webhooks, prove who you are.
 *
 * @module corral/client
 */
export type { ClientReply, ClientRequest, HttpSend } from '../bindings/http.ts'
export type { AddressGuard as Reach } from '../network/guard.ts'
export {
  allOf,
  apiKeyAuth as apiKey,
  basicAuth as basic,
  bearerAuth as bearer,
  type ClientAuth,
  httpAuth,
  type OutgoingCall,
  type Secret,
  UntrustedOrigin,
  type WithheldCredentials,
  type WithheldListener,
} from './auth/auth.ts'
export {
  authFromCard,
  type BasicCredential,
  type CardAuthOptions,
  type Credential,
  type Credentials,
} from './auth/card-auth.ts'
export type {
  DevicePrompt,
  Interaction,
  OAuthConfig,
  Redirect,
  Tokens,
} from './auth/oauth.ts'
export {
  type Authorization,
  authorizationCode,
  authorize,
  authorizeDevice,
  clientCredentials,
  deviceCode,
  oauth,
  pkceChallenge,
  startAuthorization,
} from './auth/oauth-flows.ts'
export { A2AClient, type ClientTool, type Sendable } from './client.ts'
export {
  type CallOptions,
  type ClientConfig,
  type ClientOptions,
  type ClientTarget,
  type JsonRpcDialect,
  JsonRpcTransport,
  RestTransport,
  type RestVersion as RestDialect,
  type SendOptions,
  type SubscribeOptions,
  type Timeouts,
  type Transport,
  type TransportOptions,
} from './config.ts'
export {
  type CardCache,
  type CardCacheOptions,
  type CardRequest,
  type CardVerifier,
  createCardCache,
  signedBy,
} from './discovery.ts'
export { fetchSend } from './fetch.ts'
export type { BreakOptions, FollowContact, FollowOptions, PollOptions } from './follow.ts'
export type { HttpClient, HttpOptions } from './http.ts'
export { type LoopbackOptions, listenForRedirect } from './loopback.ts'
export { createHttp } from './node.ts'
export type { RetryOptions } from './retry.ts'
export { createWebhookReceiver, type WebhookReceiverOptions } from './webhook.ts'
