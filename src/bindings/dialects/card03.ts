import { A2AError } from '../../protocol/errors.ts'
import type { AgentCard, AgentInterface, AgentSkill, SecurityScheme } from '../../protocol/types.ts'
import { asRaw, pick, present, type Raw } from './lenient.ts'
import { fromScheme, fromSecurity, toScheme03, toSecurity03 } from './security03.ts'

/**
 * The strict 0.3 card: only interfaces of 0.3 remain.
 *
 * @throws A2AError `versionNotSupported` for a card without one.
 */
export function toCard03(card: AgentCard): object {
  const interfaces = card.supportedInterfaces.filter(({ protocolVersion }) => is03(protocolVersion))
  const main = interfaces[0]
  if (!main) throw new A2AError('versionNotSupported', 'The agent has no 0.3 interface')
  const { supportedInterfaces: _, capabilities, skills, signatures: __, ...rest } = card
  const { securitySchemes, securityRequirements, ...plain } = rest
  const { extendedAgentCard, ...flags } = capabilities
  return {
    ...plain,
    ...fields03(card, interfaces),
    capabilities: flags,
    skills: skills.map(toSkill03),
    ...(securitySchemes ? { securitySchemes: mapValues(securitySchemes, toScheme03) } : {}),
  }
}

/** The transports that 0.3 knows. Some of its clients refuse a card that names another. */
const transports03: ReadonlySet<string> = new Set(['JSONRPC', 'GRPC', 'HTTP+JSON'])

/** The card-level fields that only 0.3 has. */
export function fields03(card: AgentCard, interfaces: readonly AgentInterface[]): object {
  const main = interfaces[0]
  const { securityRequirements, capabilities } = card
  if (!main) return {}
  return {
    protocolVersion: '0.3.0',
    url: main.url,
    preferredTransport: main.protocolBinding,
    additionalInterfaces: interfaces
      .filter(({ protocolBinding }) => transports03.has(protocolBinding))
      .map(({ url, protocolBinding }) => ({ url, transport: protocolBinding })),
    supportsAuthenticatedExtendedCard: capabilities.extendedAgentCard === true,
    ...(securityRequirements ? { security: toSecurity03(securityRequirements) } : {}),
  }
}

/** Whether an interface speaks 0.3. */
export function is03(version: string): boolean {
  return version === '' || version === '0.3' || version.startsWith('0.3.')
}

/**
 * A card of any generation as the canonical one: 1.0, the superset of both, 0.3, or a bare seed card with just a url.
 * Signatures of a translated card are dropped: they no longer fit it.
 *
 * @throws A2AError `invalidAgentResponse` for what is no card.
 */
export function fromCard(value: unknown): AgentCard {
  const raw = asRaw(value)
  if (!raw || typeof raw.name !== 'string')
    throw new A2AError('invalidAgentResponse', 'The agent card has no name')
  const own = Array.isArray(raw.supportedInterfaces) && raw.supportedInterfaces.length > 0
  const capabilities = asRaw(raw.capabilities) ?? {}
  const provider = asRaw(raw.provider)
  // true: each member is decoded; a peer's card may lack what the specification demands
  return present({
    name: raw.name,
    description: raw.description ?? '',
    supportedInterfaces: own ? raw.supportedInterfaces : interfacesOf(raw),
    provider:
      provider &&
      present({
        organization: pick(provider, 'organization', 'name') ?? '',
        url: provider.url ?? '',
      }),
    version: raw.version ?? '',
    documentationUrl: raw.documentationUrl,
    capabilities: fromCapabilities(capabilities, raw),
    securitySchemes: schemesOf(raw.securitySchemes),
    securityRequirements: fromSecurity(pick(raw, 'securityRequirements', 'security')),
    defaultInputModes: raw.defaultInputModes ?? ['text/plain'],
    defaultOutputModes: raw.defaultOutputModes ?? ['text/plain'],
    skills: Array.isArray(raw.skills) ? raw.skills.map(fromSkill) : [],
    signatures: own ? raw.signatures : undefined,
    iconUrl: raw.iconUrl,
  }) as unknown as AgentCard
}

function fromCapabilities(flags: Raw, card: Raw): Raw {
  const { stateTransitionHistory: _, stateManagement: __, ...rest } = flags
  const extended = rest.extendedAgentCard ?? card.supportsAuthenticatedExtendedCard
  return present({ ...rest, extendedAgentCard: extended })
}

// 0.3 cards repeat the main url among the additional interfaces.
function interfacesOf(raw: Raw): readonly AgentInterface[] {
  const version = typeof raw.protocolVersion === 'string' ? minor(raw.protocolVersion) : '0.3'
  const main = { url: raw.url, transport: raw.preferredTransport ?? 'JSONRPC' }
  const more = Array.isArray(raw.additionalInterfaces) ? raw.additionalInterfaces : []
  const seen = new Set<string>()
  const found: AgentInterface[] = []
  for (const entry of [main, ...more]) {
    const { url, transport } = asRaw(entry) ?? {}
    if (typeof url !== 'string' || typeof transport !== 'string') continue
    if (seen.has(`${transport} ${url}`)) continue
    seen.add(`${transport} ${url}`)
    found.push({ url, protocolBinding: transport, protocolVersion: version })
  }
  return found
}

function minor(version: string): string {
  const [major = '0', second = '3'] = version.split('.')
  return `${major}.${second}`
}

function schemesOf(value: unknown): Readonly<Record<string, SecurityScheme>> | undefined {
  const raw = asRaw(value)
  if (!raw) return undefined
  const entries = Object.entries(raw).map(([name, scheme]) => [name, fromScheme(scheme)] as const)
  // true: entries without a scheme are filtered out
  return Object.fromEntries(entries.filter(([, scheme]) => scheme !== undefined)) as Record<
    string,
    SecurityScheme
  >
}

function toSkill03(skill: AgentSkill): object {
  const { securityRequirements, ...rest } = skill
  return securityRequirements ? { ...rest, security: toSecurity03(securityRequirements) } : rest
}

function fromSkill(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw) return value
  const { security, securityRequirements, ...rest } = raw
  return present({
    ...rest,
    tags: rest.tags ?? [],
    securityRequirements: fromSecurity(securityRequirements ?? security),
  })
}

function mapValues<T>(
  record: Readonly<Record<string, T>>,
  map: (value: T) => object,
): Record<string, object> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]))
}
