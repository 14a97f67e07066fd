import { A2AError } from '../../protocol/errors.ts'
import { type OperationName, operations, type ResultKind } from '../../protocol/operations.ts'
import {
  asRaw,
  camelCased,
  decodeMessage,
  decodePart,
  decodePushConfig,
  decodeState,
  ownMember,
  pick,
  present,
  put,
  type Raw,
} from './lenient.ts'

/**
 * What a peer answers, in any dialect, in canonical spelling: wrapped (`{ task }`), tagged by `kind`, or bare. What
 * makes no sense is handed on, and the border refuses it.
 */
export function decodeResult(name: OperationName, result: unknown): unknown {
  return decoders[operations[name].gives](result)
}

const decoders: Readonly<Record<ResultKind, (result: unknown) => unknown>> = {
  answer: decodeAnswer,
  events: decodeEvent,
  task: decodeTask,
  tasks: decodePage,
  webhook: decodeWebhook,
  webhooks: decodeWebhooks,
  nothing: () => null,
  card: decodeCard,
}

/** An event of a stream or webhook in any dialect. */
export function decodeEvent(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw) return value
  const status = pick(raw, 'statusUpdate', 'status_update', 'task-status-update')
  if (status !== undefined) return { statusUpdate: decodeStatusUpdate(status) }
  const artifact = pick(raw, 'artifactUpdate', 'artifact_update', 'task-artifact-update')
  if (artifact !== undefined) return { artifactUpdate: decodeArtifactUpdate(artifact) }
  if (raw.kind === 'status-update') return { statusUpdate: decodeStatusUpdate(raw) }
  if (raw.kind === 'artifact-update') return { artifactUpdate: decodeArtifactUpdate(raw) }
  if (raw.artifact !== undefined) return { artifactUpdate: decodeArtifactUpdate(raw) }
  if (isStatusOnly(raw)) return { statusUpdate: decodeStatusUpdate(raw) }
  return decodeAnswer(value)
}

// RANCH's status events have no tag; a task has an id of its own.
function isStatusOnly({ kind, status, id, task }: Raw): boolean {
  return kind === undefined && status !== undefined && id === undefined && task === undefined
}

/**
 * A task or a message, however it is marked. The order tells them apart: what says what it is comes first, then what is
 * wrapped, then a task by its status, and what is left may be a bare message.
 */
function decodeAnswer(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw) return value
  const { kind, status } = raw
  if (kind === 'task') return { task: decodeTask(raw) }
  if (kind === 'message') return { message: toMessage(raw) }
  if (asRaw(raw.task) || (status === undefined && pick(raw, 'task') !== undefined))
    return { task: decodeTask(raw.task) }
  const message = pick(raw, 'message', 'msg')
  if (message !== undefined && status === undefined) return { message: toMessage(message) }
  if (status !== undefined) return { task: decodeTask(raw) }
  return isMessage(raw) ? { message: toMessage(raw) } : value
}

function isMessage({ parts, content, role }: Raw): boolean {
  return parts !== undefined || content !== undefined || role !== undefined
}

/** A task in any dialect. */
function decodeTask(value: unknown): unknown {
  const outer = asRaw(value)
  const raw = asRaw(outer?.task) ?? outer
  if (!raw) return value
  const task: Record<string, unknown> = {
    id: pick(raw, 'id', 'taskId', 'task_id'),
    status: decodeStatus(quirks.flatStatus(raw.status)),
  }
  put(task, 'contextId', pick(raw, 'contextId', 'context_id'))
  put(task, 'artifacts', all(raw.artifacts ?? quirks.resultForArtifact(raw.result), decodeArtifact))
  put(task, 'history', all(raw.history, toMessage))
  put(task, 'metadata', raw.metadata)
  return task
}

/** The list with each item decoded; what is no list as it is. */
function all(list: unknown, decode: (item: unknown) => unknown): unknown {
  return Array.isArray(list) ? list.map(decode) : list
}

function decodeStatus(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw) return value
  const said = pick(raw, 'message', 'update') ?? quirks.reasonForMessage(raw.reason)
  const status: Record<string, unknown> = {}
  put(status, 'state', decodeState(raw.state))
  put(status, 'message', said === undefined ? undefined : toMessage(said))
  put(status, 'timestamp', quirks.unzonedTime(pick(raw, 'timestamp', 'updated_at', 'updatedAt')))
  return status
}

function toMessage(value: unknown): unknown {
  const message = decodeMessage(value)
  const raw = asRaw(message)
  return raw && quirks.unsetRole(raw.role) === null ? { ...raw, role: undefined } : message
}

function decodeArtifact(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw) return value
  const artifact: Record<string, unknown> = {}
  put(artifact, 'artifactId', pick(raw, 'artifactId', 'artifact_id'))
  put(artifact, 'name', raw.name)
  put(artifact, 'description', raw.description)
  put(artifact, 'parts', all(raw.parts, decodePart))
  put(artifact, 'metadata', raw.metadata)
  put(artifact, 'extensions', raw.extensions)
  return artifact
}

function decodeStatusUpdate(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw) return value
  const status = decodeStatus(raw.status)
  const known = asRaw(status)
  // RANCH's last status brings the message as `result`.
  const said = known && known.message === undefined ? pick(raw, 'result') : undefined
  return {
    ...placeOf(raw),
    status: said === undefined ? status : { ...known, message: toMessage(said) },
  }
}

