import type { OperationName } from '../../src/protocol/operations.ts'
import { operations } from '../../src/protocol/operations.ts'
import { place, type Wild } from './binding.ts'

/**
 * 0.3 as its documents write it, apart from our own dialects: what the tests send and read must not come from the
 * code under test.
 */
const methods: Readonly<Partial<Record<OperationName, string>>> = {
  SendMessage: 'message/send',
  SendStreamingMessage: 'message/stream',
  GetTask: 'tasks/get',
  ListTasks: 'tasks/list',
  CancelTask: 'tasks/cancel',
  SubscribeToTask: 'tasks/resubscribe',
  CreateTaskPushNotificationConfig: 'tasks/pushNotificationConfig/set',
  GetTaskPushNotificationConfig: 'tasks/pushNotificationConfig/get',
  ListTaskPushNotificationConfigs: 'tasks/pushNotificationConfig/list',
  DeleteTaskPushNotificationConfig: 'tasks/pushNotificationConfig/delete',
  GetExtendedAgentCard: 'agent/getAuthenticatedExtendedCard',
}

/** A 1.0 request as 0.3 JSON-RPC. */
export function toRpc03(name: OperationName, request: Wild): { method: string; params: Wild } {
  const method = methods[name] ?? name
  if (request.message) return { method, params: { ...request, ...sendParams(request) } }
  if (name === 'CreateTaskPushNotificationConfig') {
    const { taskId, ...config } = request
    return { method, params: { taskId, pushNotificationConfig: config03(config) } }
  }
  if (name.includes('PushNotificationConfig')) {
    const { taskId, id } = request
    return { method, params: { id: taskId, pushNotificationConfigId: id } }
  }
  return { method, params: request }
}

function sendParams({ message, configuration }: Wild): Wild {
  const { returnImmediately, taskPushNotificationConfig, ...rest } = configuration ?? {}
  return {
    message: {
      ...message,
      kind: 'message',
      role: message.role?.replace('ROLE_', '').toLowerCase(),
      parts: message.parts?.map(part03),
    },
    configuration: {
      ...rest,
      blocking: !returnImmediately,
      ...(taskPushNotificationConfig && {
        pushNotificationConfig: config03(taskPushNotificationConfig),
      }),
    },
  }
}

function part03(part: Wild): Wild {
  if (part.text !== undefined) return { kind: 'text', text: part.text }
  if (part.data !== undefined) return { kind: 'data', data: part.data }
  const { raw, url, filename, mediaType } = part
  return {
    kind: 'file',
    file: { ...(raw ? { bytes: raw } : { uri: url }), name: filename, mimeType: mediaType },
  }
}

function config03({ authentication, ...config }: Wild): Wild {
  if (!authentication) return config
  const { scheme, credentials } = authentication
  return { ...config, authentication: { schemes: [scheme], credentials } }
}

interface Rest03 {
  readonly verb: string
  readonly path: string
  readonly query: string
  readonly body: Wild
}

/** A 1.0 request as 0.3 HTTP+JSON: ProtoJSON of the older package, under `/v1`. */
export function toRest03(name: OperationName, request: Wild): Rest03 {
  const verb = operations[name].rest.verbs[0] ?? 'GET'
  const template = name === 'GetExtendedAgentCard' ? '/card' : operations[name].rest.path
  const { path, query, body } = place(template, request, verb === 'POST')
  if (verb !== 'POST') return { verb, path, query, body: undefined }
  if (request.message) return { verb, path, query, body: sendBody(request) }
  if (name !== 'CreateTaskPushNotificationConfig') return { verb, path, query, body: undefined }
  return { verb, path, query, body: { pushNotificationConfig: config03(body) } }
}

function sendBody({ message, configuration, ...rest }: Wild): Wild {
  const { parts, ...head } = message
  const { returnImmediately, taskPushNotificationConfig, ...more } = configuration ?? {}
  return {
    ...rest,
    message: { ...head, content: parts?.map(protoPart) },
    configuration: {
      ...more,
      blocking: !returnImmediately,
      ...(taskPushNotificationConfig && { pushNotification: config03(taskPushNotificationConfig) }),
    },
  }
}

function protoPart(part: Wild): Wild {
  if (part.text !== undefined) return { text: part.text }
  if (part.data !== undefined) return { data: { data: part.data } }
  const { raw, url, mediaType } = part
  return { file: { ...(raw ? { fileWithBytes: raw } : { fileWithUri: url }), mimeType: mediaType } }
}

const wrappers: Readonly<Record<string, string>> = {
  task: 'task',
  message: 'message',
  'status-update': 'statusUpdate',
  'artifact-update': 'artifactUpdate',
}

/** A 0.3 result of either binding in 1.0's shapes; a task, message or event stands in its wrapper. */
export function from03(value: Wild): Wild {
  const kind = typeof value === 'object' && value !== null ? wrappers[value.kind] : undefined
  return kind === undefined ? translate(value) : { [kind]: translate(value) }
}

function translate(value: Wild): Wild {
  if (Array.isArray(value)) return value.map(translate)
  if (typeof value !== 'object' || value === null) return value
  const out: Record<string, Wild> = {}
  for (const [key, member] of Object.entries<Wild>(value)) {
    if (key === 'kind') continue
    if (key === 'state') out.state = toState(member)
    else if (key === 'role') out.role = toRole(member)
    else if (key === 'content') out.parts = member.map(translate)
    else if (key === 'update') out.message = translate(member)
    else if (key === 'file') Object.assign(out, fromFile(member))
    else if (key === 'pushNotificationConfig') Object.assign(out, fromConfig(member))
    else if (key === 'name' && /^tasks\//.test(member)) out.taskId = member.split('/')[1]
    else if (key === 'data' && isWrapped(value)) out.data = member.data
    else out[key] = translate(member)
  }
  return out
}

function isWrapped(part: Wild): boolean {
  return part.kind === undefined && typeof part.data?.data === 'object'
}

function fromFile({ bytes, fileWithBytes, uri, fileWithUri, name, mimeType }: Wild): Wild {
  const raw = bytes ?? fileWithBytes
  const where = raw === undefined ? { url: uri ?? fileWithUri } : { raw }
  return { ...where, ...(name && { filename: name }), mediaType: mimeType }
}

function fromConfig({ authentication, ...config }: Wild): Wild {
  if (!authentication) return config
  const { schemes, credentials } = authentication
  return { ...config, authentication: { scheme: schemes[0], credentials } }
}

function toState(state: string): string {
  if (state === 'TASK_STATE_CANCELLED') return 'TASK_STATE_CANCELED'
  return state.startsWith('TASK_STATE_')
    ? state
    : `TASK_STATE_${state.toUpperCase().replace('-', '_')}`
}

function toRole(role: string): string {
  return role.startsWith('ROLE_') ? role : `ROLE_${role.toUpperCase()}`
}
