/**
 * Call any A2A agent: find its card, send messages, follow tasks, receive webhooks, prove who you are.
 *
 * @module corral/client
 */
export type { HttpSend } from '../bindings/http.ts'
export {
  allOf,
  apiKeyAuth as apiKey,
  basicAuth as basic,
  bearerAuth as bearer,
  type ClientAuth,
  httpAuth,
  UntrustedOrigin,
} from './auth/auth.ts'
export { authFromCard } from './auth/card-auth.ts'
export type { OAuthConfig, Tokens } from './auth/oauth.ts'
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
  JsonRpcTransport,
  RestTransport,
  type SendOptions,
} from './config.ts'
export { createCardCache, signedBy } from './discovery.ts'
export type { ClientAnswer, FollowOptions } from './follow.ts'
export type { HttpClient } from './http.ts'
export { listenForRedirect } from './loopback.ts'
export { createHttp } from './node.ts'
export { createWebhookReceiver } from './webhook.ts'
