import { parseUrl } from '../network/url.ts'
import { A2AError } from '../protocol/errors.ts'
import type { AgentCard } from '../protocol/types.ts'

/**
 * Which origins get a client's credentials. They belong to the origin that the user named. What a card names beside it
 * is only the card's word: it gets them where the user allows that origin, or where the card is signed by a key that the
 * user configured.
 */
export interface CredentialOrigins {
  has(url: string): boolean
}

/** What the origins follow from. */
interface CredentialOriginsOptions {
  /** What the user named: the agent's URL, and endpoints that stand in the user's own configuration. */
  readonly named: readonly (string | undefined)[]
  /** Further origins that the user allows. */
  readonly allowed?: readonly string[] | undefined
  /** The card that a key of the user's vouches for, if there is one at the moment. */
  readonly vouched?: () => AgentCard | undefined
}

/**
 * Makes the rule.
 * @throws A2AError `invalidParams` for an entry of `allowed` that is no origin.
 */
export function createCredentialOrigins(options: CredentialOriginsOptions): CredentialOrigins {
  const { named, allowed = [], vouched } = options
  const known = new Set(named.map((url) => (url === undefined ? undefined : originOf(url))))
  for (const entry of allowed) known.add(toAllowed(entry))
  return {
    has(url) {
      const origin = originOf(url)
      if (origin === undefined) return false
      const card = vouched?.()
      return known.has(origin) || (card !== undefined && namesOrigin(card, origin))
    },
  }
}

/** What is wrong with an allowed origin, and the origin without what may be secret in it; undefined if nothing is. */
export function credentialOriginFault(
  entry: string,
): { readonly shown: string; readonly reason: string } | undefined {
  const url = parseUrl(entry)
  const isOrigin =
    url && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href && url.hostname !== ''
  if (isOrigin) return undefined
  const shown = entry.includes('@') ? '[redacted]' : entry
  return { shown, reason: 'must be an origin such as https://agents.example.com' }
}

/** Why a secret was not sent: the `cause` of an error. No peer can make one. */
export class UntrustedOrigin extends Error {
  override readonly name = 'UntrustedOrigin'
  /** The origin; as an entry of `credentialOrigins` it is allowed. */
  readonly origin: string

  constructor(origin: string) {
    super(`Only the card names ${origin}`)
    this.origin = origin
  }
}

/** An origin for people to read, without what may be secret in a URL. */
export function shownOrigin(url: string): string {
  return parseUrl(url)?.origin ?? 'an invalid URL'
}

function toAllowed(entry: string): string | undefined {
  const fault = credentialOriginFault(entry)
  if (fault === undefined) return originOf(entry)
  const { shown, reason } = fault
  throw new A2AError('invalidParams', `The credential origin "${shown}" ${reason}`)
}

/** The names under which a machine calls itself are one: they lead to the same listener. */
const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Scheme, host and port as they are compared. */
function originOf(text: string): string | undefined {
  const url = parseUrl(text)
  if (!url) return undefined
  const host = loopbackNames.has(url.hostname) ? 'localhost' : url.hostname
  return `${url.protocol}//${host}:${url.port}`
}

/** Whether a card names an origin: as an interface, or as the place of an authorization server. */
function namesOrigin(card: AgentCard, origin: string): boolean {
  const { supportedInterfaces, securitySchemes = {} } = card
  if (supportedInterfaces.some(({ url }) => originOf(url) === origin)) return true
  return Object.values(securitySchemes).some((scheme) => {
    if ('openIdConnectSecurityScheme' in scheme)
      return originOf(scheme.openIdConnectSecurityScheme.openIdConnectUrl) === origin
    if (!('oauth2SecurityScheme' in scheme)) return false
    const { flows, oauth2MetadataUrl = '' } = scheme.oauth2SecurityScheme
    const endpoints = Object.values(flows).flatMap((flow) => Object.values(flow ?? {}))
    return [oauth2MetadataUrl, ...endpoints].some(
      (url) => typeof url === 'string' && originOf(url) === origin,
    )
  })
}
