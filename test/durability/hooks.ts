import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Random } from './random.ts'

/** What one webhook has got. */
export interface Arrivals {
  /** The sequence numbers in the order in which each came first. */
  readonly first: number[]
  /** Those that were answered with success. */
  readonly accepted: Set<number>
  /** All requests, repetitions included. */
  requests: number
}

/** A receiver of webhooks that now and then fails, or does not answer at all. */
export interface Hooks {
  /** The URL of a webhook of this name. */
  url(name: string): string
  readonly arrivals: ReadonlyMap<string, Arrivals>
  close(): Promise<void>
}

/** Opens a receiver; `heard` is told of every request, by the webhook's name. */
export async function createHooks(random: Random, heard: (name: string) => void): Promise<Hooks> {
  const arrivals = new Map<string, Arrivals>()
  const server = createServer((request, response) => {
    request.resume()
    const name = (request.url ?? '').slice(1)
    const got = arrivalsOf(arrivals, name)
    const seq = Number(String(request.headers['x-a2a-event-id']).split(':').at(-1))
    got.requests++
    if (!got.first.includes(seq)) got.first.push(seq)
    heard(name)
    const mood = random.next()
    if (mood < 0.01) return // hangs until the sender gives up
    if (mood >= 0.1) got.accepted.add(seq)
    response.writeHead(mood < 0.1 ? 503 : 204).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // it listens on a port
  return {
    url: (name) => `http://127.0.0.1:${port}/${name}`,
    arrivals,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function arrivalsOf(all: Map<string, Arrivals>, name: string): Arrivals {
  const known = all.get(name)
  if (known) return known
  const fresh: Arrivals = { first: [], accepted: new Set(), requests: 0 }
  all.set(name, fresh)
  return fresh
}
