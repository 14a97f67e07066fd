import type { Agent } from '../agents/agent.ts'
import { type AgentFunction, defineAgent, fromRunnable, type Runnable } from '../agents/function.ts'
import { wrapAgent } from '../agents/wrap.ts'
import type { HttpReply, HttpRequest } from '../bindings/http.ts'
import { agentRoutes } from '../bindings/routes.ts'
import type { AuthContext } from '../protocol/operations.ts'
import { authenticators, type CallerExtractor, type Secrets } from '../server/access/auth.ts'
import type { Authenticator } from '../server/authenticator.ts'
import { runServer, type StartedServer } from '../server/node/run.ts'
import type { ServerOptions } from '../server/options.ts'
import { createServer, type Server, serverOptions } from '../server/server.ts'
import { isPromiseLike } from '../shared/async.ts'
import { isFields } from '../shared/json.ts'
import { checkArgument, checkOptions } from '../shared/options.ts'
import { trimEnd } from '../shared/text.ts'
import { fromTaskStore } from '../store/custom.ts'
import type { Store } from '../store/store.ts'
import type { FullTaskStore, TaskStore } from '../store/task-store.ts'
import { EchoHandler, fromMessageHandler, type MessageHandler } from './message-handler.ts'
import { fromRequestHandler, type RequestHandler } from './request-handler.ts'
import { type CardDraft, infoFromCard } from './types.ts'

/**
 * What an `A2AServer` can serve: a message handler, a request handler, an agent, a function, or an object with
 * `run(text)`.
 */
export type Backend = MessageHandler | RequestHandler | Agent | AgentFunction | Runnable

interface Address {
  readonly host: string
  readonly port: number
}

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

/** Options of `createServer` that the chain of calls has no method for. */
export type FurtherOptions = Omit<ServerOptions, 'agents' | 'store' | 'routes' | 'publicUrl'>

const { agents: _a, store: _s, routes: _r, publicUrl: _u, ...furtherOptions } = serverOptions

/** What stops an `A2AServer`. */
export interface RunOptions {
  /** Whether SIGINT and SIGTERM shut it down; true if absent. */
  readonly signals?: boolean
}

/** A server that runs, with a second name for `close`. */
export interface RunningServer extends StartedServer {
  /** Takes no more messages, lets turns end, closes. May be called twice. */
  shutdown(): Promise<void>
}

/**
 * Serves an agent in one chain of calls, as a2a-rs does: `new A2AServer(handler).bind('0.0.0.0:8080').run()`.
 * Everything but the address has a sensible value.
 */
export class A2AServer {
  readonly #backend: Backend
  readonly #card: CardDraft | undefined
  #address: Address | undefined
  #store: Store | TaskStore | undefined
  #extract: AuthExtractor | undefined
  #required = true
  #routes: Route[] = []
  #rpcPath: string | undefined
  #restPrefix: string | undefined
  #publicUrl: string | undefined
  #options: FurtherOptions = {}
  /** Requests that already carry the server's own path; they pass every route and rewriting by. */
  readonly #rewritten = new WeakSet<HttpRequest>()

  /** Serves what answers messages; `card` says who it is, unless it says so itself. */
  constructor(backend: Backend, card?: CardDraft) {
    checkArgument('A2AServer', 'what is served', backend, 'object|function')
    if (card !== undefined) checkArgument('A2AServer', 'the card', card, 'object')
    this.#backend = backend
    this.#card = card
  }

  /** Makes a server that answers `Echo: <text>`. */
  static echo(): A2AServer {
    return new A2AServer(new EchoHandler())
  }

  /**
   * Says where to listen: `0.0.0.0:8080`, `[::1]:8080`, `:8080`; port 0 takes any free one.
   * @throws Error for what is no address.
   */
  bind(address: string): this {
    this.#address = parseAddress(address)
    return this
  }

  /**
   * Says where tasks are kept: a store of Corral, or any object with the five methods of a `TaskStore`. It is not
   * closed with the server.
   */
  taskStore(store: Store | TaskStore): this {
    this.#store = store
    return this
  }

