import { ranchBinding } from '../bindings/dialects/ranch-card.ts'
import type { HttpSend } from '../bindings/http.ts'
import { chooseInterface, toMajorMinor } from '../protocol/card.ts'
import { A2AError, hasCode } from '../protocol/errors.ts'
import { declaresIdempotency } from '../protocol/extensions.ts'
import { type Dispatch, type Middleware, operations, tenantHeader } from '../protocol/operations.ts'
import type { AgentCard, AgentInterface } from '../protocol/types.ts'
import { isPromiseLike, retry } from '../shared/async.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { silent, toLogger } from '../shared/log.ts'
import { urlFault } from '../shared/text.ts'
import {
  type ClientAuth,
  type CredentialOrigins,
  createCredentialOrigins,
  tellOnce,
  withAuth,
  withoutHeaders,
} from './auth/auth.ts'
import { type CardTerms, type Credentials, toCardAuth } from './auth/card-auth.ts'
import { fetchOver } from './auth/oauth.ts'
import { type ClientConfig, JsonRpcTransport, RestTransport, type Transport } from './config.ts'
import { type CardCache, createCardCache, toBaseUrl } from './discovery.ts'
import {
  type HttpClient,
  isConnectFailure,
  toBounds,
  withBounds,
  withGateways,
  withTimeouts,
} from './http.ts'
import { createHttp } from './node.ts'
import { isPassing, type RetryContext, retryRules, withRetry } from './retry.ts'

/** What stands between a client's methods and the agent that a config names. Nothing is sent before the first call. */
export class AgentConnection {
  /** Every operation, through defaults, capability check, retries, choice of wire and credentials. */
  readonly dispatch: Dispatch
  /** The same without retries, for what tries again by itself. */
  readonly once: Dispatch
  /** The card that the client goes by. */
  readonly card: SessionCard
  /** Whether the card says that an `Idempotency-Key` makes a repeated send safe. */
  readonly sendsAreIdempotent: () => boolean
  readonly close: () => Promise<void>

  constructor(config: ClientConfig) {
    const { clock = systemClock, random = Math.random, log = silent } = config
    const http = openHttp(config, clock)
    const send = withGateways(http.send)
    const card = new SessionCard(config, send)
    this.card = card
    this.close = http.close
    this.sendsAreIdempotent = () => declaresIdempotency(card.last)
    const tryAgain = withRetry({ ...config.retry, clock, random, log }, this.sendsAreIdempotent)
    const wire = createWire(config, card, send)
    const around = (inner: Dispatch): Dispatch =>
      withDefaults(config)(withCapabilities(card)(inner))
    this.dispatch = around(tryAgain(wire))
    this.once = around(wire)
  }

