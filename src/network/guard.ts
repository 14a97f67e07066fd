import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, type Dispatcher } from 'undici'
import { A2AError } from '../protocol/errors.ts'
import { createAllowList } from './allow-list.ts'
import { checkedConnector } from './connect.ts'
import { createRules, type Rules } from './rules.ts'
import { type Target, toTarget, urlFault } from './url.ts'

/** Keeps requests to URLs that peers name away from this machine and its network (specification §13.2, §14.1.1). */
export interface Guard {
  /**
   * Checks what a URL says: length, scheme, credentials, port, host. What its name resolves to is checked when it is
   * dialled.
   * @param field The request's field that holds the URL, for the error.
   * @throws A2AError `invalidParams` that names the field and not what lies behind the address.
   */
  check(url: string, field?: string): void
  /**
   * Checks a URL that somebody else will call for us, with the addresses that its name has now.
   * @throws A2AError as `check` does, and where the name has no address.
   */
  resolve(url: string, field?: string): Promise<void>
  /** What every connection is judged by, for a client that connects itself. */
  readonly rules: Rules
  /** Connects for undici, under the rules. */
  readonly dispatcher: Dispatcher
  /** Closes the connections; requests in flight fail. May be called twice. */
  close(): Promise<void>
}

/** Which addresses may be reached beyond https to public ones. */
export interface GuardOptions {
  /**
   * Hosts (`hooks.internal`, `10.0.0.7:8080`, `[::1]:80`), ranges (`10.0.0.0/8`), or `*` for everything.
   * A range opens addresses, not internal names.
   */
  readonly allow?: readonly string[]
  /** Whether `http:` URLs are allowed; they are not by default. */
  readonly allowHttp?: boolean
  /** How names are resolved; the system's way by default. */
  readonly lookup?: LookupFunction
}

/** Makes a guard. */
export function createGuard(options: GuardOptions = {}): Guard {
  const { allowHttp = false, lookup } = options
  const rules = createRules({ allow: createAllowList(options.allow ?? []), allowHttp, lookup })
  const refusal = (reason: string): A2AError => refused('url', reason)
  let connections: Agent | undefined

  function check(url: string, field = 'url'): Target {
    const fault = urlFault(url)
    const target = fault === undefined ? toTarget(url) : undefined
    const reason = target ? rules.refuse(target) : fault
    if (!target || reason !== undefined) throw refused(field, reason ?? 'must be a URL')
    return target
  }

  return {
    check: (url, field) => void check(url, field),
    async resolve(url, field = 'url') {
      const target = check(url, field)
      const named = rules.isNamed(target)
      if (named || isIP(target.host) !== 0) return
      const addresses = await addressesOf(target.host, lookup).catch(() => [])
      if (addresses.length === 0) throw refused(field, 'must name a host that has an address')
      const reason = rules.refuseAddresses({ host: target.host, addresses, named })
      if (reason !== undefined) throw refused(field, reason)
    },
    rules,
    get dispatcher() {
      connections ??= new Agent({ connect: checkedConnector({ rules, refusal }) })
      return connections
    },
    async close() {
      if (connections && !connections.destroyed) await connections.destroy()
    },
  }
}

function addressesOf(
  host: string,
  lookup: LookupFunction = systemLookup,
): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    lookup(host, { all: true }, (error, answer) => {
      if (error) reject(error)
      else resolve(typeof answer === 'string' ? [answer] : answer.map(({ address }) => address))
    })
  })
}

function refused(field: string, description: string): A2AError {
  return new A2AError('invalidParams', `${field} ${description}`, {
    violations: [{ field, description }],
  })
}
