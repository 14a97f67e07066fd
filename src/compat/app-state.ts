import type { HttpReply, HttpRequest } from '../bindings/http.ts'
import type { AuthContext } from '../protocol/call.ts'
import type { CallerExtractor } from '../server/authenticators.ts'
import type { Server } from '../server/server.ts'
import type { FullTaskStore } from '../store/task-store.ts'
import type { Backend } from './backend.ts'

/** Who calls, by the request's headers; undefined if nobody known. */
export type AuthExtractor = CallerExtractor

/** A route of one's own; undefined, at once or promised, passes the request on. */
export type Route = (
  request: HttpRequest,
  state: AppState,
) => HttpReply | undefined | Promise<HttpReply | undefined>

/** What routes of one's own share with the server (a2a-rs' AppState). */
export interface AppState {
  readonly server: Server
  /** What is served, as it was given. */
  readonly handler: Backend
  /** Where clients reach the server. */
  readonly baseUrl: string
  /** The tasks of a caller; the anonymous one's if nobody is named. An update is an event, told to streams and webhooks. */
  taskStore(auth?: AuthContext): FullTaskStore
  /** Who sends this request, as the auth extractor sees it; undefined without one. */
  auth(request: HttpRequest): Promise<AuthContext | undefined>
}
