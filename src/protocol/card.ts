import { readUrl } from '../shared/url.ts'
import { skillSchemasExtension } from './extensions.ts'
import type { AgentInfo, SkillDetail } from './profile.ts'
import type {
  AgentCard,
  AgentCardSignature,
  AgentExtension,
  AgentInterface,
  AgentSkill,
  JsonObject,
  SecurityRequirement,
  SecurityScheme,
} from './types.ts'

/** What a card says beside the agent's own words: where and how its server answers. */
export interface CardSurroundings {
  /** In order of preference. */
  readonly interfaces: readonly AgentInterface[]
  /** Whether answers can be streamed. */
  readonly streaming: boolean
  /** Whether events are sent to webhooks. */
  readonly pushNotifications: boolean
  /** Whether authenticated callers get a fuller card. */
  readonly extendedAgentCard: boolean
  /** Ways to authenticate, by names that `securityRequirements` use. */
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>
  /** What a caller must satisfy: one of the list. */
  readonly securityRequirements?: readonly SecurityRequirement[]
  /** Extensions that the server supports beside those of the agent. */
  readonly extensions?: readonly AgentExtension[]
  /** Proofs of who wrote the card. */
  readonly signatures?: readonly AgentCardSignature[]
}

const usualModes: readonly string[] = ['text/plain', 'application/json']
const dataModes: readonly string[] = ['application/json']

/** Makes the card of an agent (§4.4.1). Its abilities become skills, and the schemas of skills a declared extension. */
export function renderCard(info: AgentInfo, surroundings: CardSurroundings): AgentCard {
  const details = info.details ?? {}
  const outputModes = details.outputSchema ? dataModes : details.outputModes
  const extensions = extensionsOf(info, surroundings)
  const securitySchemes = { ...details.securitySchemes, ...surroundings.securitySchemes }
  const securityRequirements = surroundings.securityRequirements ?? details.securityRequirements
  return {
    name: info.name,
    description: info.description || info.name,
    supportedInterfaces: surroundings.interfaces.map(withoutPatch),
    ...(details.provider && { provider: details.provider }),
    version: details.version || '1.0.0',
    ...(details.documentationUrl && { documentationUrl: details.documentationUrl }),
    capabilities: {
      streaming: surroundings.streaming && details.streaming !== false,
      pushNotifications: surroundings.pushNotifications,
      ...(extensions.length > 0 && { extensions }),
      extendedAgentCard: surroundings.extendedAgentCard,
    },
    ...(Object.keys(securitySchemes).length > 0 && { securitySchemes }),
    ...(securityRequirements?.length && { securityRequirements }),
    defaultInputModes: details.inputModes?.length ? details.inputModes : usualModes,
    defaultOutputModes: outputModes?.length ? outputModes : usualModes,
    skills: skillsOf(info),
    ...(surroundings.signatures?.length && { signatures: surroundings.signatures }),
    ...(details.iconUrl && { iconUrl: details.iconUrl }),
  }
}

/** Which bindings and versions a client can speak; versions in order of preference. */
export interface InterfaceOptions {
  /** Names of bindings, such as `JSONRPC`; the card's order decides among them. */
  readonly bindings: readonly string[]
  /** Versions of the protocol, the preferred one first. */
  readonly versions: readonly string[]
}

/**
 * Chooses the interface of a card to use: the first binding in the card's order that you speak, in the version that
 * you like best (§8.3.2). Undefined if none fits.
 */
export function chooseInterface(
  card: AgentCard,
  options: InterfaceOptions,
): AgentInterface | undefined {
  const bindings = new Set(options.bindings.map((binding) => binding.toUpperCase()))
  const versions = options.versions.map(toMajorMinor)
  const rank = (choice: AgentInterface): number =>
    versions.indexOf(toMajorMinor(choice.protocolVersion))
  const usable = card.supportedInterfaces.filter(
    (choice) => bindings.has(choice.protocolBinding.toUpperCase()) && rank(choice) >= 0,
  )
  const binding = usable[0]?.protocolBinding.toUpperCase()
  return usable
    .filter((choice) => choice.protocolBinding.toUpperCase() === binding)
    .reduce<AgentInterface | undefined>(
      (best, choice) => (best && rank(best) <= rank(choice) ? best : choice),
      undefined,
    )
}

