import { createServer as createHttpServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Clock, systemClock } from '../shared/clock.ts'
import { type Logger, toLogger } from '../shared/log.ts'
import { toNodeHandler } from './node-handler.ts'
import type { Server } from './server.ts'

/** Where a server listens. */
export interface ListenOptions {
  /** 0 takes any free port. */
  readonly port: number
  /** All interfaces if absent. */
  readonly host?: string
  /** Larger bodies are refused with 413; 10 MiB if absent. */
  readonly maxBodyBytes?: number
  /** Where warnings and errors go; stderr if absent, nowhere where it is `false`. */
  readonly logger?: Logger | false
  readonly clock?: Clock
}

/** A server that listens. */
export interface Listening {
  readonly port: number
  readonly host: string
  /** The server's base URL: its public one, or this machine's. */
  readonly url: string
  /** Stops accepting, closes the server, ends open connections. Idempotent. */
  close(): Promise<void>
}

/**
 * Binds a server to a port through `node:http`.
 * @throws Error that says what to do when the port is taken or not allowed.
 */
export async function listen(server: Server, options: ListenOptions): Promise<Listening> {
  const { host = '0.0.0.0', port, maxBodyBytes = 10 * 1024 * 1024, clock = systemClock } = options
  const logger = toLogger(options.logger)
  const handle = toNodeHandler(server.handle, { maxBodyBytes, logger })
  const http = createHttpServer({ keepAliveTimeout: 65_000, requestTimeout: 300_000 }, handle)
  await new Promise<void>((resolve, reject) => {
    http.once('error', (error) => reject(explain(error, host, port)))
    http.listen(port, host, resolve)
  })
  // A server that listens on TCP has an address with a port.
  const address = http.address() as AddressInfo
  const name = host === '0.0.0.0' || host === '::' || host === '127.0.0.1' ? 'localhost' : host
  server.setUrl(`http://${name.includes(':') ? `[${name}]` : name}:${address.port}`)
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
