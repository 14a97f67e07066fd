import type { APIKeySecurityScheme } from '../protocol/types.ts'
import type { PresentedCredentials } from './authenticator.ts'

/** The token of an `Authorization: Bearer` header, if there is one. */
export function readBearer({ headers }: PresentedCredentials): string | undefined {
  return /^bearer\s+(\S+)\s*$/i.exec(headers?.authorization ?? '')?.[1]
}

/** The API key at a place, if there is one. */
export function readKey(
  { headers, query }: PresentedCredentials,
  name: string,
  location: APIKeySecurityScheme['location'],
): string | undefined {
  if (location === 'header') return headers?.[name.toLowerCase()]
  if (location === 'query') return new URLSearchParams(query ?? '').get(name) ?? undefined
  for (const pair of (headers?.cookie ?? '').split(';')) {
    const cut = pair.indexOf('=')
    if (cut > 0 && pair.slice(0, cut).trim() === name) return pair.slice(cut + 1).trim()
  }
  return undefined
}

/** Shorter pieces stand in ordinary words, and are no secrets. */
const minSecretLength = 4

/** Why a credential was refused, for the log: what was thrown, unless it repeats something that was presented. */
export function refusalReason(thrown: unknown, { headers, query }: PresentedCredentials): string {
  const reason = thrown instanceof Error ? thrown.message : 'the check failed'
  const presented = [...Object.values(headers ?? {}), query ?? ''].join(' ').split(/[\s,;=&"]/)
  const repeats = presented.some((one) => one.length >= minSecretLength && reason.includes(one))
  return repeats ? 'the check failed' : reason
}