/** A protocol version without its patch level, which never takes part in negotiation (specification §3.6). */
export function toMajorMinor(version: string): string {
  return /^\d+\.\d+/.exec(version.trim())?.[0] ?? version.trim()
}

/** A UUID or qualified name: alphanumeric segments joined by `/`, `:` or `.` (the dot is inside the segment's class). */
const agentName = /^[A-Za-z0-9][A-Za-z0-9._-]*(?:[/:][A-Za-z0-9][A-Za-z0-9._-]*)*$/

/** Tells whether a string can be an agent's id: a UUID, a qualified name or an absolute URL. */
export function validateAgentId(id: string): boolean {
  return agentName.test(id) || (/^[a-z][a-z0-9+.-]*:\/\//i.test(id) && readUrl(id) !== undefined)
}

/** MAJOR.MINOR.PATCH with a pre-release and a build, if any (semver.org, 2.0.0). */
const semantic =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/

/** Whether a version is a semantic one. */
export function isSemanticVersion(version: string): boolean {
  return semantic.test(version)
}

function withoutPatch(choice: AgentInterface): AgentInterface {
  const protocolVersion = toMajorMinor(choice.protocolVersion)
  return protocolVersion === choice.protocolVersion ? choice : { ...choice, protocolVersion }
}

function skillsOf(info: AgentInfo): readonly AgentSkill[] {
  const declared = info.details?.skills ?? []
  if (declared.length > 0) return declared.map(toSkill)
  const abilities = info.capabilities.length > 0 ? new Set(info.capabilities) : [info.name]
  const taken = new Set<string>()
  return [...abilities].map((name) => {
    const words = info.details?.capabilities?.find((detail) => detail.name === name)?.description
    const description = words || (name === info.name ? info.description : '') || name
    return { id: freeSlug(name, taken), name, description, tags: [name] }
  })
}

function toSkill({ inputSchema: _in, outputSchema: _out, ...skill }: SkillDetail): AgentSkill {
  return {
    ...skill,
    description: skill.description || skill.name,
    tags: skill.tags.length > 0 ? skill.tags : [skill.name],
  }
}

/** The name as an id: letters and digits, the rest dashes; a number behind it where two names give the same. */
function freeSlug(name: string, taken: Set<string>): string {
  const words = name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['skill']
  const slug = words.join('-')
  let id = slug
  for (let n = 2; taken.has(id); n++) id = `${slug}-${n}`
  taken.add(id)
  return id
}

function extensionsOf(info: AgentInfo, surroundings: CardSurroundings): readonly AgentExtension[] {
  const all = [
    ...(info.details?.extensions ?? []),
    ...(surroundings.extensions ?? []),
    ...schemasExtension(info),
  ]
  return [...new Map(all.map((extension) => [extension.uri, extension])).values()]
}

function schemasExtension(info: AgentInfo): readonly AgentExtension[] {
  const { skills = [], outputSchema: common } = info.details ?? {}
  const described: readonly SkillDetail[] = skills.length > 0 || !common ? skills : skillsOf(info)
  const schemas = described.flatMap((skill): [string, JsonObject][] => {
    const { id, inputSchema, outputSchema = common } = skill
    const both = { ...(inputSchema && { inputSchema }), ...(outputSchema && { outputSchema }) }
    return inputSchema || outputSchema ? [[id, both]] : []
  })
  if (schemas.length === 0) return []
  const params = Object.fromEntries(schemas)
  return [{ uri: skillSchemasExtension, description: 'JSON Schemas of the skills', params }]
}
