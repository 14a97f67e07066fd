/**
 * Makes a process deterministic. Import it before anything of a build: time moves by one second with each HTTP request
 * that arrives at the served port, ids grow in the order in which they are made, and chance is constant. Ids that grow keep lists in the same
 * order on both sides even where one build draws an id more than the other. Node's own timers stay real.
 *
 * `STILL_GENERATION` says how often the process has been started on the same store: ids and times of a later generation come
 * after those of an earlier one. With `STILL_CLOCK=real` time is the machine's: leases of PostgreSQL go by it.
 */
import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'

/** Requests to paths below this one are the harness's own: time does not move for them. */
export const controlPath = '/_still/'

const generation = Number(process.env.STILL_GENERATION ?? 0)
const start = Date.parse('2026-01-01T00:00:00Z')
const RealDate = Date
const isReal = process.env.STILL_CLOCK === 'real'
const realElapsed = performance.now.bind(performance)
const realAfter = setTimeout
let now = start + generation * 86_400_000
let drawn = 0

/** Waits of the clock that are longer than this are shorter than they claim, by a factor. */
const longMs = 2_000
const speed = 10

/** The clock to give to servers, teams and agents: the time of this file, and waits that are over soon. */
export const clock = {
  now: (): number => (isReal ? RealDate.now() : now),
  elapsed: (): number => (isReal ? realElapsed() : now - start),
  after(ms: number, callback: () => void): () => void {
    // Node fires a timer that is longer than this at once.
    const timer = realAfter(
      callback,
      Math.min(ms > longMs && !isReal ? ms / speed : ms, 2 ** 31 - 1),
    )
    return () => clearTimeout(timer)
  },
}

const ticking = new Set<number>()

/** Lets time move with the requests that arrive at a port; those of other servers in the process do not count. */
export function tickOn(port: number): void {
  ticking.add(port)
}

subscribe('http.server.request.start', (message) => {
  const { request } = message as { readonly request: IncomingMessage } // as Node's documentation of the channel says
  const { url, socket } = request
  if (ticking.has(socket.localPort ?? 0) && !url?.startsWith(controlPath)) now += 1_000
})

class StillDate extends RealDate {
  constructor(...args: readonly unknown[]) {
    super(...((args.length === 0 ? [now] : args) as [number])) // all forms of Date's arguments
  }

  static override now(): number {
    return now
  }
}

/** Sixteen bytes at a time: a counter first, so that later ids are greater, then digits that follow from it. */
function fill(bytes: Uint8Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = 0; at < bytes.length; at += 16) {
    drawn++
    for (let i = at; i < Math.min(at + 16, bytes.length); i++)
      bytes[i] = (drawn * 31 + i * 17) & 255
    if (bytes.length - at >= 4) view.setUint32(at, generation * 2 ** 24 + drawn)
  }
}

function getRandomValues<T extends ArrayBufferView>(array: T): T {
  fill(new Uint8Array(array.buffer, array.byteOffset, array.byteLength))
  return array
}

function randomUUID(): string {
  const bytes = new Uint8Array(16)
  fill(bytes)
  const hex = Buffer.from(bytes).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
}

if (!isReal) {
  Object.defineProperty(globalThis, 'Date', {
    value: StillDate,
    writable: true,
    configurable: true,
  })
  Object.defineProperty(performance, 'now', { value: () => now - start })
}
Object.defineProperty(globalThis.crypto, 'getRandomValues', { value: getRandomValues })
Object.defineProperty(globalThis.crypto, 'randomUUID', { value: randomUUID })
Math.random = () => 0.5