  /** Says how callers are known. Those that are not are refused, unless `required` is false. */
  authExtractor(extract: AuthExtractor, options: { readonly required?: boolean } = {}): this {
    checkArgument('authExtractor', 'the extractor', extract, 'function')
    checkOptions('authExtractor', options, { required: 'boolean' })
    this.#extract = async (headers) => withCamelNames(await extract(headers))
    this.#required = options.required ?? true
    return this
  }

  /** Adds a route of your own, tried before the server's, in the order of the calls. */
  additionalRoutes(route: Route): this {
    this.#routes.push(route)
    return this
  }

  /** Adds a path for JSON-RPC, which speaks 1.0-rc where a request does not say otherwise. */
  rpcPath(path: string): this {
    this.#rpcPath = path
    return this
  }

  /** Adds a prefix of the HTTP+JSON paths, which speak 1.0 where a request does not say otherwise. */
  restPrefix(prefix: string): this {
    this.#restPrefix = trimEnd(prefix, '/')
    return this
  }

  /** Says which URL the card points to; this machine's if absent. */
  publicUrl(url: string): this {
    this.#publicUrl = url
    return this
  }

  /**
   * Sets options that have no method of their own: CORS (every page may call if absent), rate limits, webhooks, logger
   * and others.
   */
  configure(options: FurtherOptions): this {
    checkOptions('configure', options, furtherOptions)
    this.#options = { ...this.#options, ...options }
    return this
  }

  /**
   * Listens, and takes up what an earlier process left in the store.
   * @throws Error if no address was given, or it cannot be listened on.
   */
  async run(options: RunOptions = {}): Promise<RunningServer> {
    checkOptions('run', options, { signals: 'boolean' })
    const address = this.#address
    if (!address) throw new Error('Say where to listen, for example .bind("0.0.0.0:8080")')
    const { logger, clock } = this.#options
    const running = await runServer(await this.#createServer(), {
      ...address,
      signals: options.signals ?? true,
      ...(logger !== undefined && { logger }),
      ...(clock && { clock }),
    })
    return { ...running, shutdown: running.close }
  }

  async #createServer(): Promise<Server> {
    let url = (): string => 'http://localhost'
    const agent = withCard(
      toAgent(this.#backend, () => url()),
      this.#card,
    )
    const scope = { agent: (await agent.info()).id, tenant: '', owner: '' }
    const store =
      this.#store && (isStore(this.#store) ? this.#store : fromTaskStore(this.#store, { scope }))
    const server: Server = await createServer({
      cors: { origins: '*' },
      ...(this.#card && { enforceInputModes: false }),
      ...this.#options,
      agents: [agent],
      routes: (request) => this.#route(request, () => this.#state(server)),
      ...(store && { store }),
      ...(this.#publicUrl && { publicUrl: this.#publicUrl }),
      ...(this.#extract && {
        auth: {
          authenticators: [authenticators.extractor(this.#extract)],
          required: this.#required,
        },
      }),
    })
    url = server.url
    return server
  }

  /** What the routes from `index` on answer; one that promises nothing passes on like one that says so. */
  #route(request: HttpRequest, state: () => AppState, index = 0): ReturnType<Route> {
    if (this.#rewritten.has(request)) return undefined
    const reply = this.#routes[index]?.(request, state())
    const passOn = (): ReturnType<Route> =>
      index < this.#routes.length
        ? this.#route(request, state, index + 1)
        : this.#rewrite(request, state)
    return isPromiseLike(reply)
      ? Promise.resolve(reply).then((given) => given ?? passOn())
      : (reply ?? passOn())
  }

  /** The answer at a path that this builder added. */
  #rewrite(request: HttpRequest, state: () => AppState): ReturnType<Route> {
    const path = this.#ownPath(request.path)
    if (path === undefined) return undefined
    const rewritten = { ...request, path }
    this.#rewritten.add(rewritten)
    return Promise.resolve(state().server.handle(rewritten))
  }

  /** The server's own path behind one that this builder added; its JSON-RPC stays where the card says it is. */
  #ownPath(path: string): string | undefined {
    const { paths } = agentRoutes.rc
    if (paths.some((own) => own === path)) return undefined
    if (path === this.#rpcPath) return paths[0]
    const prefix = this.#restPrefix
    return prefix && path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : undefined
  }

  #state(server: Server): AppState {
    return {
      server,
      handler: this.#backend,
      baseUrl: server.url(),
      taskStore: (auth) => server.taskStore(auth),
      auth: async (request) => this.#extract?.(request.headers),
    }
  }
}

