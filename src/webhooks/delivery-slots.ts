import { createDeferred, type Deferred } from '../shared/async.ts'
import { FairQueue } from '../shared/fair-share.ts'
import type { Store } from '../store/store.ts'

/** How many deliveries are attempted at once. */
export interface DeliveryLimits {
  /** In all, half of them for one principal alone; 64 if absent. */
  readonly total?: number
  /** To one host, for one principal; 8 if absent. */
  readonly perHost?: number
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
  /** Deliveries that run or wait. */
  pending: number
  /** How many may run at once; fewer than `perHost` where it was slow. */
  limit: number
}

/** The principal that deliveries are counted for. */
interface DeliveryPrincipal {
  readonly name: string
  running: number
  readonly hosts: Map<string, DeliveryHost>
}

/** A delivery that waits for a place. */
interface WaitingDelivery {
  readonly host: DeliveryHost
  readonly place: Deferred<FreePlace>
}

/**
 * Lets a limited number of deliveries run at once, shared between principals, then between their hosts. A principal may
 * hold as many places as are left free beside it: half of them where it is alone, half of the rest where another holds its
 * share, so that there is a place for one that has none. An attempt cannot be taken back before its timeout, hence the
 * rule holds also while no other principal waits.
 */
export class Slots {
  readonly #limits: Required<DeliveryLimits>
  readonly #replicas: () => number
  readonly #hosts: DeliveryHosts
  readonly #waiting = new FairQueue<WaitingDelivery, DeliveryPrincipal, DeliveryHost>()
  #running = 0

  /** @param replicas How many replicas live, which share the places of a host. */
  constructor(limits: Required<DeliveryLimits>, replicas: () => number = () => 1) {
    this.#limits = limits
    this.#replicas = replicas
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
    const delivery = { host, place }
    host.pending++
    this.#waiting.add(delivery, host.principal, host)
    const giveUp = (): void => {
      if (!this.#waiting.remove(delivery, host.principal, host)) return
      this.#hosts.leave(host)
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
    const free = this.#limits.total - this.#running
    if (free <= 0) return
    // A host is one for all replicas: each has its part of the host's places, and one at least.
    const perHost = Math.max(1, Math.floor(this.#limits.perHost / this.#replicas()))
    const next = this.#waiting.take(
      (principal) => principal.running < free,
      (host) => host !== undefined && host.running < Math.min(host.limit, perHost),
    )
    if (next) this.#start(next)
  }

  #start({ host, place }: WaitingDelivery): void {
    host.running++
    host.principal.running++
    this.#running++
    let done = false
    place.resolve((outcome) => {
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
    this.#hosts.leave(host)
    this.#serve()
    if (outcome === 'answered') this.#serve() // it may have gained one
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
      principal = { name: owner, running: 0, hosts: new Map() }
      this.#principals.set(owner, principal)
    }
    let host = principal.hosts.get(name)
    if (!host) {
      host = { name, principal, running: 0, pending: 0, limit: this.#perHost }
      principal.hosts.set(name, host)
    }
    this.#slow.delete(host)
    return host
  }

  /** A delivery is over, or given up. A host to which nothing goes any more is forgotten, a slow one later than others. */
  leave(host: DeliveryHost): void {
    if (--host.pending > 0) return
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
