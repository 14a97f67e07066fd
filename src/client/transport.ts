import type { HttpSend } from '../bindings/http.ts'
import { createJsonRpcDispatch } from '../bindings/jsonrpc/client.ts'
import { createRestDispatch } from '../bindings/rest/client.ts'
import type { Dispatch } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { readUrl } from '../shared/url.ts'
import type { ClientAuth } from './auth.ts'

/** A way to an agent. Implement it for a wire of your own: anything that makes a `Dispatch`. */
export interface Transport {
  /** The endpoint; the card is looked for beside it. */
  readonly url: string
  /**
   * Makes a `Dispatch` over this wire. `send` brings the client's credentials and timeouts; a wire that is not HTTP
   * puts the credentials on its calls itself.
   */
  connect(send: HttpSend, auth?: ClientAuth): Dispatch
}

/** The dialects of JSON-RPC that a client speaks. */
export type JsonRpcDialect = '1.0' | '0.3' | '1.0-rc' | 'ranch'

/** The versions of HTTP+JSON that a client speaks. */
export type RestVersion = '1.0' | '0.3'

/** How a transport of Corral speaks. */
export interface TransportOptions<Dialect extends string> {
  /** If absent `1.0`; for JSON-RPC what the URL's path tells: RANCH at `/rpc`, 1.0-rc at `/v1/rpc`. */
  readonly dialect?: Dialect
  /** The tenant of every request. */
  readonly tenant?: string
}

/** Reaches an agent by JSON-RPC at one URL, in one dialect, without looking at its card first. */
export class JsonRpcTransport implements Transport {
  /** The endpoint. */
  readonly url: string
  readonly #options: TransportOptions<JsonRpcDialect>

  /** @throws A2AError `invalidParams` for what is no URL of http or https. */
  constructor(url: string, options: TransportOptions<JsonRpcDialect> = {}) {
    this.url = httpUrl(url)
    this.#options = options
  }

  /** Makes a `Dispatch` over this wire. */
  connect(send: HttpSend): Dispatch {
    const { dialect = dialectAt(this.url), ...rest } = this.#options
    return createJsonRpcDispatch({ url: this.url, send, dialect, ...rest })
  }
}

/** Reaches an agent by HTTP+JSON below one URL, in one version, without looking at its card first. */
export class RestTransport implements Transport {
  /** The endpoint. */
  readonly url: string
  readonly #options: TransportOptions<RestVersion>

  /** @throws A2AError `invalidParams` for what is no URL of http or https. */
  constructor(url: string, options: TransportOptions<RestVersion> = {}) {
    this.url = httpUrl(url)
    this.#options = options
  }

  /** Makes a `Dispatch` over this wire. */
  connect(send: HttpSend): Dispatch {
    const { dialect: version = '1.0', ...rest } = this.#options
    return createRestDispatch({ url: this.url, send, version, ...rest })
  }
}

function httpUrl(url: string): string {
  if (/^https?:$/.test(readUrl(url)?.protocol ?? '')) return url
  throw new A2AError(
    'invalidParams',
    `An agent's URL starts with http:// or https://, not "${url}"`,
  )
}

/** At these paths RANCH and 1.0-rc are spoken, on whoever's server they are. */
function dialectAt(url: string): JsonRpcDialect {
  const { pathname } = new URL(url)
  if (/\/v1\/rpc\/?$/.test(pathname)) return '1.0-rc'
  return /\/rpc\/?$/.test(pathname) ? 'ranch' : '1.0'
}
