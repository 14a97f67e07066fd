import type { HttpReply, HttpRequest } from '../bindings/http.ts'
import { refusalHeaders } from '../bindings/refusal.ts'
import { principalOf } from '../protocol/call.ts'
import { A2AError, errorRow, toA2AError } from '../protocol/errors.ts'
import { hasScope, mustHaveScope, type ScopeName } from '../protocol/scopes.ts'
import type { SecurityScheme } from '../protocol/types.ts'
import type { ConsoleHost } from '../server/console.ts'
import { createHostRule, isLoopbackAuthority, originAuthority } from '../server/hosts.ts'
import { namedHosts } from '../server/origins.ts'
import type { ApiRefusal, Login } from './api.ts'
import type { ApiHandler } from './call.ts'
import { createQueues, createShares } from './shares.ts'
import { toViewer, type Viewer } from './viewer.ts'

/** What a request needs to be answered. */
export interface Demand {
  /** The scope that the caller needs; `operator` always suffices. */
  readonly scope?: ScopeName
  /** Whether answers of one caller are made one after the other, since making one keeps the server busy. */
  readonly inLine?: boolean
  readonly handle: ApiHandler
}

/** A request of the page that has found its handler. */
interface Incoming {
  readonly request: HttpRequest
  readonly id: string
  readonly isLocal: boolean
}

/** Lets in whom the server knows, from its own page alone, and turns what is thrown into a refusal. */
interface ConsoleGate {
  /** Why a request must not be answered at all: it comes from another page, or under a foreign name. */
  refuse(request: HttpRequest, isLocal: boolean): HttpReply | undefined
  answer(demand: Demand, incoming: Incoming): Promise<HttpReply>
}

/** Makes the gate of a server's console. */
export function createConsoleGate(host: ConsoleHost): ConsoleGate {
  const { options, visitors, logger, auth } = host
  const isNamed = createHostRule(namedHosts(options))
  const logins = Object.values(auth.securitySchemes).flatMap(toLogin)

  /** Where everybody's pages may call, a page under a foreign name that points here is still a foreign one. */
  function isForeign({ headers }: HttpRequest, isLocal: boolean): string | undefined {
    const { origin, host: named, 'sec-fetch-site': site } = headers
    if (isLocal && named !== undefined && !isLoopbackAuthority(named) && !isNamed(named))
      return 'The console does not answer to this host; add it to [server] allowed_hosts'
    if (site === 'cross-site' || site === 'same-site') return foreign
    if (origin === undefined) return undefined
    const authority = originAuthority(origin)
    return authority !== undefined && (authority === named || isNamed(authority))
      ? undefined
      : foreign
  }

  const share = createShares()
  const inLine = createQueues()

  async function identify(request: HttpRequest, scope: ScopeName | undefined): Promise<Viewer> {
    const known = await visitors.identify(request)
    if (scope && !hasScope(known, 'operator')) mustHaveScope(known, scope)
    return toViewer(known)
  }

  return {
    refuse(request, isLocal) {
      const reason = isForeign(request, isLocal)
      return reason === undefined ? undefined : toReply(new A2AError('forbidden', reason))
    },
    async answer({ scope, inLine: isQueued, handle }, { request, id, isLocal }) {
      try {
        const viewer = await identify(request, scope)
        if (viewer.isOperator)
          logger.info({ operator: viewer.auth.userId, path: request.path }, 'An operator looked')
        const query = new URLSearchParams(request.query)
        const { client } = request
        const principal = principalOf({
          auth: viewer.auth,
          ...(client !== undefined && { client }),
        })
        const call = { viewer, principal, request, id, isLocal, query }
        const work = (): HttpReply | Promise<HttpReply> => handle(call)
        return await share(principal, isQueued ? () => inLine(principal, work) : work)
      } catch (thrown) {
        const error = toA2AError(thrown)
        if (error.code === 'internal') logger.error({ err: thrown }, 'The console failed')
        return toReply(error, logins)
      }
    },
  }
}

const foreign = 'The console answers its own page only'

/** The reply that says why not. */
export function toReply(error: A2AError, logins: readonly Login[] = []): HttpReply {
  const { code, message } = error
  const body: ApiRefusal = {
    error: { code, message, ...(code === 'unauthenticated' && { logins }) },
  }
  return {
    status: errorRow(code).http,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      ...refusalHeaders(error),
    },
    body: JSON.stringify(body),
  }
}

/** How a person signs in; schemes that a field cannot serve are left out. */
function toLogin(scheme: SecurityScheme): readonly Login[] {
  if ('apiKeySecurityScheme' in scheme) {
    const { location, name } = scheme.apiKeySecurityScheme
    return location === 'header' ? [{ label: 'API key', header: name, prefix: '' }] : []
  }
  if ('httpAuthSecurityScheme' in scheme)
    return scheme.httpAuthSecurityScheme.scheme.toLowerCase() === 'bearer' ? [bearer] : []
  return 'mtlsSecurityScheme' in scheme ? [] : [bearer]
}

const bearer: Login = { label: 'Token', header: 'Authorization', prefix: 'Bearer ' }
