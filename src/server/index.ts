export type { HttpChunk, HttpHandler, HttpReply, HttpRequest } from '../bindings/http.ts'
export { A2AServer, type RunningServer, type RunOptions } from '../compat/a2a-server.ts'
export type { AppState, AuthExtractor, Route } from '../compat/app-state.ts'
export type { Backend } from '../compat/backend.ts'
export type { Recovery } from '../engine/recover.ts'
export { hasScope, type ScopeName } from '../protocol/scopes.ts'
export { type Verification, verifyBody } from '../webhooks/signature.ts'
export { createTokenSigner, type TokenSigner, type TokenSignerOptions } from '../webhooks/token.ts'
export { type Auth, type AuthOptions, createAuth } from './auth.ts'
export type { Authenticator, PresentedCredentials } from './authenticator.ts'
export {
  type ApiKeyOptions,
  apiKeyAuthenticator as apiKey,
  type BearerOptions,
  bearerAuthenticator as bearer,
  extractorAuthenticator as extractor,
} from './authenticators.ts'
export { type FetchOptions, toFetch } from './fetch.ts'
export type { Intake, RequestHead } from './intake.ts'
export { type JwtOptions, jwtAuthenticator as jwt } from './jwt.ts'
export type { LimitOptions } from './limits.ts'
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
