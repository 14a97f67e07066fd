import { A2AError } from '../../../protocol/errors.ts'
import { type OperationName, operationNames, operations } from '../../../protocol/operations.ts'
import type {
  ListTaskPushNotificationConfigsResponse,
  SendMessageRequest,
  TaskPushNotificationConfig,
} from '../../../protocol/types.ts'
import type {
  DecodedRequest,
  Dialect,
  DialectMethod,
  Encoder,
  RequestEncoders,
  ResultEncoders,
} from '../dialect.ts'
import { fromRpcError, toPlainRpcError } from '../errors.ts'
import { asRaw, present } from '../lenient/raw.ts'
import { requestDecoder } from '../lenient/requests.ts'
import { decodeEvent, decodeResult } from '../lenient/results.ts'
import { checkTags } from '../lenient/tags.ts'
import { toSupersetCard } from './card.ts'
import { toConfiguration03, toEvent03, toMessage03, toPushConfig03, toTask03 } from './encode.ts'

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

/** A webhook, or the first of the list that stands in for "the" webhook. */
function encodeWebhook(
  answer: TaskPushNotificationConfig | ListTaskPushNotificationConfigsResponse,
): object {
  const config = 'configs' in answer ? answer.configs[0] : answer
  if (!config) throw new A2AError('taskNotFound', 'The task has no push notification config')
  return toPushConfig03(config)
}
