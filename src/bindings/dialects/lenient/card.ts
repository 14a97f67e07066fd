import { A2AError } from '../../../protocol/errors.ts'
import { quirks } from './quirks.ts'
import { asRaw, ownMember, pick, present, type Raw } from './raw.ts'

/**
 * A card of any generation in canonical spelling: 1.0, the superset of both, 0.3, or a bare card with just a url.
 * Signatures of a translated card are dropped: they no longer fit it. What makes no sense is handed on, and the border
 * refuses it.
 *
 * @throws A2AError `invalidAgentResponse` for what is no card.
 */
export function decodeCard(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw || raw.name === undefined || raw.name === null) throw nameless()
  const offered = quirks.nullOffers(raw.supportedInterfaces)
  const isOwn = Array.isArray(offered) ? offered.length > 0 : (offered ?? undefined) !== undefined
  const provider = asRaw(raw.provider)
  return present({
    name: raw.name,
    description: raw.description,
    supportedInterfaces: isOwn ? offered : interfacesOf(raw),
    provider: provider ? quirks.namedProvider(provider) : raw.provider,
    version: raw.version,
    documentationUrl: raw.documentationUrl,
    capabilities: decodeCapabilities(raw),
    securitySchemes: decodeSchemes(raw.securitySchemes),
    securityRequirements: decodeSecurity(pick(raw, 'securityRequirements', 'security')),
    defaultInputModes: raw.defaultInputModes ?? ['text/plain'],
    defaultOutputModes: raw.defaultOutputModes ?? ['text/plain'],
    skills: Array.isArray(raw.skills) ? raw.skills.map(decodeSkill) : raw.skills,
    signatures: isOwn ? raw.signatures : undefined,
    iconUrl: raw.iconUrl,
  })
}

function nameless(): A2AError {
  return new A2AError('invalidAgentResponse', 'The agent card has no name', {
    violations: [{ field: 'name', description: 'is required' }],
  })
}

function decodeCapabilities(card: Raw): unknown {
  const flags = card.capabilities ?? {}
  const raw = asRaw(flags)
  if (!raw) return flags
  const extended = raw.extendedAgentCard ?? card.supportsAuthenticatedExtendedCard
  return present({ ...raw, extendedAgentCard: extended })
}

// 0.3 cards repeat the main url among the additional interfaces.
function interfacesOf(raw: Raw): unknown {
  const main = { url: raw.url, transport: raw.preferredTransport ?? 'JSONRPC' }
  const more = raw.additionalInterfaces ?? []
  if (!Array.isArray(more)) return more
  const version = minor(raw.protocolVersion ?? '0.3')
  const seen = new Set<string>()
  const found: unknown[] = []
  for (const entry of pick(main, 'url') === undefined ? more : [main, ...more]) {
    const offer = asRaw(entry)
    const place = JSON.stringify([offer?.transport, offer?.url])
    if (offer && seen.has(place)) continue
    seen.add(place)
    found.push(offer ? toInterface(offer, version) : entry)
  }
  return found
}

function toInterface({ url, transport }: Raw, protocolVersion: unknown): Raw {
  return present({ url, protocolBinding: transport, protocolVersion })
}

function minor(version: unknown): unknown {
  if (typeof version !== 'string') return version
  const [major = '0', second = '3'] = version.split('.')
  return `${major}.${second}`
}

function decodeSkill(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw) return value
  const { security, securityRequirements, ...rest } = raw
  return present({
    ...rest,
    securityRequirements: decodeSecurity(securityRequirements ?? security),
  })
}

function decodeSchemes(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw) return value
  return present(
    Object.fromEntries(Object.entries(raw).map(([name, one]) => [name, decodeScheme(one)])),
  )
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
 * A security scheme of either generation; undefined for what is none, which is left out. Of several 0.3 flows the
 * first of authorizationCode, clientCredentials, implicit, password stands.
 */
function decodeScheme(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw) return undefined
  const { type, in: location, ...rest } = raw
  const modern = Object.values(members).filter((name) => rest[name] !== undefined)
  if (modern.length > 0) return Object.fromEntries(modern.map((name) => [name, rest[name]]))
  const member = typeof type === 'string' ? ownMember(members, type) : undefined
  if (member === undefined) return undefined
  const body: Record<string, unknown> = { ...rest }
  if (type === 'apiKey') body.location = location ?? 'header'
  if (type === 'oauth2') body.flows = firstFlow(rest.flows)
  return { [member]: present(body) }
}

function firstFlow(value: unknown): unknown {
  const flows = asRaw(value)
  if (!flows) return value
  const name = flowOrder.find((flow) => flows[flow] !== undefined)
  return name === undefined ? {} : { [name]: flows[name] }
}

/** Requirements in any spelling: 1.0's, 0.3's objects, or a list of names. */
function decodeSecurity(value: unknown): unknown {
  return Array.isArray(value) ? value.map(decodeRequirement) : value
}

function decodeRequirement(value: unknown): unknown {
  const requirement = quirks.namedRequirement(value)
  const raw = asRaw(requirement)
  if (!raw) return requirement
  const schemes = raw.schemes === undefined ? raw : asRaw(raw.schemes)
  if (!schemes) return requirement
  const entries = Object.entries(schemes).map(([name, scopes]) => [name, toScopes(scopes)])
  return { schemes: Object.fromEntries(entries) }
}

/** 0.3 writes the bare list, protocol buffers nothing where it is empty. */
function toScopes(scopes: unknown): unknown {
  if (Array.isArray(scopes)) return { list: scopes }
  const raw = asRaw(scopes)
  return raw ? { list: raw.list ?? [] } : scopes
}
