import { createDeferred, type Deferred } from '../shared/async.ts'
import { type Addressee, createHosts, type FreePlace, type Host, type Principal } from './hosts.ts'

/** Lets a limited number of deliveries run at once, shared between principals, then between their hosts. */
export interface Slots {
  /**
   * Waits for a place; call what it gives back to free it, once. Principals take turns, and so do the hosts of each;
   * the waiters of one host are served in order.
   * Rejects with the signal's reason when the signal fires first.
   */
  take(addressee: Addressee, signal: AbortSignal): Promise<FreePlace>
}

/** How many deliveries are attempted at once. */
export interface DeliveryLimits {
  /** In all, half of them for one principal alone; 64 if absent. */
  readonly total?: number
  /** To one host, for one principal; 8 if absent. */
  readonly perHost?: number
}

/** How many may run at once. */
interface SlotLimits extends Required<DeliveryLimits> {
  /** How many replicas live, which share the places of a host; 1 if absent. */
  replicas?(): number
}

/**
 * Makes the places. A principal may hold as many as are left free beside it: half of them where it is alone, half of
 * the rest where another holds its share, so that there is a place for one that has none. An attempt cannot be taken
 * back before its timeout, hence the rule holds also while nobody else waits.
 */
export function createSlots({ total, perHost, replicas = () => 1 }: SlotLimits): Slots {
  const hosts = createHosts(perHost)
  /** Principals with waiters, in the order of their turns. */
  const waiting = new Set<Principal>()
  let running = 0

  /** One place came free, or one waiter came: at most one can be served. Who is passed over here has places. */
  function serve(): void {
    if (running >= total) return
    for (const principal of waiting) {
      if (principal.running >= total - running) continue
      for (const host of principal.waiting) {
        const [next] = host.waiting
        if (!next || host.running >= Math.min(host.limit, partOf(perHost, replicas()))) continue
        start(host, next)
        return
      }
    }
  }

  function start(host: Host, next: Deferred<FreePlace>): void {
    const { principal } = host
    host.running++
    principal.running++
    running++
    leave(host, next)
    // To the end: the others come first now.
    if (principal.waiting.delete(host)) principal.waiting.add(host)
    if (waiting.delete(principal)) waiting.add(principal)
    let done = false
    next.resolve((outcome) => {
      if (done) return
      done = true
      free(host, outcome)
    })
  }

  function free(host: Host, outcome?: 'answered' | 'timeout'): void {
    host.running--
    host.principal.running--
    running--
    if (outcome === 'timeout') host.limit = Math.max(1, host.limit >> 1)
    else if (outcome === 'answered') host.limit = Math.min(perHost, host.limit + 1)
    hosts.rest(host)
    serve()
    if (outcome === 'answered') serve() // it may have gained one
  }

  /** Ends the wait of one; false where it has ended. */
  function leave(host: Host, place: Deferred<FreePlace>): boolean {
    if (!host.waiting.delete(place)) return false
    const { principal } = host
    if (host.waiting.size === 0) principal.waiting.delete(host)
    if (principal.waiting.size === 0) waiting.delete(principal)
    return true
  }

  return {
    async take(addressee, signal) {
      signal.throwIfAborted()
      const host = hosts.find(addressee)
      const place = createDeferred<FreePlace>()
      host.waiting.add(place)
      host.principal.waiting.add(host)
      waiting.add(host.principal)
      const giveUp = (): void => {
        if (!leave(host, place)) return
        hosts.rest(host)
        place.reject(signal.reason)
      }
      signal.addEventListener('abort', giveUp, { once: true })
      serve()
      try {
        return await place.promise
      } finally {
        signal.removeEventListener('abort', giveUp)
      }
    },
  }
}

/** A host is one for all replicas: each has its part of the host's places, and one at least. */
function partOf(perHost: number, replicas: number): number {
  return Math.max(1, Math.floor(perHost / replicas))
}
