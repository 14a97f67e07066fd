import type { HttpHandler, HttpReply } from '../bindings/http.ts'
import { refusalHeaders } from '../bindings/refusal.ts'
import type { AuthContext, Call } from '../protocol/call.ts'
import { type A2AError, errorRow, toA2AError } from '../protocol/errors.ts'
import type { Auth } from './auth.ts'
import type { RateLimit } from './rate-limit.ts'

/** Tells who asks for a page of the server. */
export interface Visitors {
  /** Who calls; undefined where nobody has shown a credential and one is needed. @throws A2AError `unauthenticated`. */
  find(call: Call): Promise<AuthContext | undefined>
  /** Who calls. @throws A2AError `unauthenticated`, `rateLimited`. */
  identify(call: Call): Promise<AuthContext>
}

/** What knows callers, and counts those who are not known. */
interface VisitorDeps {
  readonly auth: Auth
  readonly limit: RateLimit | undefined
}

/** Makes what knows the visitors of a server. */
export function createVisitors({ auth, limit }: VisitorDeps): Visitors {
  async function counted<T>(call: Call, work: () => T | Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (thrown) {
      if (toA2AError(thrown).code === 'unauthenticated') await limit?.refused(call)
      throw thrown
    }
  }
  return {
    find: (call) => counted(call, () => auth.find(call)),
    identify: (call) => counted(call, () => auth.identify(call)),
  }
}

/** A page for callers whom the server knows, or for anyone where anyone may call. */
export function forKnown({ identify }: Visitors, page: HttpHandler): HttpHandler {
  return async (request) => {
    try {
      await identify(request)
    } catch (thrown) {
      return refusedPage(toA2AError(thrown))
    }
    return page(request)
  }
}

/** The reply to a visitor who may not see a page. */
export function refusedPage(error: A2AError): HttpReply {
  const { http: code, grpc: status } = errorRow(error.code)
  return {
    status: code,
    headers: { 'content-type': 'application/json', ...refusalHeaders(error) },
    body: JSON.stringify({ error: { code, status, message: error.message } }),
  }
}
