import type { OperationName } from '../../src/protocol/operations.ts'
import type { Recorded, RecordedWire } from './recording.ts'

/**
 * What a server of a2a-python writes, from its source. 1.0, and 0.3 over HTTP+JSON, are `MessageToDict` of protocol
 * buffers: what is empty is left out, but for pages of tasks, where everything is printed; moments have microseconds.
 * 0.3 over JSON-RPC is `model_dump(by_alias, exclude_none)` of its models; moments are those of `isoformat()`. Its card
 * is that of 1.0 with all members of 0.3 merged in, at every depth.
 */

const proto = '2026-01-02T03:04:05.678901Z'
const iso = '2026-01-02T03:04:05.678901+00:00'

const message10 = {
  messageId: 'm',
  role: 'ROLE_AGENT',
  parts: [{ text: 'Hi' }, { data: { n: 1 } }],
}
const task10 = {
  id: 't',
  contextId: 'c',
  status: { state: 'TASK_STATE_COMPLETED', timestamp: proto },
  artifacts: [{ artifactId: 'a', parts: [{ raw: 'aGk=', mediaType: 'text/plain' }] }],
  history: [{ messageId: 'u', taskId: 't', role: 'ROLE_USER', parts: [{ text: 'go' }] }],
}
/** A task with all that is printed where nothing is left out. */
const printed = {
  id: 't',
  contextId: '',
  status: { state: 'TASK_STATE_WORKING', timestamp: proto },
  artifacts: [],
  history: [
    {
      messageId: 'u',
      contextId: '',
      taskId: 't',
      role: 'ROLE_USER',
      parts: [{ text: 'go', filename: '', mediaType: '' }],
      extensions: [],
      referenceTaskIds: [],
    },
  ],
}
const webhook10 = { id: 'w', taskId: 't', url: 'https://a.example', token: 'k' }

const message03 = {
  kind: 'message',
  messageId: 'm',
  role: 'agent',
  parts: [
    { kind: 'text', text: 'Hi' },
    { kind: 'data', data: { value: [1] }, metadata: { data_part_compat: true } },
  ],
}
const task03 = {
  artifacts: [
    {
      artifactId: 'a',
      parts: [{ file: { bytes: 'aGk=', mimeType: 'text/plain', name: 'a' }, kind: 'file' }],
    },
  ],
  contextId: 'c',
  history: [{ ...message03, role: 'user' }],
  id: 't',
  kind: 'task',
  status: { message: message03, state: 'input-required', timestamp: iso },
}
const webhook03 = { pushNotificationConfig: { id: 'w', url: 'https://a.example' }, taskId: 't' }

const restMessage03 = {
  messageId: 'm',
  role: 'ROLE_AGENT',
  content: [{ text: 'Hi' }, { data: { data: { n: 1 } } }],
}
const restTask03 = {
  id: 't',
  contextId: 'c',
  status: { state: 'TASK_STATE_CANCELLED', message: restMessage03, timestamp: proto },
  artifacts: [
    { artifactId: 'a', parts: [{ file: { fileWithBytes: 'aGk=', mimeType: 'text/plain' } }] },
  ],
}
const restWebhook03 = {
  name: 'tasks/t/pushNotificationConfigs/w',
  pushNotificationConfig: { id: 'w', url: 'https://a.example', authentication: {} },
}

const answers10: readonly (readonly [OperationName, unknown])[] = [
  ['SendMessage', { message: message10 }],
  ['SendMessage', { task: task10 }],
  ['GetTask', task10],
  ['ListTasks', { tasks: [printed], nextPageToken: '', pageSize: 50, totalSize: 1 }],
  ['CancelTask', task10],
  ['CreateTaskPushNotificationConfig', webhook10],
  ['GetTaskPushNotificationConfig', webhook10],
  ['ListTaskPushNotificationConfigs', { configs: [webhook10] }],
  ['ListTaskPushNotificationConfigs', {}],
  ['DeleteTaskPushNotificationConfig', null],
]
const events10 = [
  { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_SUBMITTED' } } },
  { statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } },
  { artifactUpdate: { taskId: 't', contextId: 'c', artifact: task10.artifacts[0], append: true } },
  // The last chunk, which only says so: its empty list of parts is left out.
  {
    artifactUpdate: {
      taskId: 't',
      contextId: 'c',
      artifact: { artifactId: 'a' },
      lastChunk: true,
    },
  },
]