  /** Whether the agent streams; true where there is no card to tell. */
  async canStream(signal?: AbortSignal): Promise<boolean> {
    const known = await this.card.known(signal)
    return known === undefined || known.capabilities.streaming === true
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

/** The card that a client goes by: the given one, the extended one once it was fetched, else the public one. */
class SessionCard {
  readonly #config: ClientConfig
  readonly #cache: CardCache
  readonly #url: string | undefined
  readonly #send: HttpSend
  readonly #retry: RetryContext
  #replaced: AgentCard | undefined
  #last: AgentCard | undefined
  #vouched: AgentCard | undefined

  constructor(config: ClientConfig, send: HttpSend) {
    const { clock = systemClock, random = Math.random, log = silent } = config
    this.#config = config
    this.#cache = config.cardCache ?? createCardCache({ clock })
    this.#url = cardUrl(config)
    this.#send = config.auth ? withAuthIfRefused(send, config.auth) : send
    this.#retry = { ...config.retry, clock, random, log }
    this.#replaced = config.card
    this.#last = config.card
  }

  /** The card that was used last, without a request. */
  get last(): AgentCard | undefined {
    return this.#replaced ?? this.#last
  }

  /** The card that was fetched last, where a key of the user's vouches for it. */
  get vouched(): AgentCard | undefined {
    return this.#vouched
  }

  /** The card of the moment; fetched where there is none or it is too old. */
  async get(signal?: AbortSignal): Promise<AgentCard> {
    if (this.#replaced) return this.#replaced
    try {
      this.#last = this.#note(await this.#fetch(signal))
    } catch (error) {
      // An agent that worked a moment ago is not given up because its card cannot be had now.
      if (!this.#last || !isPassing(error)) throw error
      this.#retry.log.warn({}, 'the card cannot be fetched; going on with the last one')
    }
    return this.#last
  }

  /** The card, if the client has one to go by; no promise where it is at hand. A client over a transport goes without. */
  known(signal?: AbortSignal): Promise<AgentCard> | AgentCard | undefined {
    const config = this.#config
    if (this.#replaced || !('serverUrl' in config)) return this.#replaced ?? this.#last
    const fresh = this.#cache.fresh?.(config.serverUrl, config.verifyCard)
    if (!fresh) return this.get(signal)
    this.#last = this.#note(fresh)
    return fresh
  }

  replace(card: AgentCard): void {
    this.#replaced = card
  }

  invalidate(): void {
    this.#replaced = this.#config.card
    this.#last = this.#config.card
    this.#vouched = undefined
    this.#cache.invalidate(this.#url)
  }

  #fetch(signal?: AbortSignal): Promise<AgentCard> {
    const { verifyCard: verify } = this.#config
    const request = { send: this.#send, signal, ...(verify && { verify }) }
    const attempt = async (): Promise<AgentCard> => {
      if (this.#url !== undefined) return this.#cache.get(this.#url, request)
      throw new A2AError('unsupportedOperation', 'A client over a dispatch has no card to fetch')
    }
    return retry(attempt, retryRules(this.#retry, mayAppear, signal))
  }

  #note(card: AgentCard): AgentCard {
    if (this.#config.verifyCard?.vouches) this.#vouched = card
    return card
  }
}

/** A server that says that it has no card will not have one in a moment. */
function mayAppear(error: unknown): boolean {
  return isPassing(error) && !hasCode(error, 'agentUnavailable')
}

/** Where the card is looked for: the server's URL, or what is left of an endpoint without its usual path. */
function cardUrl(config: ClientConfig): string | undefined {
  if ('serverUrl' in config) return config.serverUrl
  if ('transport' in config) return toBaseUrl(config.transport.url)
  return undefined
}

/** Public cards are asked for without credentials; they are shown only where the server wants them. */
function withAuthIfRefused(send: HttpSend, auth: NonNullable<ClientConfig['auth']>): HttpSend {
  const known = withAuth(send, auth)
  return async (request) => {
    const reply = await send(request)
    if (reply.status !== 401) return reply
    await reply.text()
    return known(request)
  }
}

/**
 * What every call carries: the config's tenant, headers and extensions, beneath the call's own. A call that came in on a wire
 * and is passed on has the headers of its sender to this server: they are not for another.
 */
function withDefaults({ headers: given, extensions = [], tenant }: ClientConfig): Middleware {
  // Wires before 1.0 have no other place for a tenant.
  const named = tenant !== undefined && /^[\x21-\x7e]+$/.test(tenant)
  const headers = named ? { ...given, [tenantHeader]: tenant } : given
  return (next) => (name, request, call) => {
    const passedOn = call.dialect !== undefined
    if (!headers && extensions.length === 0 && !passedOn && tenant === undefined)
      return next(name, request, call)
    const all = [...new Set([...extensions, ...(call.extensions ?? [])])]
    return next(name, tenant === undefined ? request : { ...request, tenant }, {
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

/** The last step: the given dispatch, the given transport, or what the card of the moment offers. */
function createWire(config: ClientConfig, card: SessionCard, send: HttpSend): Dispatch {
  if ('dispatch' in config) return config.dispatch
  const { auth, credentials } = config
  const origins = originsOf(config, card)
  const resource = 'serverUrl' in config ? { resource: config.serverUrl } : {}
  const terms = { origins, fetch: fetchOver(send), ...resource }
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

/** The origins that get credentials: those that the user named or allowed, and those in a card that a key of the user's vouches for. */
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

/** The wires that a client speaks, by binding and version. */
const wires: Readonly<
  Record<string, (url: string, tenant: { readonly tenant?: string }) => Transport>
> = {
  'JSONRPC 1.0': (url, tenant) => new JsonRpcTransport(url, { dialect: '1.0', ...tenant }),
  'JSONRPC 0.3': (url, tenant) => new JsonRpcTransport(url, { dialect: '0.3', ...tenant }),
  'HTTP+JSON 1.0': (url, tenant) => new RestTransport(url, { dialect: '1.0', ...tenant }),
  'HTTP+JSON 0.3': (url, tenant) => new RestTransport(url, { dialect: '0.3', ...tenant }),
  [`${ranchBinding.toUpperCase()} 0.3`]: (url, tenant) =>
    new JsonRpcTransport(url, { dialect: 'ranch', ...tenant }),
}

/** What a client accepts of a card's offers. */
interface WireOptions {
  readonly bindings?: readonly string[]
  readonly versions?: readonly string[]
  /** Leave out interfaces without TLS, since the card came over it. */
  readonly onlyTls?: boolean
  /** Takes the place of the tenants that the card names. */
  readonly tenant?: string
}

/**
 * A Dispatch over the interfaces of a card: the first that both sides speak, and the next when no connection comes
 * about or the version is refused (specification §5.2, §8.3.2). It stays with the one that answered.
 *
 * @throws A2AError `versionNotSupported` where no interface fits.
 */
function openWires(
  card: AgentCard,
  connect: (transport: Transport) => Dispatch,
  options: WireOptions = {},
): Dispatch {
  const offers = usableInterfaces(card, options)
  if (offers.length === 0) throw new A2AError('versionNotSupported', noneFits(card, options))
  return firstThatConnects(
    offers.map(({ tenant: own, ...offer }) => {
      const { tenant = own } = options
      return open(tenant ? { ...offer, tenant } : offer, connect)
    }),
  )
}

const everyBinding = ['JSONRPC', 'HTTP+JSON']

const everyVersion = ['1.0', '0.3']

function noneFits(card: AgentCard, options: WireOptions): string {
  const { bindings = everyBinding, versions = everyVersion, onlyTls } = options
  const offers = card.supportedInterfaces.map((offer) => `${wireName(offer)} at ${offer.url}`)
  const spoken = `${bindings.join(' and ')} in ${versions.join(' and ')}${onlyTls ? ', over https' : ''}`
  const offered = offers.length > 0 ? offers.join(', ') : 'no interface'
  return `${card.name} offers ${offered}; this client speaks ${spoken}`
}

/** The interfaces that fit, in the order in which they are tried; RANCH where nothing else does. */
function usableInterfaces(card: AgentCard, options: WireOptions): readonly AgentInterface[] {
  const usual = fittingInterfaces(card, options)
  if (usual.length > 0 || options.bindings) return usual
  return fittingInterfaces(card, { ...options, bindings: [ranchBinding] })
}

function fittingInterfaces(card: AgentCard, options: WireOptions): readonly AgentInterface[] {
  const { bindings = everyBinding, versions = everyVersion, onlyTls } = options
  let left = card.supportedInterfaces.filter(
    ({ url }) => urlFault(url) === undefined && (!onlyTls || url.startsWith('https:')),
  )
  const order: AgentInterface[] = []
  for (;;) {
    const choice = chooseInterface({ ...card, supportedInterfaces: left }, { bindings, versions })
    if (!choice) return order
    if (wires[wireName(choice)]) order.push(choice)
    left = left.filter((offer) => offer !== choice)
  }
}

function open(
  { url, tenant, ...offer }: AgentInterface,
  connect: (transport: Transport) => Dispatch,
): Dispatch {
  const transport = wires[wireName(offer)]?.(url, tenant ? { tenant } : {})
  if (!transport) throw new A2AError('internal', `No wire for ${wireName(offer)}`)
  return withoutTenant(connect(transport))
}

function wireName({
  protocolBinding,
  protocolVersion,
}: Pick<AgentInterface, 'protocolBinding' | 'protocolVersion'>): string {
  return `${protocolBinding.toUpperCase()} ${toMajorMinor(protocolVersion)}`
}

/** Every request carries exactly the tenant of its interface, or none (specification §8.3.2): none of its own. */
const withoutTenant: Middleware = (next) => (name, request, call) => {
  if (request.tenant === undefined) return next(name, request, call)
  const { tenant: _, ...rest } = request
  return next(name, rest as typeof request, call) // a request stays one without its tenant, which is optional
}

const notThere: Dispatch = () => Promise.reject(new A2AError('internal', 'No interface to use'))

function firstThatConnects(dispatches: readonly Dispatch[]): Dispatch {
  let current = 0
  return async (name, request, call) => {
    for (let tries = 1; ; tries++) {
      const index = current
      const dispatch = dispatches[index] ?? notThere
      try {
        return await dispatch(name, request, call)
      } catch (error) {
        const isUnheard = isConnectFailure(error) || hasCode(error, 'versionNotSupported')
        if (tries >= dispatches.length || !isUnheard) throw error
        // Calls that fail together move on together, not one place each.
        if (current === index) current = (index + 1) % dispatches.length
      }
    }
  }
}
