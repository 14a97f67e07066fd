/**
 * Serve agents and teams over A2A: the server, its options, who may call, and how it is mounted in Node or in any
 * runtime with `fetch`.
 *
 * @module corral/server
 */
export type { HttpChunk, HttpHandler, HttpReply, HttpRequest } from '../bindings/http.ts'
export {
  A2AServer,
  type FurtherOptions,
  type RunningServer,
  type RunOptions,
} from '../compat/a2a-server.ts'
export type { AppState, AuthExtractor, Route } from '../compat/app-state.ts'
export type { Backend } from '../compat/backend.ts'
export type { Recovery } from '../engine/recover.ts'
export type { GuardOptions as AddressGuardOptions } from '../network/guard.ts'
export { type Grant, hasScope, type ScopeName } from '../protocol/scopes.ts'
export type { DeliveryAttempt, DeliveryHistory } from '../webhooks/attempts.ts'
export type {
  AttemptFacts,
  Delivery,
  DeliveryOutcome,
  DeliveryRules,
  WebhookPayload,
} from '../webhooks/deliver.ts'
export type { RetryPolicy } from '../webhooks/retry.ts'
export { type Signing, type Verification, verifyBody } from '../webhooks/signature.ts'
export type { DeliveryLimits } from '../webhooks/slots.ts'
export {
  createTokenSigner,
  type TokenRequest,
  type TokenSigner,
  type TokenSignerOptions,
} from '../webhooks/token.ts'
export type { DeliverySettings, Webhooks } from '../webhooks/webhooks.ts'
export { type Auth, type AuthOptions, createAuth } from './auth.ts'
export type { Authenticator, PresentedCredentials } from './authenticator.ts'
export {
  type ApiKeyOptions,
  apiKeyAuthenticator as apiKey,
  type BearerOptions,
  bearerAuthenticator as bearer,
  type CallerExtractor,
  extractorAuthenticator as extractor,
} from './authenticators.ts'
export { type FetchOptions, toFetch } from './fetch.ts'
export type { Intake, RequestHead } from './intake.ts'
export { type JwtOptions, jwtAuthenticator as jwt } from './jwt.ts'
export type { LimitOptions, Limits } from './limits.ts'
export { type NodeHandlerOptions, toNodeHandler } from './node-handler.ts'
export type { CorsOptions, PushOptions, ServerOptions, TimeoutOptions } from './options.ts'
export type { RateLimitOptions } from './rate-limit.ts'
export {
  type Listening,
  type ListenOptions,
  listen,
  type RunServerOptions,
  runServer,
  type StartedServer,
} from './run.ts'
export type { SecretOwner, Secrets } from './secrets.ts'
export { createServer, type Server } from './server.ts'
