import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A load balancer: each request goes to the next replica, and an answer says by `x-replica` which that was. */
export interface RoundRobin {
  readonly url: string
  close(): Promise<void>
}

/** Told of each request that a replica has got. */
type Forwarded = (replica: number, body: Buffer) => void

/**
 * Opens a load balancer. One that refuses the connection is passed over; where a connection breaks later, so does the
 * caller's, as with any that cannot know whether the request was taken in.
 */
export async function openRoundRobin(
  replicas: readonly (() => string)[],
  forwarded: Forwarded,
): Promise<RoundRobin> {
  let turn = 0
  const next = (): number => turn++ % replicas.length
  const server = createServer((incoming, response) => {
    void buffer(incoming).then(
      (body) => pass({ incoming, body, response, replicas, next, forwarded }, replicas.length),
      () => response.destroy(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // it listens on a port
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

interface Passing {
  readonly incoming: IncomingMessage
  readonly body: Buffer
  readonly response: ServerResponse
  readonly replicas: readonly (() => string)[]
  readonly forwarded: Forwarded
  next(): number
}

function pass(passing: Passing, tries: number): void {
  const { incoming, body, response, replicas, forwarded, next } = passing
  const replica = next()
  const { method, headers } = incoming
  const url = `${replicas[replica]?.()}${incoming.url}`
  const outgoing = request(url, { method, headers, agent: false }, (answer) => {
    const { connection: _, 'transfer-encoding': __, 'keep-alive': ___, ...kept } = answer.headers
    response.writeHead(answer.statusCode ?? 502, { ...kept, 'x-replica': String(replica) })
    response.flushHeaders()
    answer.pipe(response)
    answer.on('error', () => response.destroy())
    answer.on('close', () => void (answer.complete || response.destroy()))
  })
  outgoing.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ECONNREFUSED' && tries > 1) pass(passing, tries - 1)
    else response.destroy()
  })
  response.on('close', () => outgoing.destroy())
  outgoing.end(body, () => forwarded(replica, body))
}
