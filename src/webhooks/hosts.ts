import type { Deferred } from '../shared/async.ts'

/** To whom a delivery goes, and for whom. */
export interface Addressee {
  /** Who owns the task: a principal's receivers hold up nobody else's. */
  readonly principal: string
  readonly host: string
}

/** Gives a place back, with what the host did with it: it loses places by timeouts and gains them by answers. */
export type FreePlace = (outcome?: 'answered' | 'timeout') => void

/** A host that a principal's deliveries go to. */
export interface Host {
  readonly name: string
  readonly principal: Principal
  running: number
  /** How many may run at once; fewer than `perHost` where it was slow. */
  limit: number
  readonly waiting: Set<Deferred<FreePlace>>
}

/** Whose deliveries they are. */
export interface Principal {
  readonly name: string
  running: number
  readonly hosts: Map<string, Host>
  /** Hosts with waiters, in the order of their turns. */
  readonly waiting: Set<Host>
}

/** The hosts that deliveries run at or wait for, and those that were slow. */
interface Hosts {
  /** The host of an addressee, made where it is not known. */
  find(addressee: Addressee): Host
  /** Forgets a host to which nothing goes any more; a slow one later than others. */
  rest(host: Host): void
}

/** How many slow hosts are remembered while nothing goes there; a forgotten one begins anew. */
const maxRemembered = 10_000

/** Makes the set of hosts, empty. */
export function createHosts(perHost: number): Hosts {
  const principals = new Map<string, Principal>()
  /** Slow hosts to which nothing goes now, the oldest first. */
  const slow = new Set<Host>()

  function forget(host: Host): void {
    const { principal } = host
    slow.delete(host)
    principal.hosts.delete(host.name)
    if (principal.hosts.size === 0) principals.delete(principal.name)
  }

  return {
    find({ principal: owner, host: name }) {
      const principal = principals.get(owner) ?? newPrincipal(owner)
      principals.set(owner, principal)
      const host = principal.hosts.get(name) ?? newHost(name, principal, perHost)
      principal.hosts.set(name, host)
      slow.delete(host)
      return host
    },
    rest(host) {
      if (host.running > 0 || host.waiting.size > 0) return
      if (host.limit < perHost) slow.add(host)
      else forget(host)
      const [oldest] = slow
      if (oldest && slow.size > maxRemembered) forget(oldest)
    },
  }
}

function newPrincipal(name: string): Principal {
  return { name, running: 0, hosts: new Map(), waiting: new Set() }
}

function newHost(name: string, principal: Principal, limit: number): Host {
  return { name, principal, running: 0, limit, waiting: new Set() }
}