/** A caller under the names that a2a-rs has for it, `user_id` and `access_token`, as programs in JavaScript give them. */
function withCamelNames(found: AuthContext | undefined): AuthContext | undefined {
  if (!isFields(found) || !('user_id' in found)) return found
  const { user_id, access_token, ...rest } = found
  const named = {
    userId: user_id,
    ...(access_token !== undefined && { accessToken: access_token }),
  }
  return { ...named, ...rest } as AuthContext // whether it names a user is checked with every caller
}

/**
 * An address in one string: `0.0.0.0:8080`, `[::1]:8080`, or `:8080` for all interfaces.
 * @throws Error for what is no address.
 */
function parseAddress(text: string): Address {
  checkArgument('bind', 'the address', text, 'string')
  const match = /^(\[[0-9a-f:.]+\]|[^:\s]*):(\d{1,5})$/i.exec(text.trim())
  const port = Number(match?.[2])
  if (!match || port > 65_535)
    throw new Error(`"${text}" is no address; write it as "0.0.0.0:8080"`)
  const host = match[1]?.replace(/^\[|\]$/g, '')
  return { host: host || '0.0.0.0', port }
}

/**
 * Whatever answers messages, as an agent: told apart by its methods.
 * @throws Error for an object that has none of them.
 */
function toAgent(backend: Backend, baseUrl: () => string): Agent {
  if (typeof backend === 'function') return defineAgent({ name: backend.name || 'Agent' }, backend)
  if ('handleMessage' in backend) return fromMessageHandler(backend, baseUrl)
  if ('onMessageSend' in backend) return fromRequestHandler(backend)
  if ('process' in backend) return backend
  if ('run' in backend) return fromRunnable(backend)
  throw new Error('What is served needs handleMessage, onMessageSend, process or run')
}

export function withCard(agent: Agent, card: CardDraft | undefined): Agent {
  if (!card) return agent
  const info = infoFromCard(card)
  return wrapAgent(agent, { info: () => info })
}

function isStore(store: Store | TaskStore): store is Store {
  return 'commit' in store
}

/** Who may call, as the first version of the Python SDK said it, with the secrets and their owners. */
export type AuthConfig =
  | { readonly type: 'none' }
  | { readonly type: 'bearer'; readonly tokens: Secrets }
  | { readonly type: 'api_key' | 'apiKey'; readonly keys: Secrets; readonly header?: string }
  | { readonly type: 'oauth2'; readonly authenticator: Authenticator }

const schemes: Readonly<Record<AuthConfig['type'], Readonly<Record<string, string>>>> = {
  none: { type: 'string!' },
  bearer: { type: 'string!', tokens: 'object|function!' },
  api_key: { type: 'string!', keys: 'object|function!', header: 'string' },
  apiKey: { type: 'string!', keys: 'object|function!', header: 'string' },
  oauth2: { type: 'string!', authenticator: 'object!' },
}

/**
 * Makes the authenticator that an `AuthConfig` means; undefined where anyone may call, which only the type `none` says.
 * OAuth 2 tokens are checked by `jwt`.
 * @throws TypeError for a configuration that is not understood.
 */
export function toAuthenticator(config: AuthConfig): Authenticator | undefined {
  const at = 'authentication'
  checkArgument(at, 'what is given', config, 'object')
  const { type } = config
  if (!Object.hasOwn(schemes, type))
    throw new TypeError(
      `${at}: type must be one of ${Object.keys(schemes).join(', ')}; only none lets everyone call`,
    )
  checkOptions(at, config, schemes[type])
  switch (config.type) {
    case 'none':
      return undefined
    case 'bearer':
      return authenticators.bearer({ tokens: config.tokens })
    case 'api_key':
    case 'apiKey':
      return authenticators.apiKey({
        keys: config.keys,
        ...(config.header && { name: config.header }),
      })
    case 'oauth2':
      return config.authenticator
  }
}
