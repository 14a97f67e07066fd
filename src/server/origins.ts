import type { HttpReply, HttpRequest } from '../bindings/http.ts'
import { isRpcPath } from '../bindings/routes.ts'
import { errorRow } from '../protocol/errors.ts'
import type { PagePolicy } from './cors.ts'
import { createHostRule, type HostRule, isLoopbackAuthority, originAuthority } from './hosts.ts'
import type { ServerOptions } from './options.ts'

/** What decides about browsers where a server is reached. */
export interface BrowserRules {
  readonly policy: PagePolicy
  /** The refusal of a request that a foreign page makes, or that came under a foreign name; undefined lets it pass. */
  readonly refuse?: (request: HttpRequest) => HttpReply | undefined
}

/** The rules where others can reach the server: nothing is refused, and cards are for every page if nobody says more. */
export function openRules({ cors }: Pick<ServerOptions, 'cors'>): BrowserRules {
  if (!cors) return { policy: { open: 'cards' } }
  const { origins = '*' } = cors
  if (origins === '*') return { policy: { open: 'all' } }
  return { policy: { open: 'nothing', allows: (origin) => origins.includes(origin) } }
}

/**
 * The rules where only this machine can reach the server, on which its browser runs foreign pages: one that calls by its
 * own origin, or by a name of its own that it made to point here (DNS rebinding), is refused.
 */
export function localRules(
  options: Pick<ServerOptions, 'cors' | 'publicUrl' | 'allowedHosts'>,
  boundTo: string,
): BrowserRules {
  const { cors } = options
  if (cors && (cors.origins ?? '*') === '*') return openRules(options)
  const isNamed = createHostRule([...namedHosts(options), toAuthority(boundTo)])
  const isAccepted: HostRule = (host) => isLoopbackAuthority(host) || isNamed(host)
  const allows = cors ? openRules(options).policy.allows : createOwnRule(isAccepted)
  const isOwnPage = (origin: string, host: string | undefined): boolean => {
    const authority = originAuthority(origin)
    return authority !== undefined && (authority === host || isNamed(authority))
  }
  return {
    policy: { open: 'nothing', ...(allows && { allows }) },
    refuse: createRefuse(isAccepted, (origin, host) => allows?.(origin) || isOwnPage(origin, host)),
  }
}

/** The hosts that an operator has named, by the server's URL and beside it. */
export function namedHosts({
  publicUrl,
  allowedHosts = [],
}: Pick<ServerOptions, 'publicUrl' | 'allowedHosts'>): readonly string[] {
  const own = publicUrl === undefined ? undefined : originAuthority(publicUrl)
  // The port of the URL is that of a proxy in front: which one the Host names depends on it.
  return own === undefined ? allowedHosts : [own.replace(/:\d{1,5}$/, ''), ...allowedHosts]
}

/** Which origins are the server's own: those of the hosts it answers to. */
function createOwnRule(isAccepted: HostRule): (origin: string) => boolean {
  return (origin) => {
    const authority = originAuthority(origin)
    return authority !== undefined && isAccepted(authority)
  }
}

function createRefuse(
  isAccepted: HostRule,
  mayCall: (origin: string, host: string | undefined) => boolean | undefined,
): (request: HttpRequest) => HttpReply | undefined {
  // Most requests name the host that the last one did.
  let last: string | undefined
  return (request) => {
    const { host, origin } = request.headers
    if (host !== undefined && host !== last) {
      if (!isAccepted(host)) return refusal(request, 421, foreignHost(host))
      last = host
    }
    if (origin === undefined || mayCall(origin, host)) return undefined
    return refusal(request, 403, foreignOrigin(origin))
  }
}

const maxShown = 100

function foreignHost(host: string): string {
  return `This server is for its own machine and does not answer to the host "${host.slice(0, maxShown)}"; add it to [server] allowed_hosts (allowedHosts in the library)`
}

function foreignOrigin(origin: string): string {
  return `Pages of the origin "${origin.slice(0, maxShown)}" may not call this server; add it to [server.cors] origins (cors in the library)`
}

const json = { 'content-type': 'application/json' }

function refusal({ method, path }: HttpRequest, status: number, message: string): HttpReply {
  const { jsonrpc, grpc } = errorRow('forbidden')
  const body =
    method === 'POST' && isRpcPath(path)
      ? { jsonrpc: '2.0', error: { code: jsonrpc, message }, id: null }
      : { error: { code: status, status: grpc, message } }
  return { status, headers: json, body: JSON.stringify(body) }
}

function toAuthority(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
