import { toSupersetCard } from '../../src/bindings/dialects/v03.ts'
import type { AgentCard } from '../../src/protocol/types.ts'

/** Members that 1.0 alone has, wherever they stand in a card, and one that tells nothing. */
const of10: ReadonlySet<string> = new Set([
  'supportedInterfaces',
  'securityRequirements',
  'signatures',
  'extendedAgentCard',
  'apiKeySecurityScheme',
  'httpAuthSecurityScheme',
  'oauth2SecurityScheme',
  'openIdConnectSecurityScheme',
  'mtlsSecurityScheme',
  'stateTransitionHistory',
])

/** The card of an agent that knows nothing but 0.3: what is left of the superset card. */
export function card03(card: AgentCard): object {
  const text = JSON.stringify(toSupersetCard(card), (name, value) =>
    of10.has(name) ? undefined : value,
  )
  const { provider, ...rest } = JSON.parse(text)
  return { ...rest, ...(provider && { provider: card.provider }) }
}
