import type { Call, Middleware } from '../protocol/call.ts'
import type { Logger } from '../shared/log.ts'
import { shownOrigin } from './credential-origins.ts'

/** What a client did not send to an origin that only a card names. */
export interface WithheldCredentials {
  /** The origin; as an entry of `credentialOrigins` it is allowed. */
  readonly origin: string
  /** Whether the client's own credentials were kept back. */
  readonly auth: boolean
  /** The names of the headers that were kept back. */
  readonly headers: readonly string[]
}

/** Is told what a client kept back. */
export type WithheldListener = (withheld: WithheldCredentials) => void

/** Of so many origins it is told; a card that names ever new ones fills no memory. */
const maxTold = 100

/** Tells of each origin once: whom the user wants told, else the log. */
export function tellOnce(log: Logger, listener?: WithheldListener): WithheldListener {
  const told = new Set<string>()
  return (withheld) => {
    const { origin } = withheld
    if (told.has(origin) || told.size >= maxTold) return
    told.add(origin)
    if (listener) return listener(withheld)
    log.warn(
      { ...withheld },
      'credentials were not sent: only the card names this origin; credential origins can allow it',
    )
  }
}

/** Where calls go that get no credentials, and who hears of it. */
interface WithholdOptions {
  readonly url: string
  /** Whether the client has credentials beside the calls' headers. */
  readonly auth: boolean
  readonly tell: WithheldListener
}

/** Takes from calls the headers that somebody configured: any of them may be a secret. */
export function withoutHeaders({ url, auth, tell }: WithholdOptions): Middleware {
  const origin = shownOrigin(url)
  return (next) => (name, request, call) => {
    const headers = Object.keys(call.headers ?? {})
    if (auth || headers.length > 0) tell({ origin, auth, headers })
    return next(name, request, headers.length > 0 ? bare(call) : call)
  }
}

function bare(call: Call): Call {
  const { headers: _, ...rest } = call
  return rest
}
