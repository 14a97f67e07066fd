import type { OperationName } from '../../src/protocol/operations.ts'
import type {
  AgentCard,
  Message,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
} from '../../src/protocol/types.ts'

/** Answers and events in which every member of the protocol is set, as 1.0 writes them. */

const metadata = { note: 'n' }
const timestamp = '2026-01-02T03:04:05.678Z'

const message: Message = {
  messageId: 'm',
  contextId: 'c',
  taskId: 't',
  role: 'ROLE_AGENT',
  parts: [
    { text: 'hello', metadata },
    { raw: 'aGk=', filename: 'a.bin', mediaType: 'application/octet-stream' },
    { url: 'https://files.example/a', filename: 'a', mediaType: 'text/plain', metadata },
    { data: { some: ['json'] }, metadata },
  ],
  metadata,
  extensions: ['urn:a'],
  referenceTaskIds: ['u'],
}

const artifact = {
  artifactId: 'a',
  name: 'A',
  description: 'An artifact',
  parts: message.parts,
  metadata,
  extensions: ['urn:a'],
}

const task: Task = {
  id: 't',
  contextId: 'c',
  status: { state: 'TASK_STATE_COMPLETED', message, timestamp },
  artifacts: [artifact],
  history: [message],
  metadata,
}

const webhook: TaskPushNotificationConfig = {
  id: 'w',
  taskId: 't',
  url: 'https://hooks.example/w',
  token: 'k',
  authentication: { scheme: 'Bearer', credentials: 's' },
}

const securityRequirements = [{ schemes: { key: { list: ['read'] } } }]
const flow = { refreshUrl: 'https://a.example/refresh', scopes: { read: 'Reading' } }
const tokenUrl = 'https://a.example/token'
const authorizationUrl = 'https://a.example/authorize'

/** A card with every member that 0.3 has too. */
export const fullCard: AgentCard = {
  name: 'Full',
  description: 'Has everything',
  supportedInterfaces: [
    { url: 'https://a.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: 'x' },
    { url: 'https://a.example', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    { url: 'https://a.example/v1', protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
  ],
  provider: { organization: 'O', url: 'https://o.example' },
  version: '1.0.0',
  documentationUrl: 'https://a.example/docs',
  capabilities: {
    streaming: true,
    pushNotifications: true,
    extendedAgentCard: true,
    extensions: [{ uri: 'urn:a', description: 'A', required: false, params: { a: 1 } }],
  },
  securitySchemes: {
    key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key', description: 'A key' } },
    http: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } },
    code: {
      oauth2SecurityScheme: {
        flows: { authorizationCode: { authorizationUrl, tokenUrl, ...flow } },
        oauth2MetadataUrl: 'https://a.example/meta',
      },
    },
    machine: { oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl, ...flow } } } },
    oidc: { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://a.example/oidc' } },
    mtls: { mtlsSecurityScheme: { description: 'A certificate' } },
  },
  securityRequirements,
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [
    {
      id: 's',
      name: 'S',
      description: 'A skill',
      tags: ['t'],
      examples: ['e'],
      inputModes: ['text/plain'],
      outputModes: ['text/plain'],
      securityRequirements,
    },
  ],
  signatures: [{ protected: 'p', signature: 's', header: { kid: 'k' } }],
  iconUrl: 'https://a.example/icon',
}

/** What operations that answer once answer with. */
export const fullResults: readonly (readonly [OperationName, unknown])[] = [
  ['SendMessage', { task }],
  ['SendMessage', { message }],
  ['GetTask', task],
  ['ListTasks', { tasks: [task], nextPageToken: 'p', pageSize: 1, totalSize: 2 }],
  ['CancelTask', task],
  ['CreateTaskPushNotificationConfig', webhook],
  ['GetTaskPushNotificationConfig', webhook],
  ['ListTaskPushNotificationConfigs', { configs: [webhook], nextPageToken: 'p' }],
  ['GetExtendedAgentCard', fullCard],
]

/** An event of each kind. */
export const fullEvents: readonly StreamResponse[] = [
  { task },
  { message },
  { statusUpdate: { taskId: 't', contextId: 'c', status: task.status, metadata } },
  {
    artifactUpdate: {
      taskId: 't',
      contextId: 'c',
      artifact,
      append: true,
      lastChunk: true,
      metadata,
    },
  },
]

/** Requests that operations can be asked with. */
export const requests = {
  message: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] } },
  task: { id: 't' },
  filter: {},
  webhook,
  webhookId: { taskId: 't', id: 'w' },
  nothing: {},
} as const

/** A member of a value: the names and indexes that lead to it. */
export type Path = readonly (string | number)[]

/** The value with something else in one place. */
export function withAt(value: unknown, [step, ...rest]: Path, wrong: unknown): unknown {
  if (step === undefined) return wrong
  if (Array.isArray(value))
    return value.map((item, i) => (i === step ? withAt(item, rest, wrong) : item))
  const object = value as Record<string, unknown> // a path leads through objects and lists alone
  return { ...object, [step]: withAt(object[step], rest, wrong) }
}

/** Every member of a value, the value itself included; not what is inside free JSON. */
export function* membersOf(
  value: unknown,
  isFree: (path: Path) => boolean,
  path: Path = [],
): Generator<{ readonly path: Path; readonly value: unknown }> {
  yield { path, value }
  if (typeof value !== 'object' || value === null || isFree(path)) return
  const entries = Array.isArray(value) ? value.entries() : Object.entries(value)
  for (const [step, member] of entries) yield* membersOf(member, isFree, [...path, step])
}

/** Values of every JSON type but that of the given one. */
export function wrongFor(value: unknown): readonly unknown[] {
  const samples: Record<string, unknown> = {
    string: 'nonsense',
    number: -7.5,
    boolean: true,
    array: [],
    object: {},
  }
  const type = Array.isArray(value) ? 'array' : typeof value
  return Object.entries(samples)
    .filter(([name]) => name !== type)
    .map(([, sample]) => sample)
}