function decodeArtifactUpdate(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw) return value
  const update = placeOf(raw)
  update.artifact = decodeArtifact(raw.artifact)
  put(update, 'append', raw.append)
  put(update, 'lastChunk', pick(raw, 'lastChunk', 'last_chunk'))
  return update
}

/** Which task and context an update is of, and what is said beside it. */
function placeOf(raw: Raw): Record<string, unknown> {
  const place: Record<string, unknown> = {}
  put(place, 'taskId', pick(raw, 'taskId', 'task_id'))
  put(place, 'contextId', pick(raw, 'contextId', 'context_id'))
  put(place, 'metadata', raw.metadata)
  return place
}

function decodePage(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw) return value
  const page = quirks.uncounted(camelCased(raw))
  return present({ ...page, tasks: all(raw.tasks, decodeTask) })
}

function decodeWebhook(value: unknown): unknown {
  const raw = asRaw(decodePushConfig(value))
  return raw ? quirks.emptyAuthentication(raw) : value
}

function decodeWebhooks(value: unknown): unknown {
  const raw = asRaw(quirks.bareList(value))
  return raw ? present({ ...camelCased(raw), configs: all(raw.configs, decodeWebhook) }) : value
}

/**
 * A card of any generation in canonical spelling: 1.0, the superset of both, 0.3, or a bare card with just a url.
 * Signatures of a translated card are dropped: they no longer fit it. What makes no sense is handed on, and the border
 * refuses it.
 *
 * @throws A2AError `invalidAgentResponse` for what is no card.
 */
export function decodeCard(value: unknown): unknown {
  const given = asRaw(value)
  // A signature of a 1.0 card does not cover members that 1.0 does not know, so these must not become ones that it does.
  const raw = given?.supportedInterfaces === undefined ? given && camelCased(given) : given
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

/** Major and minor; 0.2, which some servers of 0.3 still name in their cards, has the same wire. */
function minor(version: unknown): unknown {
  if (typeof version !== 'string') return version
  const [major = '0', second = '3'] = version.split('.')
  return major === '0' && second === '2' ? '0.3' : `${major}.${second}`
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

/**
 * What real peers write that no specification has. Each quirk takes what the peer wrote and gives what it means, or
 * hands it on where the quirk is not there. One row, one test (`quirks.test.ts`).
 */
export const quirks = {
  /** RANCH's README shows a task as `{ task_id, status: "queued" }`. */
  flatStatus: (status: unknown): unknown =>
    typeof status === 'string' ? { state: status } : status,

  /** RANCH tells why in a status' `reason`, where A2A has the status message. */
  reasonForMessage: (reason: unknown): unknown =>
    reason === undefined || reason === null
      ? undefined
      : { messageId: 'reason', role: 'ROLE_AGENT', parts: [{ text: reason }] },

  /** RANCH gives a finished task's answer as its `result`, a message; it becomes the artifact `response`. */
  resultForArtifact: (result: unknown): unknown => {
    if (result === undefined || result === null) return undefined
    const message = asRaw(result)
    return [message ? { artifactId: 'response', parts: message.parts } : result]
  },

  /** Python and 0.3's examples write moments without a zone, or with one without a colon: `+0000`. */
  unzonedTime: (timestamp: unknown): unknown => {
    if (typeof timestamp !== 'string') return timestamp
    const zoned = /(?:Z|[+-]\d\d:?\d\d)$/i.test(timestamp) ? timestamp : `${timestamp}Z`
    const ms = Date.parse(zoned)
    return Number.isNaN(ms) ? timestamp : new Date(ms).toISOString()
  },

  /** Protocol buffers write a role that nobody set by this name; only agents answer. */
  unsetRole: (role: unknown): unknown => (role === 'ROLE_UNSPECIFIED' || role === 0 ? null : role),

  /** Servers of 0.3 answer with a bare list of webhooks, those in Go with null where it is empty. */
  bareList: (configs: unknown): unknown =>
    Array.isArray(configs) ? { configs } : (configs ?? { configs: [] }),

  /** Some servers do not count their tasks: a page is then as large as it is. */
  uncounted: (page: Raw): Raw => {
    const size = Array.isArray(page.tasks) ? page.tasks.length : undefined
    return { ...page, pageSize: page.pageSize ?? size, totalSize: page.totalSize ?? size }
  },

  /** Protocol buffers write the authentication that a webhook does not have as an empty one. */
  emptyAuthentication: (config: Raw): Raw => {
    const authentication = asRaw(config.authentication)
    const { scheme = '', credentials = '' } = authentication ?? {}
    return authentication && scheme === '' && credentials === ''
      ? { ...config, authentication: undefined }
      : config
  },

  /** A card's list of interfaces may have holes. */
  nullOffers: (offers: unknown): unknown =>
    Array.isArray(offers) ? offers.filter((offer) => offer !== null) : offers,

  /** Cards of RANCH's kin call the provider's organization its name. */
  namedProvider: (provider: Raw): Raw => {
    const { name, ...rest } = provider
    return { ...rest, organization: rest.organization ?? name }
  },

  /** VoltAgent writes the record separator of JSON text sequences (RFC 7464) before each event of a stream. */
  recordSeparator: (data: string): string => (data.startsWith('\u001e') ? data.slice(1) : data),

  /** Some cards list the names of security schemes, of which any one is enough. */
  namedRequirement: (requirement: unknown): unknown =>
    typeof requirement === 'string' ? { schemes: { [requirement]: { list: [] } } } : requirement,
} as const
