import { createDeferred } from '../shared/async.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { type Logger, toLogger } from '../shared/log.ts'
import { type Listening, type ListenOptions, listen } from './node.ts'
import type { Server } from './server.ts'

/** How a server runs. */
export interface RunServerOptions extends ListenOptions {
  /** Whether SIGINT and SIGTERM stop it; they do not if absent. */
  readonly signals?: boolean
  /** What is said where anyone on the network may call. */
  readonly openWarning?: string
  /** Called before the server closes, and where it cannot start: ends what would still change it. */
  readonly beforeClose?: () => void
  /** Called when the server is closed, and where it cannot start: closes what it was made of. */
  readonly afterClose?: () => Promise<void>
}

/** A server that runs. Its `close` stops it gracefully: no more messages, running turns end, streams close. */
export interface StartedServer extends Listening {
  readonly server: Server
  /** What an earlier process had left. */
  readonly recovery: Awaited<ReturnType<Server['recover']>>
  /** Resolves when the server has been closed, by whomever. */
  readonly stopped: Promise<void>
}

/**
 * The one way to start a server: it listens, takes up what an earlier process left in the store, warns where anyone may
 * call, and stops on a signal if asked to. Where one of these fails, nothing stays open.
 * @throws Error that says what to do when the port is taken or not allowed.
 */
export async function runServer(server: Server, options: RunServerOptions): Promise<StartedServer> {
  const { clock = systemClock, openWarning = 'Anyone who reaches this server may use it' } = options
  const logger = toLogger(options.logger)
  let closeServer = (): Promise<void> => server.close()
  const end = createEnd(() => closeServer(), options)
  try {
    const { host, port, url, close } = await listen(server, options)
    closeServer = close
    const recovery = await server.recover()
    const started = { host, port, url, server, recovery, ...end }
    if (options.signals) stopOnSignals(started, { logger, clock })
    if (server.open && !isLoopback(host)) logger.warn({ host, url }, openWarning)
    return started
  } catch (error) {
    await end.close()
    throw error
  }
}

/** Whether only this machine can reach a host. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

function createEnd(
  closeServer: () => Promise<void>,
  { beforeClose, afterClose }: RunServerOptions,
): Pick<StartedServer, 'close' | 'stopped'> {
  const stopped = createDeferred<void>()
  let closing: Promise<void> | undefined
  async function close(): Promise<void> {
    try {
      beforeClose?.()
      await closeServer()
      await afterClose?.()
      stopped.resolve()
    } catch (error) {
      stopped.reject(error)
      throw error
    }
  }
  return {
    stopped: stopped.promise,
    close() {
      closing ??= close()
      return closing
    },
  }
}

/** Npm passes each Ctrl-C on a second time; what comes this soon after the first signal is the same one. */
const echoMs = 500

/** A first signal lets running turns end; a second one, if it is not an echo of the first, ends the process at once. */
function stopOnSignals(
  { close, stopped }: StartedServer,
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
