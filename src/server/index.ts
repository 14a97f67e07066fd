/**
 * Serve agents and teams over A2A: the server, its options, who may call, and how it is mounted in Node or in any
 * runtime with `fetch`.
 *
 * @module corral/server
 */
export type { HttpHandler, HttpReply, HttpRequest } from '../bindings/http.ts'
export { A2AServer, type AppState, type RunningServer } from '../compat/a2a-server.ts'
export {
  createTokenSigner,
  type RetryPolicy,
  type TokenSigner,
  verifyBody,
} from '../webhooks/deliver.ts'
export type { Webhooks } from '../webhooks/webhooks.ts'
export {
  apiKey,
  apiKeyAuthenticator as apiKeys,
  bearer,
  bearerAuthenticator as bearerTokens,
  extractorAuthenticator as extractor,
  jwtAuthenticator as jwt,
} from './access/auth.ts'
export type { Authenticator } from './authenticator.ts'
export { toFetch } from './fetch.ts'
export { toNodeHandler } from './node/http.ts'
export {
  type Listening,
  type ListenOptions,
  listen,
  type RunServerOptions,
  runServer,
  type ServeAgentOptions,
  type StartedServer,
  serve,
} from './node/run.ts'
export type { ServerOptions } from './options.ts'
export { createServer, type Server } from './server.ts'
