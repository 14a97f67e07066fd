import { createServer as createHttpServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Agent } from '../../agents/agent.ts'
import type { AgentFunction } from '../../agents/function.ts'
import { createDeferred } from '../../shared/async.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import { type Logger, toLogger } from '../../shared/log.ts'
import { checkArgument, checkOptions, type OptionTable } from '../../shared/options.ts'
import { isLoopback } from '../access/origins.ts'
import type { ServerOptions } from '../options.ts'
import { createServer, type Server, serverOptions } from '../server.ts'
import { createNodeAdapter } from './http.ts'

/** Where `runServer` listens, and what stops it. */
export interface RunServerOptions extends ListenOptions {
  /** Whether SIGINT and SIGTERM stop it; they do not if absent. */
  readonly signals?: boolean
  /** Refuses to start, in these words, where anyone on the network may call; it starts with a warning if absent. */
  readonly openRefusal?: string
  /** Called before the server closes, and where it cannot start. */
  readonly beforeClose?: () => void
  /** Called when the server is closed, and where it cannot start: close what it was made of here. */
  readonly afterClose?: () => Promise<void>
}

const listenOptions: OptionTable<ListenOptions> = {
  port: 'number!',
  host: 'string',
  maxBodyBytes: 'number',
  logger: 'object|boolean',
  openWarning: 'string',
  clock: 'object',
}

const runOptions: OptionTable<RunServerOptions> = {
  ...listenOptions,
  signals: 'boolean',
  openRefusal: 'string',
  beforeClose: 'function',
  afterClose: 'function',
}

/** A server that runs. Its `close` stops it gracefully: no more messages, running turns end, streams close. */
export interface StartedServer extends Listening {
  readonly server: Server
  /** What an earlier process had left. */
  readonly recovery: Awaited<ReturnType<Server['recover']>>
  /** Resolves when the server has been closed, by whomever. */
  readonly stopped: Promise<void>
}

/** How agents are served: where they answer, and everything that `createServer` takes. */
export interface ServeAgentOptions extends Omit<ServerOptions, 'agents'> {
  /** 3000 if absent; 0 takes any free one. */
  readonly port?: number
  /** `127.0.0.1` if absent, which this machine alone reaches; `0.0.0.0` for all interfaces. */
  readonly host?: string
  /** Whether SIGINT and SIGTERM stop it; true if absent. */
  readonly signals?: boolean
  /** Whether it may start without `auth` where others than this machine reach it; false if absent. */
  readonly allowUnauthenticated?: boolean
  /** Called when the server is closed, and where it cannot start: close what it was made of here, a store or a team. */
  readonly afterClose?: () => Promise<void>
}

const { agents: _, ...sharedOptions } = serverOptions

const serveOptions: OptionTable<ServeAgentOptions> = {
  ...sharedOptions,
  port: 'number',
  host: 'string',
  signals: 'boolean',
  allowUnauthenticated: 'boolean',
  afterClose: 'function',
}

const openRefusal =
  'Anyone who reaches this host could call the agent: set auth, or allowUnauthenticated: true'

/**
 * Serves an agent, a team, a function that answers, or several of them, the first at the root: on every wire, until a signal
 * or `close` stops it gracefully. It takes up what an earlier process left in the store.
 * @throws Error that says what to do when the port is taken or not allowed, or anyone on the network could call without `auth`.
 */
export async function serve(
  agents: Agent | AgentFunction | readonly (Agent | AgentFunction)[],
  options: ServeAgentOptions = {},
): Promise<StartedServer> {
  checkArgument('serve', 'what is served', agents, 'array|object|function')
  checkOptions('serve', options, serveOptions)
  const { port = 3000, host = '127.0.0.1', signals = true, ...others } = options
  const { allowUnauthenticated = false, afterClose, ...rest } = others
  const { clock, logger } = rest
  let server: Server
  try {
    server = await createServer({ ...rest, agents: [agents].flat() })
  } catch (error) {
    await afterClose?.()
    throw error
  }
  return runServer(server, {
    port,
    host,
    signals,
    ...(!allowUnauthenticated && { openRefusal }),
    ...(afterClose && { afterClose }),
    ...(clock && { clock }),
    ...(logger !== undefined && { logger }),
  })
}

