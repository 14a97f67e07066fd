import type { OAuthFlows, SecurityRequirement, SecurityScheme } from '../../protocol/types.ts'
import { asRaw, pick, present, type Raw } from './lenient.ts'

/** A security scheme of 0.3: told apart by `type`, as in OpenAPI. `deviceCode` and `pkceRequired` have no place there. */
export function toScheme03(scheme: SecurityScheme): object {
  if ('apiKeySecurityScheme' in scheme) {
    const { location, ...rest } = scheme.apiKeySecurityScheme
    return { type: 'apiKey', in: location, ...rest }
  }
  if ('httpAuthSecurityScheme' in scheme) return { type: 'http', ...scheme.httpAuthSecurityScheme }
  if ('oauth2SecurityScheme' in scheme) {
    const { flows, ...rest } = scheme.oauth2SecurityScheme
    return { type: 'oauth2', flows: toFlows03(flows), ...rest }
  }
  if ('openIdConnectSecurityScheme' in scheme)
    return { type: 'openIdConnect', ...scheme.openIdConnectSecurityScheme }
  return { type: 'mutualTLS', ...scheme.mtlsSecurityScheme }
}

function toFlows03(flows: OAuthFlows): object {
  if ('deviceCode' in flows) return {}
  if (!('authorizationCode' in flows)) return flows
  const { pkceRequired: _, ...flow } = flows.authorizationCode
  return { authorizationCode: flow }
}

const members: Readonly<Record<string, string>> = {
  apiKey: 'apiKeySecurityScheme',
  http: 'httpAuthSecurityScheme',
  oauth2: 'oauth2SecurityScheme',
  openIdConnect: 'openIdConnectSecurityScheme',
  mutualTLS: 'mtlsSecurityScheme',
}

const flowOrder = ['authorizationCode', 'clientCredentials', 'deviceCode', 'implicit', 'password']

/**
 * A security scheme of either generation as the canonical one; undefined for what is none.
 * Of several 0.3 flows the first of authorizationCode, clientCredentials, implicit, password stands.
 */
export function fromScheme(value: unknown): SecurityScheme | undefined {
  const raw = asRaw(value)
  if (!raw) return undefined
  const { type, in: location, ...rest } = raw
  if (typeof type !== 'string') {
    // true: a scheme of 1.0 is an object with one of the member names
    return Object.values(members).some((name) => asRaw(raw[name]))
      ? (raw as unknown as SecurityScheme)
      : undefined
  }
  const member = Object.hasOwn(members, type) ? members[type] : undefined
  if (member === undefined) return undefined
  const body: Record<string, unknown> = { ...rest }
  if (type === 'apiKey') body.location = location ?? 'header'
  if (type === 'oauth2') body.flows = firstFlow(asRaw(rest.flows) ?? {})
  // true: the member fits the type
  return { [member]: present(body) } as unknown as SecurityScheme
}

function firstFlow(flows: Raw): Raw {
  const name = flowOrder.find((flow) => asRaw(flows[flow]))
  return name === undefined ? {} : { [name]: flows[name] }
}

/** Requirements of 0.3: one object per alternative. */
export function toSecurity03(requirements: readonly SecurityRequirement[]): readonly object[] {
  return requirements.map(({ schemes }) =>
    Object.fromEntries(Object.entries(schemes).map(([name, scopes]) => [name, scopes.list ?? []])),
  )
}

/** Requirements in any spelling: 1.0's, 0.3's objects, or 001's list of names, of which any one is enough. */
export function fromSecurity(value: unknown): readonly SecurityRequirement[] | undefined {
  if (!Array.isArray(value)) return undefined
  return value.map(fromRequirement).filter((requirement) => requirement !== undefined)
}

function fromRequirement(value: unknown): SecurityRequirement | undefined {
  if (typeof value === 'string') return { schemes: { [value]: { list: [] } } }
  const raw = asRaw(value)
  if (!raw) return undefined
  const schemes = asRaw(pick(raw, 'schemes')) ?? raw
  const entries = Object.entries(schemes).map(([name, scopes]) => [
    name,
    { list: scopeList(scopes) },
  ])
  return { schemes: Object.fromEntries(entries) }
}

function scopeList(scopes: unknown): readonly string[] {
  const list = Array.isArray(scopes) ? scopes : asRaw(scopes)?.list
  return Array.isArray(list) ? list.filter((scope) => typeof scope === 'string') : []
}
