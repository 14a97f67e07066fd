import { readUrl } from '../shared/text.ts'
import type { FieldViolation } from './errors.ts'
import { skillSchemasExtension } from './extensions.ts'
import type {
  AgentCard,
  AgentCardSignature,
  AgentExtension,
  AgentInterface,
  AgentProvider,
  AgentSkill,
  JsonObject,
  Part,
  SecurityRequirement,
  SecurityScheme,
} from './types.ts'

/** Who an agent is: its id, its name, what it can do. */
export interface AgentInfo {
  /** Unique within a team and a server; also the agent's path, `/agents/{id}`. */
  readonly id: string
  readonly name: string
  /** What it does, for those who choose among agents: people, supervisors, models. */
  readonly description: string
  /** Abilities such as "research" or "writing", without duplicates. Not the protocol's capabilities. */
  readonly capabilities: readonly string[]
  /** Further facts, for those who look for agents. */
  readonly metadata: Readonly<Record<string, string>>
  /** What its card shows beyond this. */
  readonly details?: AgentDetails
}

/** What cards can show beyond AgentInfo; all of it optional. */
export interface AgentDetails {
  /** The agent's own version; "1.0.0" if absent. */
  readonly version?: string
  /** Who runs the agent. */
  readonly provider?: AgentProvider
  /** Descriptions and versions of abilities, by their names. */
  readonly capabilities?: readonly CapabilityDetail[]
  /** What the agent is good at, and how good. */
  readonly proficiencies?: readonly Proficiency[]
  /** Skills for A2A cards; derived from the abilities if absent. */
  readonly skills?: readonly SkillDetail[]
  /** MIME types that it takes; plain text and JSON if absent. */
  readonly inputModes?: readonly string[]
  /** MIME types that it answers in; plain text and JSON if absent. */
  readonly outputModes?: readonly string[]
  /** The JSON Schema of its answers, where they are data. */
  readonly outputSchema?: JsonObject
  readonly documentationUrl?: string
  readonly iconUrl?: string
  /** Whether it keeps state between turns; only cards for clients of 0.3 show it. */
  readonly stateManagement?: boolean
  /** Whether the agent can stream; true if absent. */
  readonly streaming?: boolean
  /** Extensions that the agent supports. */
  readonly extensions?: readonly AgentExtension[]
  /** Ways to authenticate beside the server's own. */
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>
  /** What a caller must satisfy beside what the server asks for. */
  readonly securityRequirements?: readonly SecurityRequirement[]
}

/** An ability with a description and a version. */
export interface CapabilityDetail {
  readonly name: string
  readonly description: string
  readonly version: string
}

/** What an agent is good at, and how good. */
export interface Proficiency {
  readonly name: string
  /** How good it is, in a word of your own: `expert`. */
  readonly proficiency: string
}

/** A skill of a card, with the JSON Schemas of what goes in and comes out. */
export interface SkillDetail extends AgentSkill {
  /** The JSON Schema of its input: a message of nothing but data must fit that of one of the skills. */
  readonly inputSchema?: JsonObject
  /** The JSON Schema of the answer's data. */
  readonly outputSchema?: JsonObject
}

/** What a card says beside the agent's own words: where and how its server answers. */
interface CardSurroundings {
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

/**
 * Lists what is wrong with a card: required fields that are empty, versions with a patch level, skills with the same
 * id, requirements without their scheme. An empty list is a good card.
 */
export function checkCard(card: AgentCard): readonly FieldViolation[] {
  return [
    ...emptyFields('', card, ['name', 'description', 'version', 'supportedInterfaces']),
    ...emptyFields('', card, ['defaultInputModes', 'defaultOutputModes', 'skills']),
    ...card.supportedInterfaces.flatMap((choice, i) =>
      checkInterface(`supportedInterfaces[${i}].`, choice),
    ),
    ...card.skills.flatMap((skill, i) =>
      emptyFields(`skills[${i}].`, skill, ['id', 'name', 'description', 'tags']),
    ),
    ...repeatedSkills(card.skills),
    ...unknownSchemes(card),
  ]
}

function emptyFields<T extends object>(
  path: string,
  value: T,
  names: readonly (keyof T & string)[],
): FieldViolation[] {
  return names
    .filter((name) => {
      const field = value[name]
      return (typeof field === 'string' || Array.isArray(field)) && field.length === 0
    })
    .map((name) => ({ field: path + name, description: 'must not be empty' }))
}

function checkInterface(path: string, choice: AgentInterface): FieldViolation[] {
  const faults = emptyFields(path, choice, ['url', 'protocolBinding', 'protocolVersion'])
  // A gRPC address is host:port; the others are URLs.
  if (choice.protocolBinding !== 'GRPC' && choice.url !== '' && !/^https?:\/\//i.test(choice.url))
    faults.push({ field: `${path}url`, description: 'must be an absolute http or https URL' })
  if (toMajorMinor(choice.protocolVersion) !== choice.protocolVersion)
    faults.push({ field: `${path}protocolVersion`, description: 'must be Major.Minor' })
  return faults
}

function repeatedSkills(skills: readonly AgentSkill[]): FieldViolation[] {
  const ids = skills.map((skill) => skill.id)
  return ids.flatMap((id, i) =>
    ids.indexOf(id) < i ? [{ field: `skills[${i}].id`, description: `${id} is taken` }] : [],
  )
}

function unknownSchemes(card: AgentCard): FieldViolation[] {
  const known = new Set(Object.keys(card.securitySchemes ?? {}))
  const named = (card.securityRequirements ?? []).flatMap(({ schemes }) => Object.keys(schemes))
  return [...new Set(named)]
    .filter((name) => !known.has(name))
    .map((name) => ({ field: 'securityRequirements', description: `${name} is not declared` }))
}

/**
 * Whether an agent with these modes takes a part: by its media type without parameters, in any case. A mode without a `/`
 * is a family, as many cards have them: `text` is `text/*`, `data` and `json` are JSON, `file` is any file.
 */
export function takesPart(modes: readonly string[], part: Part): boolean {
  const type = mediaTypeOf(part)
  return type === undefined || modes.some((mode) => mode === type || covers(bare(mode), type, part))
}

/** The media type of a part without parameters; undefined for a file that does not say. */
export function mediaTypeOf(part: Part): string | undefined {
  const declared = part.mediaType && bare(part.mediaType)
  if (declared) return declared
  if ('text' in part) return 'text/plain'
  return 'data' in part ? 'application/json' : undefined
}

function bare(mediaType: string): string {
  return (mediaType.split(';', 1)[0] ?? '').trim().toLowerCase()
}

function covers(mode: string, type: string, part: Part): boolean {
  if (mode === type || mode === '*' || mode === '*/*') return true
  if (mode.includes('/')) return mode.endsWith('/*') && type.startsWith(mode.slice(0, -1))
  if (mode === 'file') return 'raw' in part || 'url' in part
  if (mode === 'data' || mode === 'json') return type.endsWith('/json') || type.endsWith('+json')
  return type.startsWith(`${mode}/`)
}

/** Which bindings and versions a client can speak; versions in order of preference. */
interface InterfaceOptions {
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
    .sort((a, b) => rank(a) - rank(b))[0]
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
