import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request that a webhook receiver got. */
export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly url: string
  readonly body: string
}

/** A real webhook receiver on a port of its own. */
export interface Receiver {
  readonly url: string
  readonly port: number
  readonly requests: Received[]
  /** How many connections senders have opened. */
  readonly connections: number
  /** How it answers; 200 until it is changed. */
  answer: (request: Received, response: ServerResponse) => void
  /** Resolves when so many requests have come in all. */
  received(count: number): Promise<readonly Received[]>
  close(): Promise<void>
}

/** Opens a receiver; on a given port after a restart. */
export async function createReceiver(port = 0): Promise<Receiver> {
  const requests: Received[] = []
  const waiting = new Set<() => void>()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const received = { headers: request.headers, url: request.url ?? '', body }
    requests.push(received)
    receiver.answer(received, response)
    for (const wake of waiting) wake()
  })
  let connections = 0
  server.on('connection', () => connections++)
  await listen(server, port)
  const address = server.address() as AddressInfo // it listens on a port
  const receiver: Receiver = {
    url: `http://127.0.0.1:${address.port}/hook`,
    port: address.port,
    requests,
    get connections() {
      return connections
    },
    answer: (_request, response) => void response.end(),
    async received(count) {
      while (requests.length < count)
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            waiting.delete(wake)
            resolve()
          }
          waiting.add(wake)
        })
      return requests
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return receiver
}

/** Listens; a port that was ours may be lent to an outgoing connection for a moment. */
async function listen(server: Server, port: number): Promise<void> {
  for (;;) {
    const fault = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
      server.once('error', resolve)
      server.listen(port, '127.0.0.1', () => {
        server.off('error', resolve)
        resolve(undefined)
      })
    })
    if (!fault) return
    if (fault.code !== 'EADDRINUSE') throw fault
    await new Promise((resolve) => setImmediate(resolve))
  }
}