/**
 * Starts a server that `createServer` made; `serve` does both. It listens, takes up what an earlier process left in the
 * store, and stops on a signal if asked to. Where one of these fails, nothing stays open.
 * @throws Error that says what to do when the port is taken or not allowed, or `openRefusal`.
 */
export async function runServer(server: Server, options: RunServerOptions): Promise<StartedServer> {
  checkArgument('runServer', 'the server', server, 'object')
  checkOptions('runServer', options, runOptions)
  const { clock = systemClock, openRefusal } = options
  const logger = toLogger(options.logger)
  let listening: Promise<Listening> | undefined
  const end = new ServerEnd(async () => {
    const open = await listening?.catch(() => undefined)
    await (open ?? server).close()
  }, options)
  const stopped = end.stopped.promise
  const close = (): Promise<void> => end.close()
  // Before anything is open or resumed: a signal without a handler ends the process, and that counts as a crash.
  if (options.signals) stopOnSignals({ stopped, close }, { logger, clock })
  try {
    if (openRefusal !== undefined && isExposed(server, options)) throw new Error(openRefusal)
    listening = bind(server, options)
    const { host, port, url } = await listening
    const recovery = await server.recover().catch((error) => {
      if (!end.isClosing) throw error
      return { resumed: 0, failed: 0 }
    })
    return { host, port, url, server, recovery, stopped, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Whether anyone on the network may use a server that listens there. */
function isExposed({ open }: Server, { host = anyHost }: ListenOptions): boolean {
  return open && !isLoopback(host)
}

const anyHost = '0.0.0.0'

/** The end of a server, which comes once: by a signal, by its program, or because it cannot start. */
class ServerEnd {
  readonly stopped = createDeferred<void>()
  readonly #closeServer: () => Promise<void>
  readonly #options: RunServerOptions
  #closing: Promise<void> | undefined

  constructor(closeServer: () => Promise<void>, options: RunServerOptions) {
    this.#closeServer = closeServer
    this.#options = options
  }

  get isClosing(): boolean {
    return this.#closing !== undefined
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    try {
      this.#options.beforeClose?.()
      await this.#closeServer()
      await this.#options.afterClose?.()
      this.stopped.resolve()
    } catch (error) {
      this.stopped.reject(error)
      throw error
    }
  }
}

/** Npm passes each Ctrl-C on a second time; what comes this soon after the first signal is the same one. */
const echoMs = 500

/** A first signal lets running turns end; a second one, if it is not an echo of the first, ends the process at once. */
function stopOnSignals(
  { close, stopped }: Pick<StartedServer, 'close' | 'stopped'>,
  { logger, clock }: { readonly logger: Logger; readonly clock: Clock },
): void {
  let callOff: (() => void) | undefined
  let armed = false
  const onSignal = (signal: NodeJS.Signals): void => {
    if (armed) process.exit(signal === 'SIGINT' ? 130 : 143)
    if (callOff) return
    logger.info({ signal }, 'Stopping; tasks that run may end')
    callOff = clock.after(echoMs, () => {
      armed = true
      logger.info({}, 'Tasks still run; another signal ends at once')
    })
    close().catch((err) => logger.error({ err }, 'The server could not shut down'))
  }
  const leave = (): void => {
    callOff?.()
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
  stopped.then(leave, leave)
}

/** Where a server listens. */
export interface ListenOptions {
  /** 0 takes any free one. */
  readonly port: number
  /** All interfaces if absent. */
  readonly host?: string
  /** The same as the server's `limits.maxBodyBytes`. */
  readonly maxBodyBytes?: number
  /** Where warnings and errors go; stderr if absent, nowhere where it is `false`. */
  readonly logger?: Logger | false
  /** The warning that is logged where anyone on the network may call; a general one if absent. */
  readonly openWarning?: string
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
}

/** A server that listens. */
export interface Listening {
  readonly port: number
  readonly host: string
  /** Where clients reach the server: its public URL, or this machine's. */
  readonly url: string
  /** Stops accepting, lets running turns end, ends open connections. May be called twice. */
  close(): Promise<void>
}

/** A head has 16 KiB and 30 s, a whole request 300 s; a connection without one is kept for 65 s after its last. */
const httpOptions = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 30_000,
  requestTimeout: 300_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5_000,
}

const maxHeadersCount = 200

/**
 * Binds a server to a port through `node:http`, and warns where anyone on the network may use it. Bound to loopback, it
 * refuses foreign pages of this machine's browser, unless the server's `cors` lets them in.
 * @throws Error that says what to do when the port is taken or not allowed.
 */
export async function listen(server: Server, options: ListenOptions): Promise<Listening> {
  checkArgument('listen', 'the server', server, 'object')
  checkOptions('listen', options, listenOptions)
  return bind(server, options)
}

async function bind(server: Server, options: ListenOptions): Promise<Listening> {
  const { host = anyHost, port, clock = systemClock } = options
  const { openWarning = 'Anyone who reaches this server may use it' } = options
  const logger = toLogger(options.logger)
  const { maxConnections } = server.intake.limits
  const http = createHttpServer(httpOptions)
  http.maxHeadersCount = maxHeadersCount
  await new Promise<void>((resolve, reject) => {
    http.once('error', (error) => reject(explain(error, host, port)))
    http.listen({ port, host, backlog: Math.max(511, maxConnections) }, resolve)
  })
  // A server that listens on TCP has an address with a port.
  const address = http.address() as AddressInfo
  const handle = isLoopback(address.address) ? server.localHandle(host) : server.handle
  const adapter = createNodeAdapter(handle, { ...options, intake: server.intake, logger, clock })
  http.on('request', adapter.request)
  http.on('connection', adapter.connection).on('checkContinue', adapter.checkContinue)
  const name = host === '0.0.0.0' || host === '::' || host === '127.0.0.1' ? 'localhost' : host
  server.setUrl(`http://${name.includes(':') ? `[${name}]` : name}:${address.port}`)
  if (isExposed(server, options)) logger.warn({ host, url: server.url() }, openWarning)
  let closing: Promise<void> | undefined
  return {
    port: address.port,
    host,
    url: server.url(),
    close() {
      closing ??= (async () => {
        const ended = new Promise<void>((resolve) => http.close(() => resolve()))
        http.closeIdleConnections()
        await server.close()
        await letGo(http, ended, clock)
      })()
      return closing
    },
  }
}

/** Lets the last words of replies and streams go out; a client that does not take them is cut off. */
async function letGo(http: HttpServer, ended: Promise<void>, clock: Clock): Promise<void> {
  // A connection that has just been answered is kept alive for the next request: nobody else ends it.
  let callOff = (): void => {}
  const closeIdle = (): void => {
    http.closeIdleConnections()
    callOff = clock.after(idleCheckMs, closeIdle)
  }
  closeIdle()
  const callOffLate = clock.after(lastWordsMs, () => http.closeAllConnections())
  await ended
  callOff()
  callOffLate()
}

const idleCheckMs = 10

const lastWordsMs = 1_000

function explain(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === 'EADDRINUSE')
    return new Error(`Port ${port} on ${host} is already in use; choose another with --port`, {
      cause: error,
    })
  if (error.code === 'EACCES')
    return new Error(`Port ${port} on ${host} needs more rights; choose one above 1023`, {
      cause: error,
    })
  return new Error(`Cannot listen on ${host}:${port}: ${error.code ?? error.message}`, {
    cause: error,
  })
}
