import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { createServer, type ServerOptions, toNodeHandler } from '../../src/server/index.ts'
import { silent } from '../../src/shared/log.ts'
import { createScriptedAgent } from '../conformance/agent.ts'

/** A server whose own ends of the connections can be looked at. */
export interface Observed {
  readonly port: number
  readonly url: string
  /** The server's ends, in the order of their coming. */
  readonly sockets: readonly Socket[]
  /** What the server has answered, as far as somebody still has it. */
  readonly responses: readonly WeakRef<ServerResponse>[]
}

/** Serves the scripted agent, or those of the options, through `toNodeHandler`. */
export async function observe(options: Partial<ServerOptions> = {}): Promise<Observed> {
  const agents = [createScriptedAgent()]
  const server = await createServer({ agents, timeouts: { shutdownMs: 0 }, ...options })
  const { clock } = options
  const handler = { intake: server.intake, logger: silent, ...(clock && { clock }) }
  const http = createHttpServer(toNodeHandler(server.handle, handler))
  const sockets: Socket[] = []
  const responses: WeakRef<ServerResponse>[] = []
  http.on('connection', (socket) => sockets.push(socket))
  http.on('request', (_, response) => responses.push(new WeakRef(response)))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    http.closeAllConnections()
    http.close()
    await server.close()
  })
  const { port } = http.address() as AddressInfo // a listening TCP server has one
  return { port, url: `http://127.0.0.1:${port}`, sockets, responses }
}

/** A client that writes what it is told and keeps what it gets. */
export interface RawClient {
  readonly socket: Socket
  /** Resolves with all that has come, once that contains a text or the server has closed. */
  until(text: string): Promise<string>
  /** Resolves with the first reply that tells its length, once it is whole, or with what came until the server closed. */
  reply(): Promise<string>
  /** Resolves with all that has come when the server has closed. */
  closed(): Promise<string>
  /** Writes chunk after chunk, as fast as they are taken, until the server answers or closes; the number of bytes. */
  pour(chunk: Uint8Array, count: number): Promise<number>
}

/** Opens a connection. */
export function openClient(port: number, localAddress = '127.0.0.1'): Promise<RawClient> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress }, () => resolve(client))
    let received = ''
    /** The end of it: to search all of many megabytes at each piece takes longer than to send them. */
    let recent = ''
    let isClosed = false
    const waiting = new Set<() => void>()
    const wake = (): void => {
      for (const look of [...waiting]) look()
    }
    const when = (condition: () => boolean): Promise<string> =>
      new Promise((done) => {
        const look = (): void => {
          if (!condition() && !isClosed) return
          waiting.delete(look)
          done(received)
        }
        waiting.add(look)
        look()
      })
    socket.setEncoding('latin1').on('data', (text) => {
      received += text
      recent = recent.slice(-1_024) + text
      wake()
    })
    socket.on('error', reject).on('close', () => {
      isClosed = true
      wake()
    })
    socket.on('drain', wake)
    onTestFinished(() => void socket.destroy())
    const client: RawClient = {
      socket,
      until: (text) => {
        let searched = received
        return when(() => {
          const isThere = searched.includes(text) || recent.includes(text)
          searched = ''
          return isThere
        })
      },
      reply: () => when(() => isWhole(received)),
      closed: () => when(() => false),
      async pour(chunk, count) {
        let sent = 0
        for (; sent < count && received === '' && !isClosed; sent++)
          if (!socket.write(chunk)) await when(() => socket.writableLength === 0 || received !== '')
        return sent * chunk.length
      },
    }
  })
}

function isWhole(reply: string): boolean {
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(reply)?.[1]
  const start = reply.indexOf('\r\n\r\n')
  return length !== undefined && start > 0 && reply.length >= start + 4 + Number(length)
}

/** The head of a JSON request over HTTP. */
export function head(lines: Readonly<Record<string, string | number>>, target = '/'): string {
  const all = {
    host: 'localhost',
    'content-type': 'application/json',
    'a2a-version': '1.0',
    ...lines,
  }
  const text = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${target} HTTP/1.1\r\n${text.join('')}\r\n`
}

/** Bytes as a chunk of a body that does not tell its length. */
export function toChunk(bytes: string): string {
  return `${Buffer.byteLength(bytes).toString(16)}\r\n${bytes}\r\n`
}

/** The JSON that a raw reply ends with. */
export function bodyOf(reply: string): unknown {
  return JSON.parse(reply.slice(reply.indexOf('\r\n\r\n') + 4))
}
