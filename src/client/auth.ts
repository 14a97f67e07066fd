import type { ClientRequest, HttpSend } from '../bindings/http.ts'
import type { APIKeySecurityScheme } from '../protocol/types.ts'

/** Puts credentials on requests. Credentials are in headers, query or cookies, never in a message. */
export interface ClientAuth {
  apply(request: ClientRequest): Promise<ClientRequest> | ClientRequest
  /** Told of a 401; true says that fresh credentials are there and the request is worth one more try. */
  renew?(signal?: AbortSignal): Promise<boolean>
}

/** A secret, or a function that gives the one that is valid now. */
export type Secret = string | (() => string | Promise<string>)

/** A key in a header, query parameter or cookie. */
export function apiKey(
  key: Secret,
  place: Pick<APIKeySecurityScheme, 'location' | 'name'>,
): ClientAuth {
  const { location, name } = place
  return {
    async apply(request) {
      const value = await reveal(key)
      if (location === 'header') return withHeader(request, name.toLowerCase(), value)
      if (location === 'query') return withQuery(request, name, value)
      return withCookie(request, name, value)
    },
  }
}

/** A bearer token. */
export function bearer(token: Secret): ClientAuth {
  return httpAuth('Bearer', token)
}

/** User and password (RFC 7617). */
export function basic(user: string, password: string): ClientAuth {
  const bytes = new TextEncoder().encode(`${user}:${password}`)
  return httpAuth('Basic', btoa(String.fromCharCode(...bytes)))
}

/** Credentials of any HTTP authentication scheme, as they stand after its name. */
export function httpAuth(scheme: string, credentials: Secret): ClientAuth {
  return {
    apply: async (request) =>
      withHeader(request, 'authorization', `${scheme} ${await reveal(credentials)}`),
  }
}

/** Several credentials on the same request. */
export function allOf(auths: readonly ClientAuth[]): ClientAuth {
  return {
    async apply(request) {
      let result = request
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
    const reply = await send(await auth.apply(request))
    if (reply.status !== 401 || !(await auth.renew?.(request.signal))) return reply
    await reply.text() // frees the connection
    return send(await auth.apply(request))
  }
}

async function reveal(secret: Secret): Promise<string> {
  return typeof secret === 'string' ? secret : await secret()
}

function withHeader(request: ClientRequest, name: string, value: string): ClientRequest {
  return { ...request, headers: { ...request.headers, [name]: value } }
}

function withQuery(request: ClientRequest, name: string, value: string): ClientRequest {
  const url = new URL(request.url)
  url.searchParams.set(name, value)
  return { ...request, url: url.href }
}

function withCookie(request: ClientRequest, name: string, value: string): ClientRequest {
  const cookie = `${name}=${encodeURIComponent(value)}`
  const { cookie: others } = request.headers
  return withHeader(request, 'cookie', others ? `${others}; ${cookie}` : cookie)
}
