import type { HttpSend } from '../bindings/http.ts'
import type { Dispatch, Middleware } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { declaresIdempotency } from '../protocol/extensions.ts'
import { operations } from '../protocol/operations.ts'
import type { AgentCard } from '../protocol/types.ts'
import { isPromiseLike } from '../shared/async.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { silent, toLogger } from '../shared/log.ts'
import { type ClientAuth, withAuth } from './auth.ts'
import { toBounds, withBounds } from './bounds.ts'
import { type CardTerms, type Credentials, toCardAuth } from './card-auth.ts'
import type { ClientConfig } from './config.ts'
import { type CredentialOrigins, createCredentialOrigins } from './credential-origins.ts'
import { withGateways } from './faults.ts'
import { type HttpClient, withTimeouts } from './http.ts'
import { createHttp } from './node.ts'
import { fetchOver } from './oauth/fetch.ts'
import { withRetry } from './retry.ts'
import { createSessionCard, type SessionCard } from './session-card.ts'
import type { Transport } from './transport.ts'
import { openWires } from './wires.ts'
import { tellOnce, withoutHeaders } from './withhold.ts'

/** What stands between a client's methods and the agent. */
export interface AgentConnection {
  /** Every operation, through defaults, capability check, retries, choice of wire and credentials. */
  readonly dispatch: Dispatch
  /** The same without retries, for what tries again by itself. */
  readonly once: Dispatch
  /** Whether the card says that an `Idempotency-Key` makes a repeated send safe. */
  sendsAreIdempotent(): boolean
  card(signal?: AbortSignal): Promise<AgentCard>
  /** Whether the agent streams; true where there is no card to tell. */
  canStream(signal?: AbortSignal): Promise<boolean>
  replaceCard(card: AgentCard): void
  invalidate(): void
  close(): Promise<void>
}

/** Builds the way to the agent that a config names. Nothing is sent before the first call. */
export function createConnection(config: ClientConfig): AgentConnection {
  const { clock = systemClock, random = Math.random, log = silent } = config
  const http = openHttp(config, clock)
  const send = withGateways(http.send)
  const card = createSessionCard(config, send)
  const sendsAreIdempotent = (): boolean => declaresIdempotency(card.last)
  const tryAgain = withRetry({ ...config.retry, clock, random, log, sendsAreIdempotent })
  const wire = createWire(config, card, send)
  const around = (inner: Dispatch): Dispatch => withDefaults(config)(withCapabilities(card)(inner))
  return {
    dispatch: around(tryAgain(wire)),
    once: around(wire),
    sendsAreIdempotent,
    card: card.get,
    async canStream(signal) {
      const known = await card.known(signal)
      return known === undefined || known.capabilities.streaming === true
    },
    replaceCard: card.replace,
    invalidate: card.invalidate,
    close: http.close,
  }
}

function openHttp(config: ClientConfig, clock: Clock): HttpClient {
  const { send, timeouts = {}, verifySsl, reach } = config
  const { connectMs, requestMs = 300_000, idleMs = 120_000 } = timeouts
  const bounds = toBounds(config)
  const limits = { requestMs, idleMs, clock, ...bounds }
  if (send)
    return {
      send: withTimeouts(withBounds(send, bounds), limits),
      close: () => Promise.resolve(),
    }
  return createHttp({
    ...limits,
    ...(connectMs !== undefined && { connectMs }),
    ...(verifySsl !== undefined && { verifySsl }),
    ...(reach ? { reach } : { named: namedBy(config), allowed: config.credentialOrigins ?? [] }),
  })
}

/** The URLs that the user wrote, or handed over in a card. */
function namedBy(config: ClientConfig): readonly string[] {
  if ('transport' in config) return [config.transport.url]
  if ('dispatch' in config) return []
  return [config.serverUrl, ...(config.card?.supportedInterfaces ?? []).map(({ url }) => url)]
}