const answers03: readonly (readonly [OperationName, unknown])[] = [
  ['SendMessage', message03],
  ['SendMessage', task03],
  ['GetTask', task03],
  ['CancelTask', task03],
  ['CreateTaskPushNotificationConfig', webhook03],
  ['GetTaskPushNotificationConfig', webhook03],
  ['ListTaskPushNotificationConfigs', [webhook03]],
]
const events03 = [
  task03,
  {
    contextId: 'c',
    final: true,
    kind: 'status-update',
    status: { state: 'completed', timestamp: iso },
    taskId: 't',
  },
  {
    append: false,
    artifact: { artifactId: 'a', parts: [{ kind: 'text', text: 'Hi' }] },
    contextId: 'c',
    kind: 'artifact-update',
    lastChunk: true,
    taskId: 't',
  },
]

const restAnswers03: readonly (readonly [OperationName, unknown])[] = [
  ['SendMessage', { message: restMessage03 }],
  ['SendMessage', { task: restTask03 }],
  ['GetTask', restTask03],
  ['CancelTask', restTask03],
  ['CreateTaskPushNotificationConfig', restWebhook03],
  ['GetTaskPushNotificationConfig', restWebhook03],
  ['ListTaskPushNotificationConfigs', { configs: [restWebhook03] }],
]
const restEvents03 = [
  { task: restTask03 },
  { statusUpdate: { taskId: 't', contextId: 'c', status: restTask03.status, final: true } },
  { artifactUpdate: { taskId: 't', contextId: 'c', artifact: restTask03.artifacts[0] } },
]

const card = {
  name: 'Python',
  description: 'Says hello',
  supportedInterfaces: [
    { url: 'http://127.0.0.1:9999', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
  ],
  version: '1.0.0',
  capabilities: { streaming: true, extendedAgentCard: true },
  securitySchemes: {
    key: {
      apiKeySecurityScheme: { location: 'header', name: 'X-Key' },
      in: 'header',
      name: 'X-Key',
      type: 'apiKey',
    },
  },
  securityRequirements: [{ schemes: { key: {} } }],
  security: [{ key: [] }],
  defaultInputModes: ['text'],
  defaultOutputModes: ['text'],
  skills: [{ id: 's', name: 'S', description: 'A skill', tags: ['t'] }],
  url: 'http://127.0.0.1:9999',
  preferredTransport: 'JSONRPC',
  protocolVersion: '0.3.0',
  supportsAuthenticatedExtendedCard: true,
}

const inRpc = (result: unknown): object => ({ jsonrpc: '2.0', id: 1, result })
const bare = (result: unknown): unknown => result

/** All of it, as if it had been recorded. */
export const pythonAnswers: readonly Recorded[] = [
  { wire: 'card', type: 'application/json', body: JSON.stringify(card) },
  ...over('JSONRPC 1.0', inRpc, [answers10, events10]),
  ...over('HTTP+JSON 1.0', bare, [answers10, events10]),
  ...over('JSONRPC 0.3', inRpc, [answers03, events03]),
  ...over('HTTP+JSON 0.3', bare, [restAnswers03, restEvents03]),
]

function over(
  wire: RecordedWire,
  wrap: (result: unknown) => unknown,
  [answers, events]: readonly [readonly (readonly [OperationName, unknown])[], readonly unknown[]],
): readonly Recorded[] {
  const stream = events.map((event) => `data: ${JSON.stringify(wrap(event))}\r\n\r\n`).join('')
  return [
    ...answers.map(([operation, result]) => ({
      wire,
      operation,
      type: 'application/json',
      body: JSON.stringify(wrap(result)),
    })),
    { wire, operation: 'SendStreamingMessage', type: 'text/event-stream', body: stream },
    { wire, operation: 'SubscribeToTask', type: 'text/event-stream', body: stream },
  ]
}
