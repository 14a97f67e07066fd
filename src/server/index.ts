/**
 * Serve agents and teams over A2A: the server, its options, who may call, and how it is mounted in Node or in any
 * runtime with `fetch`.
 *
 * @module corral/server
 */
export type { HttpChunk, HttpHandler, HttpReply, HttpRequest } from '../bindings/http.ts'
export {
  A2AServer,
  type AppState,
  type AuthExtractor,
  type Backend,
  type FurtherOptions,
  type Route,
  type RunningServer,
  type RunOptions,
} from '../compat/a2a-server.ts'
export type { Recovery } from '../engine/recover.ts'
export type { GuardOptions as AddressGuardOptions } from '../network/guard.ts'
export { type Grant, hasScope, type ScopeName } from '../protocol/operations.ts'
export {
  type AttemptFacts,
  createTokenSigner,
  type Delivery,
  type DeliveryOutcome,
  type DeliveryRules,
  type RetryPolicy,
  type Signing,
  type TokenRequest,
  type TokenSigner,
  type TokenSignerOptions,
  type Verification,
  verifyBody,
  type WebhookPayload,
} from '../webhooks/deliver.ts'
export type { DeliveryAttempt, DeliveryHistory } from '../webhooks/delivery-queue.ts'
export type { DeliveryLimits } from '../webhooks/delivery-slots.ts'
export type { DeliverySettings, Webhooks } from '../webhooks/webhooks.ts'
export {
  type ApiKeyOptions,
  type Auth,
  type AuthOptions,
  apiKeyAuthenticator as apiKey,
  type BearerOptions,
  bearerAuthenticator as bearer,
  type CallerExtractor,
  createAuth,
  extractorAuthenticator as extractor,
  type JwtOptions,
  jwtAuthenticator as jwt,
  type SecretOwner,
  type Secrets,
} from './access/auth.ts'
export type { LimitOptions, Limits, RateLimitOptions } from './access/limits.ts'
export type { Authenticator, PresentedCredentials } from './authenticator.ts'
export type { Intake, RequestHead } from './body.ts'
export { type FetchOptions, toFetch } from './fetch.ts'
export { type NodeHandlerOptions, toNodeHandler } from './node/http.ts'
export {
  type Listening,
  type ListenOptions,
  listen,
  type RunServerOptions,
  runServer,
  type StartedServer,
} from './node/run.ts'
export type { CorsOptions, PushOptions, ServerOptions, TimeoutOptions } from './options.ts'
export { createServer, type Server } from './server.ts'
