import { z } from 'zod'
import type { CapabilityDetail, Proficiency } from '../../protocol/profile.ts'
import type { AgentProvider } from '../../protocol/types.ts'
import { described } from './described.ts'
import { filledText } from './values.ts'

/** The version that cards show where a file names none. */
const firstVersion = '1.0.0'

/** `version` of a team. */
export const versionField: z.ZodOptional<z.ZodType<string, string>> = described(
  filledText.optional(),
  {
    description: 'The version of the team that cards show, a semantic one.',
    default: firstVersion,
    examples: ['2.1.0'],
  },
)

const providerSchema: z.ZodType<AgentProvider> = z
  .strictObject({
    name: described(filledText.optional(), {
      description: 'Who runs the team. Either this or `organization`.',
      examples: ['Example Press'],
    }),
    organization: described(filledText.optional(), {
      description: 'The same as `name`, by the word that A2A uses.',
      examples: ['Example Press'],
    }),
    url: described(filledText, {
      description: 'The address of whoever runs the team.',
      examples: ['https://example.com'],
    }),
  })
  .refine(({ name, organization }) => name ?? organization, 'a provider needs a name')
  .transform(({ name, organization, url }) => ({ organization: organization ?? name ?? '', url }))

/** `[teams.provider]`. */
export const providerField: z.ZodOptional<z.ZodType<AgentProvider>> = described(
  providerSchema.optional(),
  {
    description: 'Who runs the team. Cards show it.',
    examples: [{ name: 'Example Press', url: 'https://example.com' }],
  },
)

const capabilitySchema: z.ZodType<CapabilityDetail> = z
  .strictObject({
    name: described(filledText, {
      description: 'A capability of the team or of a member.',
      examples: ['writing'],
    }),
    description: described(z.string().optional(), {
      description: 'What it is; its name if absent.',
      examples: ['Writes articles of any length'],
    }),
    version: described(filledText.optional(), {
      description: 'Its version, a semantic one.',
      default: firstVersion,
      examples: ['2.0.0'],
    }),
  })
  .transform(({ name, description = name, version = firstVersion }) => ({
    name,
    description,
    version,
  }))

/** `[[teams.capability_details]]`. */
export const capabilitiesField: z.ZodOptional<z.ZodType<CapabilityDetail[]>> = described(
  z.array(capabilitySchema).optional(),
  {
    description:
      'Words for capabilities of the team, which cards show with its skills, and their versions, which the RANCH dialect shows.',
    examples: [[{ name: 'writing', description: 'Writes articles', version: '2.0.0' }]],
  },
)

const skillSchema = z.strictObject({
  name: described(filledText, {
    description: 'What the team is good at.',
    examples: ['editing'],
  }),
  proficiency: described(filledText, {
    description: 'How good it is at that, in a word of your own.',
    examples: ['expert'],
  }),
})

/** `[[teams.skills]]`. */
export const skillsField: z.ZodOptional<z.ZodType<Proficiency[]>> = described(
  z.array(skillSchema).optional(),
  {
    description: 'What the team is good at. Cards of the RANCH dialect show it.',
    examples: [[{ name: 'editing', proficiency: 'expert' }]],
  },
)
