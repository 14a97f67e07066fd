import { skillSchemasExtension } from '../../protocol/extensions.ts'
import type { AgentCard, AgentSkill } from '../../protocol/types.ts'
import { fields03, is03 } from './card03.ts'
import { asRaw } from './lenient.ts'
import { toScheme03, toSecurity03 } from './security03.ts'

/** What the superset card can tell beyond the canonical one (003's flag, C-10). */
export interface SupersetOptions {
  readonly stateManagement?: boolean
}

/**
 * One card for readers of 0.3 and of 1.0 (C-8): the canonical card, the fields of 0.3 beside it, and the members of
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
    skills: card.skills.map((skill) => toSkill(skill, card)),
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

function toSkill(skill: AgentSkill, card: AgentCard): object {
  const { securityRequirements } = skill
  return {
    ...skill,
    ...schemasOf(skill.id, card),
    ...(securityRequirements ? { security: toSecurity03(securityRequirements) } : {}),
  }
}

// 003 writes the schemas into the skill; the canonical card keeps them in the declared extension.
function schemasOf(skillId: string, card: AgentCard): object {
  const extension = card.capabilities.extensions?.find(({ uri }) => uri === skillSchemasExtension)
  return asRaw(extension?.params?.[skillId]) ?? {}
}
