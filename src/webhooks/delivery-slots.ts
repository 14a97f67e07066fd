import { createDeferred, type Deferred } from '../shared/async.ts'
import type { Store } from '../store/store.ts'

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

/** Where a delivery goes, and for which principal. */
interface Addressee {
  /** The owner of the task: the receivers of one principal do not hold up those of another. */
  readonly principal: string
  readonly host: string
}

/** Gives a place back, with what the host did with it: it loses places by timeouts and gains them by answers. */
export type FreePlace = (outcome?: 'answered' | 'timeout') => void

/** A host that a principal's deliveries go to. */
interface DeliveryHost {
  readonly name: string
  readonly principal: DeliveryPrincipal
  running: number
  /** How many may run at once; fewer than `perHost` where it was slow. */
  limit: number
  readonly waiting: Set<Deferred<FreePlace>>
}

/** The principal that deliveries are counted for. */
interface DeliveryPrincipal {
  readonly name: string
  running: number
  readonly hosts: Map<string, DeliveryHost>
  /** Hosts with waiters, in the order of their turns. */
  readonly waiting: Set<DeliveryHost>
}

/**
 * Lets a limited number of deliveries run at once, shared between principals, then between their hosts. A principal may
 * hold as many places as are left free beside it: half of them where it is alone, half of the rest where another holds its
 * share, so that there is a place for one that has none. An attempt cannot be taken back before its timeout, hence the
 * rule holds also while no other principal waits.
 */
export class Slots {
  readonly #limits: SlotLimits
  readonly #hosts: DeliveryHosts
  /** Principals with waiters, in the order of their turns. */
  readonly #waiting = new Set<DeliveryPrincipal>()
  #running = 0

  constructor(limits: SlotLimits) {
    this.#limits = limits
    this.#hosts = new DeliveryHosts(limits.perHost)
  }

  /**
   * Waits for a place; call what it gives back to free it, once. Principals take turns, and so do the hosts of each;
   * the waiters of one host are served in order.
   * Rejects with the signal's reason when the signal fires first.
   */
  async take(addressee: Addressee, signal: AbortSignal): Promise<FreePlace> {
    signal.throwIfAborted()
    const host = this.#hosts.find(addressee)
    const place = createDeferred<FreePlace>()
    host.waiting.add(place)
    host.principal.waiting.add(host)
    this.#waiting.add(host.principal)
    const giveUp = (): void => {
      if (!this.#leave(host, place)) return
      this.#hosts.rest(host)
      place.reject(signal.reason)
    }
    signal.addEventListener('abort', giveUp, { once: true })
    this.#serve()
    try {
      return await place.promise
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
  }

  /** One place came free, or one waiter came: at most one can be served. A principal that is passed over has places. */
  #serve(): void {
    const { total, perHost, replicas = () => 1 } = this.#limits
    if (this.#running >= total) return
    for (const principal of this.#waiting) {
      if (principal.running >= total - this.#running) continue
      for (const host of principal.waiting) {
        const [next] = host.waiting
        // A host is one for all replicas: each has its part of the host's places, and one at least.
        const share = Math.max(1, Math.floor(perHost / replicas()))
        if (!next || host.running >= Math.min(host.limit, share)) continue
        this.#start(host, next)
        return
      }
    }
  }

  #start(host: DeliveryHost, next: Deferred<FreePlace>): void {
    const { principal } = host
    host.running++
    principal.running++
    this.#running++
    this.#leave(host, next)
    // To the end: the others come first now.
    if (principal.waiting.delete(host)) principal.waiting.add(host)
    if (this.#waiting.delete(principal)) this.#waiting.add(principal)
    let done = false
    next.resolve((outcome) => {
      if (done) return
      done = true
      this.#free(host, outcome)
    })
  }

  #free(host: DeliveryHost, outcome?: 'answered' | 'timeout'): void {
    host.running--
    host.principal.running--
    this.#running--
    if (outcome === 'timeout') host.limit = Math.max(1, host.limit >> 1)
    else if (outcome === 'answered') host.limit = Math.min(this.#limits.perHost, host.limit + 1)
    this.#hosts.rest(host)
    this.#serve()
    if (outcome === 'answered') this.#serve() // it may have gained one
  }

  /** Ends the wait of one; false where it has ended. */
  #leave(host: DeliveryHost, place: Deferred<FreePlace>): boolean {
    if (!host.waiting.delete(place)) return false
    const { principal } = host
    if (host.waiting.size === 0) principal.waiting.delete(host)
    if (principal.waiting.size === 0) this.#waiting.delete(principal)
    return true
  }
}

/** How many slow hosts are remembered while nothing goes there; a forgotten one begins anew. */
const maxRemembered = 10_000

/** The hosts that deliveries run at or wait for, and those that were slow. */
class DeliveryHosts {
  readonly #perHost: number
  readonly #principals = new Map<string, DeliveryPrincipal>()
  /** Slow hosts to which nothing goes now, the oldest first. */
  readonly #slow = new Set<DeliveryHost>()

  constructor(perHost: number) {
    this.#perHost = perHost
  }

  /** The host of an addressee, made where it is not known. */
  find({ principal: owner, host: name }: Addressee): DeliveryHost {
    let principal = this.#principals.get(owner)
    if (!principal) {
      principal = { name: owner, running: 0, hosts: new Map(), waiting: new Set() }
      this.#principals.set(owner, principal)
    }
    let host = principal.hosts.get(name)
    if (!host) {
      host = { name, principal, running: 0, limit: this.#perHost, waiting: new Set() }
      principal.hosts.set(name, host)
    }
    this.#slow.delete(host)
    return host
  }

  /** Forgets a host to which nothing goes any more; a slow one later than others. */
  rest(host: DeliveryHost): void {
    if (host.running > 0 || host.waiting.size > 0) return
    if (host.limit < this.#perHost) this.#slow.add(host)
    else this.#forget(host)
    const [oldest] = this.#slow
    if (oldest && this.#slow.size > maxRemembered) this.#forget(oldest)
  }

  #forget(host: DeliveryHost): void {
    const { principal } = host
    this.#slow.delete(host)
    principal.hosts.delete(host.name)
    if (principal.hosts.size === 0) this.#principals.delete(principal.name)
  }
}

/** Finds the principal that owns a task: places of its webhooks are counted by this. */
export type PrincipalOf = (taskId: string) => Promise<string>

/** Asks the store once for the owner of a task, which never changes. */
export function createPrincipals(store: Store): PrincipalOf {
  const known = new Map<string, string>()
  return async (taskId) => {
    const remembered = known.get(taskId)
    if (remembered !== undefined) return remembered
    const stored = await store.get(taskId, undefined, { light: true })
    if (!stored) return ''
    known.set(taskId, stored.head.scope.owner)
    const [oldest = ''] = known.keys()
    if (known.size > maxRemembered) known.delete(oldest)
    return stored.head.scope.owner
  }
}
