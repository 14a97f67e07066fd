import type { HttpRequest } from '../bindings/http.ts'
import { anonymous, type Call, principalOf } from '../protocol/call.ts'
import { type A2AError, toA2AError } from '../protocol/errors.ts'
import { SharedBudget } from '../shared/budget.ts'
import type { Logger } from '../shared/log.ts'
import { type Auth, openAuth } from './auth.ts'
import { type Limits, resolveLimits } from './limits.ts'
import type { RateLimit } from './rate-limit.ts'
import { createVisitors } from './visitors.ts'

/** What is known of a request before its body is read. */
export type RequestHead = Pick<HttpRequest, 'headers' | 'query' | 'client'> &
  Partial<Pick<HttpRequest, 'path'>>

/** What decides on a request before its body is read. Hand a server's own to `toNodeHandler`. */
export interface Intake {
  /** The server's limits. */
  readonly limits: Limits
  /**
   * The bytes of bodies that are being read, by who sends them.
   * @internal
   */
  readonly budget: SharedBudget
  /**
   * The bytes of large replies that their readers have not taken yet, by client.
   * @internal
   */
  readonly unread: SharedBudget
  /** The client that a request comes from, past the proxies that are trusted; undefined where nobody knows. */
  clientOf(head: RequestHead): string | undefined
  /** Asks who sends a large body, by its head alone: whose share it counts in, or why it is refused. */
  admit(head: RequestHead): string | A2AError | Promise<string | A2AError>
  /** The largest body: what an adapter was given, else the server's. @throws Error where the two were given and differ. */
  maxBodyBytes(given?: number): number
  /**
   * Says once that callers whom nobody knows have no shares, since an adapter does not know their addresses.
   * @internal
   */
  warnOfUnknownClients(): void
}

/** What an intake is made of; without any of it, it lets everybody in within the default limits. */
interface IntakeDeps {
  readonly auth?: Auth
  readonly limit?: RateLimit | undefined
  readonly limits?: Limits
  /** Whether anybody may send to a path, where others ask for credentials, or why nobody may: there is nothing. */
  readonly openTo?: ((path: string) => boolean | A2AError) | undefined
  /** The largest body that the server's options name, where they do. */
  readonly givenMaxBodyBytes?: number | undefined
  readonly logger?: Logger
  /** Whose share a request is taken from; its peer's if absent. */
  readonly clientOf?: (head: RequestHead) => string | undefined
}

/** Makes the intake of a server. */
export function createIntake(deps: IntakeDeps = {}): Intake {
  const { auth = openAuth, limit, limits = resolveLimits(), givenMaxBodyBytes, logger } = deps
  const { clientOf = ({ client }: RequestHead) => client, openTo } = deps
  const { maxInflightBodyBytes, maxUnreadBytes } = limits
  const share = Math.max(maxInflightBodyBytes / 2, limits.maxBodyBytes)
  const visitors = createVisitors({ auth, limit })
  let warned = false

  const admitKnown = (call: Call): Promise<string | A2AError> =>
    visitors.identify(call).then((known) => principalOf({ ...call, auth: known }), toA2AError)

  return {
    limits,
    budget: new SharedBudget({ max: maxInflightBodyBytes, share }),
    unread: new SharedBudget({ max: maxUnreadBytes, share: maxUnreadBytes / 4, loneFits: true }),
    clientOf,
    admit(head) {
      const { headers, query } = head
      const client = clientOf(head)
      const isOpen = openTo?.(head.path ?? '') ?? false
      if (typeof isOpen !== 'boolean') return isOpen
      if (auth === openAuth || isOpen) return principalOf(client === undefined ? {} : { client })
      return admitKnown({
        headers,
        query,
        auth: anonymous,
        ...(client !== undefined && { client }),
      })
    },
    maxBodyBytes(given) {
      if (given !== undefined && givenMaxBodyBytes !== undefined && given !== givenMaxBodyBytes)
        throw new Error(
          `maxBodyBytes says ${given} and limits says ${givenMaxBodyBytes}: give one of them`,
        )
      // A body that is larger than all bodies together may be would never be taken.
      return Math.min(given ?? limits.maxBodyBytes, maxInflightBodyBytes)
    },
    warnOfUnknownClients() {
      if (warned || !auth.open) return
      warned = true
      logger?.warn({}, unknownClients)
    },
  }
}

const unknownClients =
  'toFetch does not know the addresses of clients, so callers whom nobody knows have no shares; give it clientAddress'
