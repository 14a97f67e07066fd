import { A2AError } from '../../../protocol/errors.ts'
import {
  type OperationName,
  operationNames,
  operations,
  type RequestKind,
  type ResultKind,
} from '../../../protocol/operations.ts'
import type {
  AgentCard,
  CancelTaskRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksResponse,
  SendMessageRequest,
  SendMessageResponse,
  Task,
  TaskPushNotificationConfig,
} from '../../../protocol/types.ts'
import type { DecodedRequest, Dialect, DialectMethod } from '../dialect.ts'
import { fromRpcError, toPlainRpcError } from '../errors.ts'
import { asRaw, present } from '../lenient/raw.ts'
import { requestDecoder } from '../lenient/requests.ts'
import { decodeEvent, decodeResult } from '../lenient/results.ts'
import { checkTags } from '../lenient/tags.ts'
import { toSupersetCard } from './card.ts'
import { toConfiguration03, toEvent03, toMessage03, toPushConfig03, toTask03 } from './encode.ts'

/** What a 0.3 client sends. Dispatch gives each operation its own request type, so that each `as` here is true. */
const requests: Readonly<Record<Exclude<RequestKind, 'filter'>, (request: unknown) => unknown>> = {
  message: (request) => encodeSend(request as SendMessageRequest),
  task: (request) => {
    const { id, historyLength, metadata } = request as GetTaskRequest & CancelTaskRequest
    return present({ id, historyLength, metadata })
  },
  webhook: (request) => toPushConfig03(request as TaskPushNotificationConfig),
  webhookId: (request) => {
    const { taskId, id } = request as { readonly taskId: string; readonly id?: string }
    return present({ id: taskId, pushNotificationConfigId: id })
  },
  nothing: () => undefined,
}

/**
 * What a 0.3 server answers. The gate has checked what goes in and the engine makes what comes out, so that each `as`
 * here is true.
 */
const results: Readonly<Record<ResultKind, (result: unknown) => unknown>> = {
  answer: (result) => {
    const answer = result as SendMessageResponse
    return 'task' in answer ? toTask03(answer.task) : toMessage03(answer.message)
  },
  events: (result) => result,
  task: (result) => toTask03(result as Task),
  tasks: (result) => {
    const list = result as ListTasksResponse
    return { ...list, tasks: list.tasks.map(toTask03) }
  },
  webhook: encodeWebhook,
  webhooks: (result) =>
    (result as ListTaskPushNotificationConfigsResponse).configs.map(toPushConfig03),
  nothing: () => null,
  card: (result) => toSupersetCard(result as AgentCard),
}

/** A2A 0.3 over JSON-RPC: slash names, `kind` on everything, `final` on status events. */
export const v03: Dialect = {
  name: '0.3',
  isCanonical: false,
  methods: methodTable(),
  encodeEvent: toEvent03,
  encodeError: (error) => toPlainRpcError(error, '0.3'),
  encodeRequest: (name, request) => {
    const { slashNames, takes } = operations[name]
    // The public methods of 0.3 list no tasks.
    if (takes === 'filter') return undefined
    return { method: slashNames[0], params: requests[takes](request) }
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
    methods.set(slashNames[0], { operation, decode: decoder(operation), encode: results[gives] })
  }
  return methods
}

function decoder(operation: OperationName): (params: unknown) => DecodedRequest {
  const { takes } = operations[operation]
  const decode = requestDecoder(takes)
  if (operation === 'GetTaskPushNotificationConfig')
    return (params) => firstIfUnnamed(decode(params))
  if (takes !== 'message') return (params) => ({ request: decode(params) })
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

function encodeWebhook(result: unknown): object {
  // true: a config, or the list that stands in for "the" config
  const answer = result as TaskPushNotificationConfig | ListTaskPushNotificationConfigsResponse
  const config = 'configs' in answer ? answer.configs[0] : answer
  if (!config) throw new A2AError('taskNotFound', 'The task has no push notification config')
  return toPushConfig03(config)
}