/** The last step: the given dispatch, the given transport, or what the card of the moment offers. */
function createWire(config: ClientConfig, card: SessionCard, send: HttpSend): Dispatch {
  if ('dispatch' in config) return config.dispatch
  const { auth, credentials } = config
  const origins = originsOf(config, card)
  const terms = { origins, fetch: fetchOver(send) }
  const own = auth ?? (credentials && cardAuth(card, credentials, terms))
  const authorised = own ? withAuth(send, own) : send
  if ('transport' in config) return config.transport.connect(authorised, own)
  const tell = tellOnce(toLogger(config.log), config.onCredentialsWithheld)
  const connect = (transport: Transport): Dispatch => {
    const { url } = transport
    if (origins.has(url)) return transport.connect(authorised)
    return withoutHeaders({ url, auth: own !== undefined, tell })(transport.connect(send))
  }
  const options = { ...config, onlyTls: config.serverUrl.startsWith('https:') }
  let opened: { readonly card: AgentCard; readonly dispatch: Dispatch } | undefined
  return async (name, request, call) => {
    const now = card.last ?? (await card.get(call.signal)) // asked for a moment ago, with the capabilities
    if (opened?.card !== now) opened = { card: now, dispatch: openWires(now, connect, options) }
    return opened.dispatch(name, request, call)
  }
}

/** Who gets credentials: whom the user named or allowed, and whom a card names that a key of the user's vouches for. */
function originsOf(config: ClientConfig, card: SessionCard): CredentialOrigins {
  const named = 'serverUrl' in config ? config.serverUrl : undefined
  const wire = 'transport' in config ? config.transport.url : undefined
  const allowed = config.credentialOrigins
  return createCredentialOrigins({ named: [named, wire], allowed, vouched: () => card.vouched })
}

/** Credentials as the card of the moment wants them. They are made anew, tokens and all, only where it changes that. */
function cardAuth(card: SessionCard, credentials: Credentials, terms: CardTerms): ClientAuth {
  let made: { readonly wanted: string; readonly auth: ClientAuth | undefined } | undefined
  async function current(signal?: AbortSignal): Promise<ClientAuth | undefined> {
    const now = card.last ?? (await card.get(signal))
    const wanted = JSON.stringify([now.securitySchemes, now.securityRequirements])
    if (made?.wanted !== wanted) made = { wanted, auth: toCardAuth(now, credentials, terms) }
    return made.auth
  }
  return {
    apply: async (call) => (await current(call.signal))?.apply(call) ?? call,
    renew: async (signal) => (await (await current(signal))?.renew?.(signal)) ?? false,
  }
}

/**
 * What every call carries: the config's headers and extensions, beneath the call's own. A call that came in on a wire
 * and is passed on has the headers of whoever sent it to this server: they are not for another.
 */
function withDefaults({ headers, extensions = [] }: ClientConfig): Middleware {
  return (next) => (name, request, call) => {
    const passedOn = call.dialect !== undefined
    if (!headers && extensions.length === 0 && !passedOn) return next(name, request, call)
    const all = [...new Set([...extensions, ...(call.extensions ?? [])])]
    return next(name, request, {
      ...call,
      headers: { ...headers, ...(passedOn ? undefined : call.headers) },
      extensions: all,
    })
  }
}

/**
 * Refuses here what the card says the agent would refuse (specification §3.3.4). It asks for the card at every call:
 * a failed discovery has had its retries and must not get those of the call on top.
 */
function withCapabilities(card: SessionCard): Middleware {
  return (next) => async (name, request, call) => {
    const { needs, refusal = 'unsupportedOperation' } = operations[name]
    const asked = card.known(call.signal)
    const known = isPromiseLike(asked) ? await asked : asked
    if (needs && known && !known.capabilities[needs])
      throw new A2AError(refusal, `${known.name} does not offer ${needs}`)
    return next(name, request, call)
  }
}
