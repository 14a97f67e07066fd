import { skillSchemasExtension } from '../../../protocol/extensions.ts'
import type {
  AgentCard,
  AgentInterface,
  AgentSkill,
  OAuthFlows,
  SecurityRequirement,
  SecurityScheme,
} from '../../../protocol/types.ts'
import { asRaw } from '../lenient/raw.ts'

/** What the superset card can tell beyond the canonical one. */
interface SupersetOptions {
  readonly stateManagement?: boolean
}

/**
 * One card for readers of 0.3 and of 1.0: the canonical card, the fields of 0.3 beside it, and the members of
 * both generations inside security schemes. A reader of either ignores what it does not know.
 */
export function toSupersetCard(card: AgentCard, options: SupersetOptions = {}): object {
  const { securitySchemes, provider } = card
  const interfaces = card.supportedInterfaces.filter(({ protocolVersion }) => is03(protocolVersion))
  return {
    ...card,
    ...fields03(card, interfaces),
    capabilities: {
      ...card.capabilities,
      stateTransitionHistory: false,
      ...(options.stateManagement === undefined
        ? {}
        : { stateManagement: options.stateManagement }),
    },
    skills: card.skills.map((skill) => toSupersetSkill(skill, card)),
    ...(provider ? { provider: { ...provider, name: provider.organization } } : {}),
    ...(securitySchemes
      ? {
          securitySchemes: Object.fromEntries(
            Object.entries(securitySchemes).map(([name, scheme]) => [
              name,
              { ...toScheme03(scheme), ...scheme },
            ]),
          ),
        }
      : {}),
  }
}

function toSupersetSkill(skill: AgentSkill, card: AgentCard): object {
  const { securityRequirements } = skill
  return {
    ...skill,
    ...schemasOf(skill.id, card),
    ...(securityRequirements ? { security: toSecurity03(securityRequirements) } : {}),
  }
}

// The workshop's clients read the schemas in the skill; the canonical card keeps them in the declared extension.
function schemasOf(skillId: string, card: AgentCard): object {
  const extension = card.capabilities.extensions?.find(({ uri }) => uri === skillSchemasExtension)
  return asRaw(extension?.params?.[skillId]) ?? {}
}

/** The transports that 0.3 knows. Some of its clients refuse a card that names another. */
const transports03: ReadonlySet<string> = new Set(['JSONRPC', 'GRPC', 'HTTP+JSON'])

/** The card-level fields that only 0.3 has. */
function fields03(card: AgentCard, interfaces: readonly AgentInterface[]): object {
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
function is03(version: string): boolean {
  return version === '' || version === '0.3' || version.startsWith('0.3.')
}

/** A security scheme of 0.3: told apart by `type`, as in OpenAPI. `deviceCode` and `pkceRequired` have no place there. */
function toScheme03(scheme: SecurityScheme): object {
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

/** Requirements of 0.3: one object per alternative. */
function toSecurity03(requirements: readonly SecurityRequirement[]): readonly object[] {
  return requirements.map(({ schemes }) =>
    Object.fromEntries(Object.entries(schemes).map(([name, scopes]) => [name, scopes.list ?? []])),
  )
}
