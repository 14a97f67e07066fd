import { createDeferred, type Deferred } from '../shared/async.ts'

/** Lets a limited number of deliveries run at once, in all and per host. */
export interface Slots {
  /**
   * Waits for a place; call what it gives back to free it. Hosts take turns, and the waiters of one host are served in
   * order, so a host with a long queue holds up nobody else.
   * Rejects with the signal's reason when the signal fires first.
   */
  take(host: string, signal: AbortSignal): Promise<() => void>
}

/** How many may run at once. */
export interface SlotLimits {
  readonly total: number
  readonly perHost: number
}

interface Host {
  running: number
  readonly waiting: Set<Deferred<() => void>>
}

/** Makes the places. A host is remembered only while somebody runs or waits there. */
export function createSlots({ total, perHost }: SlotLimits): Slots {
  const hosts = new Map<string, Host>()
  let running = 0

  /** One place came free, or one waiter came: at most one can be served. */
  function serve(): void {
    if (running >= total) return
    for (const [name, host] of hosts) {
      const [next] = host.waiting
      if (!next || host.running >= perHost) continue
      start(name, host, next)
      return
    }
  }

  function start(name: string, host: Host, next: Deferred<() => void>): void {
    host.waiting.delete(next)
    host.running++
    running++
    hosts.delete(name) // To the end of the map: the other hosts come first now.
    hosts.set(name, host)
    next.resolve(once(() => free(name, host)))
  }

  function free(name: string, host: Host): void {
    host.running--
    running--
    forget(name, host)
    serve()
  }

  function forget(name: string, host: Host): void {
    if (host.running === 0 && host.waiting.size === 0) hosts.delete(name)
  }

  return {
    async take(name, signal) {
      signal.throwIfAborted()
      const host = hosts.get(name) ?? { running: 0, waiting: new Set() }
      hosts.set(name, host)
      const place = createDeferred<() => void>()
      host.waiting.add(place)
      const leave = (): void => {
        if (!host.waiting.delete(place)) return
        forget(name, host)
        place.reject(signal.reason)
      }
      signal.addEventListener('abort', leave, { once: true })
      serve()
      try {
        return await place.promise
      } finally {
        signal.removeEventListener('abort', leave)
      }
    },
  }
}

function once(action: () => void): () => void {
  let done = false
  return () => {
    if (done) return
    done = true
    action()
  }
}
