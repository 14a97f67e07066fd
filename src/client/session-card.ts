import type { HttpSend } from '../bindings/http.ts'
import { A2AError } from '../protocol/errors.ts'
import type { AgentCard } from '../protocol/types.ts'
import { systemClock } from '../shared/clock.ts'
import { silent } from '../shared/log.ts'
import { retry } from '../shared/retry.ts'
import { withAuth } from './auth.ts'
import { createCardCache } from './card-cache.ts'
import type { ClientConfig } from './config.ts'
import { isPassing, retryRules } from './retry.ts'

/** The card that a client goes by: the given one, the extended one once it was fetched, else the public one. */
export interface SessionCard {
  /** The card of the moment; fetched where there is none or it is too old. */
  get(signal?: AbortSignal): Promise<AgentCard>
  /** The card, if the client has one to go by; no promise where it is at hand. A client over a transport goes without. */
  known(signal?: AbortSignal): Promise<AgentCard> | AgentCard | undefined
  /** The card that was used last, without asking anyone. */
  readonly last: AgentCard | undefined
  /** The card that was fetched last, where a key of the user's vouches for it. */
  readonly vouched: AgentCard | undefined
  replace(card: AgentCard): void
  invalidate(): void
}

/** Makes the card of a client's session. */
export function createSessionCard(config: ClientConfig, send: HttpSend): SessionCard {
  const { clock = systemClock, random = Math.random, log = silent } = config
  const cache = config.cardCache ?? createCardCache({ clock })
  const url = cardUrl(config)
  const asked = config.auth ? withAuthIfRefused(send, config.auth) : send
  let replaced = config.card
  let last = config.card
  let vouched: AgentCard | undefined
  const context = { ...config.retry, clock, random, log }

  function fetched(signal?: AbortSignal): Promise<AgentCard> {
    const { verifyCard: verify } = config
    const request = { send: asked, signal, ...(verify && { verify }) }
    const attempt = async (): Promise<AgentCard> => cache.get(required(url), request)
    return retry(attempt, retryRules(context, mayAppear, signal))
  }

  function note(card: AgentCard): AgentCard {
    if (config.verifyCard?.vouches) vouched = card
    return card
  }

  async function get(signal?: AbortSignal): Promise<AgentCard> {
    if (replaced) return replaced
    try {
      last = note(await fetched(signal))
    } catch (error) {
      // An agent that worked a moment ago is not given up because its card cannot be had now.
      if (!last || !isPassing(error)) throw error
      log.warn({}, 'the card cannot be fetched; going on with the last one')
    }
    return last
  }

  function known(signal?: AbortSignal): Promise<AgentCard> | AgentCard | undefined {
    if (replaced || !('serverUrl' in config)) return replaced ?? last
    const fresh = cache.fresh?.(config.serverUrl, config.verifyCard)
    if (!fresh) return get(signal)
    last = note(fresh)
    return fresh
  }

  return {
    get,
    known,
    get last() {
      return replaced ?? last
    },
    get vouched() {
      return vouched
    },
    replace(card) {
      replaced = card
    },
    invalidate() {
      replaced = config.card
      last = config.card
      vouched = undefined
      cache.invalidate(url)
    },
  }
}

function required(url: string | undefined): string {
  if (url !== undefined) return url
  throw new A2AError('unsupportedOperation', 'A client over a dispatch has no card to fetch')
}

/** A server that says that it has no card will not have one in a moment. */
function mayAppear(error: unknown): boolean {
  return isPassing(error) && !(error instanceof A2AError && error.code === 'agentUnavailable')
}

/** Where the card is looked for: the server's URL, or what is left of an endpoint without its usual path. */
function cardUrl(config: ClientConfig): string | undefined {
  if ('serverUrl' in config) return config.serverUrl
  if ('transport' in config) return config.transport.url.replace(/(\/v1)?\/rpc\/?$/, '/')
  return undefined
}

/** Public cards are asked for without credentials; they are shown only where the server wants them. */
function withAuthIfRefused(send: HttpSend, auth: NonNullable<ClientConfig['auth']>): HttpSend {
  const known = withAuth(send, auth)
  return async (request) => {
    const reply = await send(request)
    if (reply.status !== 401) return reply
    await reply.text()
    return known(request)
  }
}
