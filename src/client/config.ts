import type { HttpSend } from '../bindings/http.ts'
import { createJsonRpcDispatch } from '../bindings/jsonrpc/client.ts'
import { createRestDispatch } from '../bindings/rest/client.ts'
import type { AddressGuard } from '../network/guard.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Call, Dispatch } from '../protocol/operations.ts'
import type { AgentCard, JsonObject, SendMessageConfiguration } from '../protocol/types.ts'
import type { Clock } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import { checkOptions, type OptionTable } from '../shared/options.ts'
import { readUrl } from '../shared/text.ts'
import type { ClientAuth, WithheldListener } from './auth/auth.ts'
import type { Credentials } from './auth/card-auth.ts'
import type { OAuthConfig } from './auth/oauth.ts'
import type { CardCache, CardVerifier } from './discovery.ts'
import type { RetryOptions } from './retry.ts'

/** What a client talks to, and how it behaves. */
export type ClientConfig = ClientTarget & ClientOptions

/** One of three ways to an agent: by its URL and card, over a given transport, or in the same process. */
export type ClientTarget =
  | { readonly serverUrl: string }
  | { readonly transport: Transport }
  | { readonly dispatch: Dispatch }

/** How a client behaves; all of it optional. */
export interface ClientOptions {
  /** The agent's card, where it is known already; saves the discovery. */
  readonly card?: AgentCard
  /** Adds credentials to every request. */
  readonly auth?: ClientAuth
  /** Credentials by name of the card's security scheme; the card then says how each is used. */
  readonly credentials?: Credentials
  /** Tokens of an authorization server for every request, where no card tells of it. */
  readonly oauth?: OAuthConfig
  /** Headers for every request, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Origins that get auth, credentials and headers beside the one of `serverUrl`, such as `https://api.example.com`. A
   * card may name others, but these get nothing, unless `signedBy` vouches for the card.
   */
  readonly credentialOrigins?: readonly string[]
  /** Told, once for each origin, what was not sent to it; the log if absent. */
  readonly onCredentialsWithheld?: WithheldListener
  /** The tenant of every request, also where the card names another; that of the card's interface if absent. */
  readonly tenant?: string
  /** Extensions to activate on every request (`A2A-Extensions`). */
  readonly extensions?: readonly string[]
  /** Bindings that may be used; `JSONRPC` and `HTTP+JSON` if absent. The card's order decides among them. */
  readonly bindings?: readonly string[]
  /** Protocol versions that may be used; `1.0` and `0.3` if absent. */
  readonly versions?: readonly string[]
  /** Between polls, in milliseconds; 1,000 if absent. */
  readonly pollIntervalMs?: number
  /** How often `pollUntilComplete` asks; 30 if absent. */
  readonly maxPolls?: number
  /** How long the client waits. */
  readonly timeouts?: Timeouts
  /** How often and how fast it tries again what failed. */
  readonly retry?: RetryOptions
  /** Shared between clients that should fetch a card once; the client's own if absent. */
  readonly cardCache?: CardCache
  /** Refuses a card by throwing, before anything in it is believed (specification §8.4.3). */
  readonly verifyCard?: CardVerifier
  /** Sends HTTP requests; keep-alive connections on Node and `fetch` elsewhere if absent. */
  readonly send?: HttpSend
  /** Whether TLS certificates are checked; true if absent. Only for tests, and only on Node. */
  readonly verifySsl?: boolean
  /**
   * Which hosts may be reached at which addresses. If absent, the agent's own host as it is written, and what its card
   * names beside it at public addresses; at internal ones only where the card itself comes from one. Node only.
   */
  readonly reach?: AddressGuard
  /** The longest answer that is not a stream; 64 MiB if absent. */
  readonly maxResponseBytes?: number
  /** The longest stream in bytes; 256 MiB if absent. */
  readonly maxStreamBytes?: number
  /** The longest stream in events; 1 000 000 if absent. */
  readonly maxStreamEvents?: number
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Gives numbers from 0 to 1 for the jitter of retries; `Math.random` if absent. */
  readonly random?: () => number
  /** Where the client tells of retries and of credentials that it kept back; the latter go to stderr if absent. */
  readonly log?: Logger
}

/** How long a client waits, in milliseconds. */
export interface Timeouts {
  /** For a connection; 10 000 if absent. Node only. */
  readonly connectMs?: number
  /** For a whole answer, or for a stream to begin; 300 000 if absent. */
  readonly requestMs?: number
  /** For the next byte of a stream, heartbeats included; 120 000 if absent. */
  readonly idleMs?: number
}

/** Options of one request: a signal to give it up, headers, extensions, a trace, an idempotency key. */
export type CallOptions = Pick<
  Call,
  'signal' | 'headers' | 'extensions' | 'traceparent' | 'idempotencyKey'
>

/** Options of a send; ids are used where the message is given as text. */
export interface SendOptions extends CallOptions {
  /** The conversation that a text belongs to; a new one if absent. */
  readonly contextId?: string
  /** The task that a text continues; a new one if absent. */
  readonly taskId?: string
  /** What the answer is to be like: accepted media types, a webhook, how much history, whether to wait. */
  readonly configuration?: SendMessageConfiguration
  /** Metadata of the request. */
  readonly metadata?: JsonObject
}

/** Options of a subscription. */
export interface SubscribeOptions extends CallOptions {
  /** Events after this sequence number only, where the server keeps them (`Last-Event-ID`). */
  readonly lastEventId?: number
}

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

const transportOptions: OptionTable<TransportOptions<string>> = {
  dialect: 'string',
  tenant: 'string',
}

/** Reaches an agent by JSON-RPC at one URL, in one dialect, without looking at its card first. */
export class JsonRpcTransport implements Transport {
  /** The endpoint. */
  readonly url: string
  readonly #options: TransportOptions<JsonRpcDialect>

  /** @throws A2AError `invalidParams` for what is no URL of http or https. */
  constructor(url: string, options: TransportOptions<JsonRpcDialect> = {}) {
    checkOptions('JsonRpcTransport', options, transportOptions)
    this.url = httpUrl(url)
    this.#options = options
  }

  /** Makes a `Dispatch` over this wire. */
  connect(send: HttpSend): Dispatch {
    const { dialect = rpcDialectAt(this.url) ?? '1.0', ...rest } = this.#options
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
    checkOptions('RestTransport', options, transportOptions)
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

/** The older dialect that the path of a URL stands for, on any server. */
export function rpcDialectAt(url: string): 'ranch' | '1.0-rc' | undefined {
  const { pathname } = new URL(url)
  if (/\/v1\/rpc\/?$/.test(pathname)) return '1.0-rc'
  return /\/rpc\/?$/.test(pathname) ? 'ranch' : undefined
}
