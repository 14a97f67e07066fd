import type { HttpRequest } from '../bindings/http.ts'
import { agentRoutes } from '../bindings/routes.ts'
import { authenticators } from '../server/authenticators.ts'
import type { ServerOptions } from '../server/options.ts'
import { runServer, type StartedServer } from '../server/run.ts'
import { createServer, type Server } from '../server/server.ts'
import { isPromiseLike } from '../shared/async.ts'
import { trimEnd } from '../shared/text.ts'
import { fromTaskStore } from '../store/custom.ts'
import type { Store } from '../store/store.ts'
import type { TaskStore } from '../store/task-store.ts'
import type { AppState, AuthExtractor, Route } from './app-state.ts'
import { type Backend, toAgent } from './backend.ts'
import { type Address, parseAddress } from './bind.ts'
import { EchoHandler } from './echo-handler.ts'

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

/** Options of `createServer` that the chain of calls has no method for. */
export type FurtherOptions = Omit<ServerOptions, 'agents' | 'store' | 'routes' | 'publicUrl'>

/**
 * Serves an agent in one chain of calls, as a2a-rs does: `new A2AServer(handler).bind('0.0.0.0:8080').run()`.
 * Everything but the address has a sensible value.
 */
export class A2AServer {
  readonly #backend: Backend
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

  constructor(backend: Backend) {
    this.#backend = backend
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
    this.#extract = extract
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
    this.#options = { ...this.#options, ...options }
    return this
  }

  /**
   * Listens, and takes up what an earlier process left in the store.
   * @throws Error if no address was given, or it cannot be listened on.
   */
  async run(options: RunOptions = {}): Promise<RunningServer> {
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
    const agent = toAgent(this.#backend, () => url())
    const scope = { agent: (await agent.info()).id, tenant: '', owner: '' }
    const store =
      this.#store && (isStore(this.#store) ? this.#store : fromTaskStore(this.#store, { scope }))
    const server: Server = await createServer({
      cors: { origins: '*' },
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

function isStore(store: Store | TaskStore): store is Store {
  return 'commit' in store
}
