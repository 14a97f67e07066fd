import { A2AError } from '../../protocol/errors.ts'
import { skillSchemasExtension } from '../../protocol/extensions.ts'
import { type OperationName, operationNames, operations } from '../../protocol/operations.ts'
import { isTerminal } from '../../protocol/task.ts'
import type {
  AgentCard,
  AgentInterface,
  AgentSkill,
  Artifact,
  ListTaskPushNotificationConfigsResponse,
  Message,
  OAuthFlows,
  Part,
  SecurityRequirement,
  SecurityScheme,
  SendMessageConfiguration,
  SendMessageRequest,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskState,
  TaskStatus,
} from '../../protocol/types.ts'
import type {
  DecodedRequest,
  Dialect,
  DialectMethod,
  Encoder,
  RequestEncoders,
  ResultEncoders,
} from './dialect.ts'
import { asRaw, checkTags, methodDecoder, present, requestDecoder } from './lenient.ts'
import { decodeEvent, decodeResult } from './lenient-results.ts'
import { fromRpcError, toPlainRpcError } from './v10.ts'

/** What a 0.3 client sends; its public methods list no tasks. */
const requests: Omit<RequestEncoders, 'filter'> = {
  message: encodeSend,
  task: ({ id, historyLength, metadata }) => present({ id, historyLength, metadata }),
  webhook: toPushConfig03,
  webhookId: ({ taskId, id }) => present({ id: taskId, pushNotificationConfigId: id }),
  nothing: () => undefined,
}

/** What a 0.3 server answers. */
const results: ResultEncoders = {
  answer: (answer) => ('task' in answer ? toTask03(answer.task) : toMessage03(answer.message)),
  events: (result) => result,
  task: toTask03,
  tasks: (list) => ({ ...list, tasks: list.tasks.map(toTask03) }),
  webhook: encodeWebhook,
  webhooks: ({ configs }) => configs.map(toPushConfig03),
  nothing: () => null,
  card: (card) => toSupersetCard(card),
}

/** The states of 0.3 JSON-RPC. */
const states: Readonly<Record<TaskState, string>> = {
  TASK_STATE_UNSPECIFIED: 'unknown',
  TASK_STATE_SUBMITTED: 'submitted',
  TASK_STATE_WORKING: 'working',
  TASK_STATE_COMPLETED: 'completed',
  TASK_STATE_FAILED: 'failed',
  TASK_STATE_CANCELED: 'canceled',
  TASK_STATE_INPUT_REQUIRED: 'input-required',
  TASK_STATE_REJECTED: 'rejected',
  TASK_STATE_AUTH_REQUIRED: 'auth-required',
}

/** The transports that 0.3 knows. Some of its clients refuse a card that names another. */
const transports03: ReadonlySet<string> = new Set(['JSONRPC', 'GRPC', 'HTTP+JSON'])

/** A2A 0.3 over JSON-RPC: slash names, `kind` on everything, `final` on status events. */
export const v03: Dialect = {
  name: '0.3',
  isCanonical: false,
  methods: methodTable(),
  encodeEvent: toEvent03,
  encodeError: (error) => toPlainRpcError(error, '0.3'),
  encodeRequest: (name, request) => {
    const { slashNames, takes } = operations[name]
    if (takes === 'filter') return undefined
    const encode = requests[takes] as Encoder // true: the request is of the kind that the row names
    return { method: slashNames[0], params: encode(request) }
  },
  decodeResult,
  decodeEvent,
  decodeError: (error) => fromRpcError(error, '0.3'),
}

/** The public methods of 0.3, and `tasks/list` of the workshop's first contract. */
function methodTable(): ReadonlyMap<string, DialectMethod> {
  const methods = new Map<string, DialectMethod>()
  for (const operation of operationNames) {
    const { slashNames, gives } = operations[operation]
    const encode = results[gives] as Encoder // true: the result is of the kind that the row names
    methods.set(slashNames[0], { operation, decode: decoder(operation), encode })
  }
  return methods
}

function decoder(operation: OperationName): (params: unknown) => DecodedRequest {
  const { takes } = operations[operation]
  const decode = requestDecoder(takes)
  if (operation === 'GetTaskPushNotificationConfig')
    return (params) => firstIfUnnamed(decode(params))
  if (takes !== 'message') return methodDecoder(takes)
  return (params) => {
    checkTags(asRaw(params)?.message)
    return { request: decode(params) }
  }
}

// Without a config id 0.3 means "the" config: the first of the list.
function firstIfUnnamed(request: unknown): DecodedRequest {
  const raw = asRaw(request)
  return raw && raw.id === undefined
    ? { request, operation: 'ListTaskPushNotificationConfigs' }
    : { request }
}

function encodeSend({ message, configuration, metadata }: SendMessageRequest): object {
  return {
    message: toMessage03(message),
    ...(configuration ? { configuration: toConfiguration03(configuration) } : {}),
    ...(metadata ? { metadata } : {}),
  }
}

/** A webhook, or the first of the list that stands in for "the" webhook. */
function encodeWebhook(
  answer: TaskPushNotificationConfig | ListTaskPushNotificationConfigsResponse,
): object {
  const config = 'configs' in answer ? answer.configs[0] : answer
  if (!config) throw new A2AError('taskNotFound', 'The task has no push notification config')
  return toPushConfig03(config)
}

