import type { ClientRequest, HttpSend } from '../bindings/http.ts'
import { A2AError } from '../protocol/errors.ts'
import type { APIKeySecurityScheme } from '../protocol/types.ts'

/** A call that credentials are put on. */
export interface OutgoingCall {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The request's URL, which may carry a key. */
  readonly url?: string | undefined
  /** For credentials that sign the request. */
  readonly method?: string
  /** For credentials that sign the request. */
  readonly body?: string
  readonly signal?: AbortSignal | undefined
}

/** Puts credentials on the calls of a client. Implement it for a scheme of your own. */
export interface ClientAuth {
  /** Gives the call with credentials; only its headers and its URL may differ. */
  apply(call: OutgoingCall): Promise<OutgoingCall> | OutgoingCall
  /** Told of a call that was refused (401); true says that fresh credentials are there and one more try is worth it. */
  renew?(signal?: AbortSignal): Promise<boolean>
}

/** A secret, or a function that gives the one that is valid now. */
export type Secret = string | (() => string | Promise<string>)

/** Proves who you are by a key in a header, query parameter or cookie. */
export function apiKeyAuth(
  key: Secret,
  place: Pick<APIKeySecurityScheme, 'location' | 'name'>,
): ClientAuth {
  const { location, name } = place
  return {
    async apply(call) {
      const value = await reveal(key)
      if (location === 'header') return withHeader(call, name.toLowerCase(), value)
      if (location === 'query') return withQuery(call, name, value)
      return withCookie(call, name, value)
    },
  }
}

/** Proves who you are by a bearer token. */
export function bearerAuth(token: Secret): ClientAuth {
  return httpAuth('Bearer', token)
}

/** Proves who you are by user and password (RFC 7617). */
export function basicAuth(user: string, password: string): ClientAuth {
  const bytes = new TextEncoder().encode(`${user}:${password}`)
  return httpAuth('Basic', btoa(String.fromCharCode(...bytes)))
}

/** Proves who you are by any HTTP authentication scheme: `credentials` stand after its name. */
export function httpAuth(scheme: string, credentials: Secret): ClientAuth {
  return {
    apply: async (call) =>
      withHeader(call, 'authorization', `${scheme} ${await reveal(credentials)}`),
  }
}

/** Puts several credentials on the same call. */
export function allOf(auths: readonly ClientAuth[]): ClientAuth {
  return {
    async apply(call) {
      let result = call
      for (const auth of auths) result = await auth.apply(result)
      return result
    },
    async renew(signal) {
      const renewed = await Promise.all(auths.map((auth) => auth.renew?.(signal) ?? false))
      return renewed.some(Boolean)
    },
  }
}

/** Sends with credentials; after a 401 once more, where fresh ones can be had. A refused request has done nothing. */
export function withAuth(send: HttpSend, auth: ClientAuth): HttpSend {
  return async (request) => {
    const reply = await send(await authorised(request, auth))
    if (reply.status !== 401 || !(await auth.renew?.(request.signal))) return reply
    await reply.text() // frees the connection
    return send(await authorised(request, auth))
  }
}

async function authorised(request: ClientRequest, auth: ClientAuth): Promise<ClientRequest> {
  const { headers, url = request.url } = await auth.apply(request)
  return { ...request, headers, url }
}

async function reveal(secret: Secret): Promise<string> {
  return typeof secret === 'string' ? secret : await secret()
}

function withHeader(call: OutgoingCall, name: string, value: string): OutgoingCall {
  return { ...call, headers: { ...call.headers, [name]: value } }
}

function withQuery(call: OutgoingCall, name: string, value: string): OutgoingCall {
  if (call.url === undefined)
    throw new A2AError('unsupportedOperation', 'This wire has no query that could carry a key')
  const url = new URL(call.url)
  url.searchParams.set(name, value)
  return { ...call, url: url.href }
}

function withCookie(call: OutgoingCall, name: string, value: string): OutgoingCall {
  const cookie = `${name}=${encodeURIComponent(value)}`
  const { cookie: others } = call.headers
  return withHeader(call, 'cookie', others ? `${others}; ${cookie}` : cookie)
}
