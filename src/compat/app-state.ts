import type { HttpReply, HttpRequest } from '../bindings/http.ts'
import type { AuthContext } from '../protocol/call.ts'
import type { CallerExtractor } from '../server/authenticators.ts'
import type { Server } from '../server/server.ts'
import type { FullTaskStore } from '../store/task-store.ts'
import type { Backend } from './backend.ts'

/** Tells who calls by the request's headers; undefined if it is nobody known. */
export type AuthExtractor = CallerExtractor

/** A route of your own: answers a request, or passes it on by giving undefined, at once or promised. */
export type Route = (
  request: HttpRequest,
  state: AppState,
) => HttpReply | undefined | Promise<HttpReply | undefined>

/** What a route of your own knows of the server around it. */
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