/** Whether the server closes a stream after this state, 0.3's `final`: at the end, and a send's at a question too. */
export function isFinal(state: TaskState, isSend: boolean): boolean {
  return isTerminal(state) || (isSend && state === 'TASK_STATE_INPUT_REQUIRED')
}

/** Whether a stream was opened by sending a message. */
export function isSend(opening: OperationName): boolean {
  return operations[opening].takes === 'message'
}

/** A task of 0.3 JSON-RPC. */
export function toTask03(task: Task): object {
  const { artifacts, history } = task
  return {
    kind: 'task',
    id: task.id,
    contextId: task.contextId,
    status: toStatus03(task.status),
    ...(artifacts ? { artifacts: artifacts.map(toArtifact03) } : {}),
    ...(history ? { history: history.map(toMessage03) } : {}),
    ...(task.metadata ? { metadata: task.metadata } : {}),
  }
}

/** A message of 0.3 JSON-RPC. */
export function toMessage03(message: Message): object {
  return {
    kind: 'message',
    messageId: message.messageId,
    role: message.role === 'ROLE_USER' ? 'user' : 'agent',
    parts: message.parts.map(toPart03),
    ...(message.contextId === undefined ? {} : { contextId: message.contextId }),
    ...(message.taskId === undefined ? {} : { taskId: message.taskId }),
    ...(message.metadata ? { metadata: message.metadata } : {}),
    ...(message.extensions ? { extensions: message.extensions } : {}),
    ...(message.referenceTaskIds ? { referenceTaskIds: message.referenceTaskIds } : {}),
  }
}

function toStatus03(status: TaskStatus): object {
  return {
    state: states[status.state],
    ...(status.message ? { message: toMessage03(status.message) } : {}),
    ...(status.timestamp === undefined ? {} : { timestamp: status.timestamp }),
  }
}

function toArtifact03(artifact: Artifact): object {
  return { ...artifact, parts: artifact.parts.map(toPart03) }
}

/** A part of 0.3 JSON-RPC. Data that is no object travels in an envelope that SDKs know and undo. */
function toPart03(part: Part): object {
  const metadata = part.metadata ? { metadata: part.metadata } : {}
  if ('text' in part) return { kind: 'text', text: part.text, ...metadata }
  if ('data' in part) return toData03(part)
  const file = 'raw' in part ? { bytes: part.raw } : { uri: part.url }
  return {
    kind: 'file',
    file: {
      ...file,
      ...(part.filename === undefined ? {} : { name: part.filename }),
      ...(part.mediaType === undefined ? {} : { mimeType: part.mediaType }),
    },
    ...metadata,
  }
}

function toData03(part: Extract<Part, { data: unknown }>): object {
  const { data, metadata } = part
  if (typeof data === 'object' && data !== null && !Array.isArray(data))
    return { kind: 'data', data, ...(metadata ? { metadata } : {}) }
  return {
    kind: 'data',
    data: { value: data },
    metadata: { ...metadata, data_part_compat: true },
  }
}

/** A stream's event of 0.3 JSON-RPC: the object itself, told apart by `kind`. */
function toEvent03(event: StreamResponse, opening: OperationName): object {
  if ('task' in event) return toTask03(event.task)
  if ('message' in event) return toMessage03(event.message)
  if ('statusUpdate' in event) {
    const { statusUpdate } = event
    return {
      kind: 'status-update',
      ...statusUpdate,
      status: toStatus03(statusUpdate.status),
      final: isFinal(statusUpdate.status.state, isSend(opening)),
    }
  }
  const { artifactUpdate } = event
  return {
    kind: 'artifact-update',
    ...artifactUpdate,
    artifact: toArtifact03(artifactUpdate.artifact),
  }
}

/** A webhook of 0.3 JSON-RPC, nested under its task. */
function toPushConfig03(config: TaskPushNotificationConfig): object {
  return { taskId: config.taskId ?? '', pushNotificationConfig: toInnerPushConfig03(config) }
}

/** The inner half of a 0.3 webhook. */
export function toInnerPushConfig03(config: TaskPushNotificationConfig): object {
  const { authentication } = config
  return {
    ...(config.id === undefined ? {} : { id: config.id }),
    url: config.url,
    ...(config.token === undefined ? {} : { token: config.token }),
    ...(authentication
      ? {
          authentication: {
            schemes: [authentication.scheme],
            ...(authentication.credentials === undefined
              ? {}
              : { credentials: authentication.credentials }),
          },
        }
      : {}),
  }
}

/** The configuration of a send in 0.3 JSON-RPC. */
function toConfiguration03(configuration: SendMessageConfiguration): object {
  const { acceptedOutputModes, taskPushNotificationConfig, historyLength } = configuration
  return {
    ...(acceptedOutputModes ? { acceptedOutputModes } : {}),
    ...(taskPushNotificationConfig
      ? { pushNotificationConfig: toInnerPushConfig03(taskPushNotificationConfig) }
      : {}),
    ...(historyLength === undefined ? {} : { historyLength }),
    blocking: configuration.returnImmediately !== true,
  }
}

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
