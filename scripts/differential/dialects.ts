import type { Random } from '../../test/durability/random.ts'
import type { Known } from './generate.ts'

/** The operations by their names in the specification, and how each dialect spells them. */
export const operationNames = [
  'SendMessage',
  'SendStreamingMessage',
  'GetTask',
  'ListTasks',
  'CancelTask',
  'SubscribeToTask',
  'CreateTaskPushNotificationConfig',
  'GetTaskPushNotificationConfig',
  'ListTaskPushNotificationConfigs',
  'DeleteTaskPushNotificationConfig',
  'GetExtendedAgentCard',
] as const

export type OperationName = (typeof operationNames)[number]
export type DialectName = '1.0' | '1.0-rc' | '0.3' | '0.3-rest' | 'ranch'

type Json = Record<string, unknown>

/** What params are made of. */
interface Matter {
  readonly known: Known
  /** The number of the request. */
  readonly count: number
}

interface Dialect {
  /** Where a request without a version speaks it. */
  readonly path: string
  /** The value of `A2A-Version`; empty where the dialect has none. */
  readonly version: string
  readonly methods: Readonly<Record<OperationName, string>>
  params(operation: OperationName, random: Random, matter: Matter): Json
}

const slash: Readonly<Record<OperationName, string>> = {
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

export const dialects: Readonly<Record<DialectName, Dialect>> = {
  '1.0': {
    path: '/v1/rpc',
    version: '1.0',
    methods: Object.fromEntries(operationNames.map((name) => [name, name])) as Record<
      OperationName,
      string
    >, // one entry each
    params: toParams10,
  },
  '1.0-rc': {
    path: '/v1/rpc',
    version: '',
    methods: {
      ...slash,
      SendStreamingMessage: 'message/sendStreaming',
      SubscribeToTask: 'tasks/subscribe',
      GetExtendedAgentCard: 'agentCard/getExtended',
      CreateTaskPushNotificationConfig: 'tasks/pushNotificationConfig/create',
    },
    params: toParams10,
  },
  '0.3': { path: '/', version: '0.3', methods: slash, params: toParams03 },
  '0.3-rest': {
    path: '/v1',
    version: '0.3',
    methods: slash,
    params: (operation, random, matter) => {
      const { message, configuration, ...rest } = toParams10(operation, random, matter)
      if (message === undefined) return { configId: 'p-1', config: rest, ...rest }
      const { parts, ...others } = message as { readonly parts: unknown } // made by toParams10
      return {
        message: { ...others, content: parts },
        configuration: { ...(configuration as Json), blocking: random.chance(0.8) },
        ...rest,
      }
    },
  },
  ranch: {
    path: '/rpc',
    version: '',
    methods: {
      ...slash,
      GetTask: 'task/get',
      CancelTask: 'task/cancel',
      SubscribeToTask: 'task/resubscribe',
      ListTasks: 'task/status',
      GetExtendedAgentCard: 'agent/card',
    },
    params: toRanch,
  },
}

/** What agents are told: mostly what ends by itself, now and then what holds. */
export function words(random: Random): string {
  const play = random.chance(0.04)
    ? random.pick(['hold', 'mute'])
    : random.pick([
        'string',
        'say',
        'later',
        'nothing',
        'task',
        'ask',
        'auth',
        'reject',
        'fail',
        'break',
        'chunks',
        'parts',
        'states',
        'modes',
        'memory',
        'steps',
        'bad',
        'ask',
        'chunks',
        'approve',
        'yes',
        'no',
        'short',
      ])
  return `${play} ${random.pick(['', 'one', 'one two three', 'grüße 🐎', 'a\nb', '<b>&"', 'x'.repeat(300)])}`
}

function toParams10(operation: OperationName, random: Random, { known, count }: Matter): Json {
  const tenant = random.chance(0.05) ? { tenant: random.pick(['blue', 'red', '']) } : {}
  if (operation === 'SendMessage' || operation === 'SendStreamingMessage')
    return {
      ...tenant,
      message: message10(random, known, count),
      ...maybe(random, 0.5, { configuration: configuration10(random, count) }),
      ...maybe(random, 0.1, { metadata: { of: 'request' } }),
    }
  return { ...tenant, ...taskParams(operation, random, { known, count }) }
}

function message10(random: Random, known: Known, count: number): Json {
  return {
    messageId: random.chance(0.97) ? `m-${count}` : 'm-1',
    role: random.chance(0.97) ? 'ROLE_USER' : 'ROLE_AGENT',
    parts: [
      { text: words(random) },
      ...some(random, [
        { data: { a: [1, null] } },
        { raw: 'QUJD', filename: 'a.txt', mediaType: 'text/plain' },
        { url: 'https://files.example/a', mediaType: 'image/png' },
        { text: 'more', metadata: { k: 1 } },
      ]),
    ],
    ...maybe(random, 0.25, { contextId: random.pick(known.contexts) }),
    ...maybe(random, 0.2, { taskId: random.pick(known.tasks) }),
    ...maybe(random, 0.05, { metadata: { of: 'message', deep: { a: [{}] } } }),
    ...maybe(random, 0.05, { extensions: ['urn:still:extension'] }),
    ...maybe(random, 0.05, { referenceTaskIds: [random.pick(known.tasks)] }),
  }
}

function configuration10(random: Random, count: number): Json {
  return {
    ...maybe(random, 0.4, { returnImmediately: random.chance(0.6) }),
    ...maybe(random, 0.3, { historyLength: random.pick([0, 1, 2, 100, -1]) }),
    ...maybe(random, 0.2, {
      acceptedOutputModes: random.pick([['text/plain'], ['application/json', 'text/*'], []]),
    }),
    ...maybe(random, 0.15, { taskPushNotificationConfig: pushConfig(random, count) }),
  }
}

function pushConfig(random: Random, count: number): Json {
  return {
    url: random.chance(0.8)
      ? `http://127.0.0.1:⟦port⟧/_still/hooks/${count}`
      : random.pick([
          'http://10.0.0.1/',
          'ftp://x',
          '',
          'https://user:pass@a.example/',
          'not a url',
        ]),
    ...maybe(random, 0.5, { id: random.pick(['p-1', 'p-2', 'p-3']) }),
    ...maybe(random, 0.3, { token: 'secret-token' }),
    ...maybe(random, 0.2, { authentication: { scheme: 'Bearer', credentials: 'creds' } }),
  }
}

function taskParams(operation: OperationName, random: Random, { known, count }: Matter): Json {
  const task = random.pick(known.tasks)
  if (operation === 'GetTask')
    return { id: task, ...maybe(random, 0.3, { historyLength: random.pick([0, 1, 5]) }) }
  if (operation === 'CancelTask' || operation === 'SubscribeToTask') return { id: task }
  if (operation === 'ListTasks') return listFilter(random, known)
  if (operation === 'CreateTaskPushNotificationConfig')
    return { taskId: task, ...pushConfig(random, count) }
  if (operation === 'ListTaskPushNotificationConfigs')
    return { taskId: task, ...maybe(random, 0.2, { pageSize: 1 }) }
  if (operation === 'GetExtendedAgentCard') return {}
  return { taskId: task, id: random.pick(known.configs) }
}

function listFilter(random: Random, known: Known): Json {
  return {
    ...maybe(random, 0.4, { contextId: random.pick(known.contexts) }),
    ...maybe(random, 0.3, {
      status: random.pick([
        'TASK_STATE_COMPLETED',
        'TASK_STATE_INPUT_REQUIRED',
        'TASK_STATE_WORKING',
        'TASK_STATE_FAILED',
      ]),
    }),
    pageSize: random.pick([1, 2, 3, 5, 10]),
    ...maybe(random, 0.4, { pageToken: random.pick(known.tokens) }),
    ...maybe(random, 0.2, { historyLength: random.pick([0, 1]) }),
    ...maybe(random, 0.2, { includeArtifacts: random.chance(0.5) }),
    ...maybe(random, 0.2, { statusTimestampAfter: `2026-01-01T0${random.between(0, 3)}:00:00Z` }),
  }
}

function toParams03(operation: OperationName, random: Random, { known, count }: Matter): Json {
  if (operation === 'SendMessage' || operation === 'SendStreamingMessage') {
    const { parts: _parts, role: _role, ...rest } = message10(random, known, count)
    const parts = [
      { kind: 'text', text: words(random) },
      ...some(random, [
        { kind: 'data', data: { a: 1 } },
        { kind: 'file', file: { bytes: 'QUJD', mimeType: 'text/plain', name: 'a' } },
        { kind: 'file', file: { uri: 'https://files.example/a' } },
      ]),
    ]
    const configuration = {
      ...maybe(random, 0.4, { blocking: random.chance(0.5) }),
      ...maybe(random, 0.2, { historyLength: 1 }),
      ...maybe(random, 0.15, { pushNotificationConfig: pushConfig(random, count) }),
    }
    return {
      message: { kind: 'message', role: 'user', parts, ...rest },
      ...maybe(random, 0.5, { configuration }),
    }
  }
  const { taskId, id, ...rest } = taskParams(operation, random, { known, count })
  if (operation === 'CreateTaskPushNotificationConfig')
    return { taskId, pushNotificationConfig: { id, ...rest } }
  if (operation.endsWith('PushNotificationConfig'))
    return { id: taskId, pushNotificationConfigId: id }
  return { id: id ?? taskId, ...rest }
}

function toRanch(operation: OperationName, random: Random, { known, count }: Matter): Json {
  if (operation !== 'SendMessage' && operation !== 'SendStreamingMessage') {
    const { id, taskId = id } = taskParams(operation, random, { known, count })
    return { task_id: random.chance(0.5) ? taskId : `task-${taskId}` }
  }
  const parts = [
    { type: 'text', text: words(random) },
    ...some(random, [
      { type: 'data', data: { a: 1 } },
      { type: 'file', file: { bytes: 'QUJD', mimeType: 'text/plain' } },
    ]),
  ]
  const context = maybe(random, 0.2, { context_id: random.pick(known.contexts) })
  const task = maybe(random, 0.15, { task_id: random.pick(known.tasks) })
  return {
    message: { role: 'user', parts, ...context, ...task },
    ...maybe(random, 0.2, { immediate: random.chance(0.5) }),
  }
}

/** Method, path and query of an operation in HTTP+JSON. */
export function restPath(
  operation: OperationName,
  random: Random,
  known: Known,
): { readonly method: string; readonly path: string; readonly query: string } {
  const task = random.pick(known.tasks)
  const configs = `/tasks/${task}/pushNotificationConfigs`
  const at = (
    method: string,
    path: string,
    query = '',
  ): { method: string; path: string; query: string } => ({ method, path, query })
  if (operation === 'SendMessage') return at('POST', '/message:send')
  if (operation === 'SendStreamingMessage') return at('POST', '/message:stream')
  if (operation === 'GetTask')
    return at(
      'GET',
      `/tasks/${task}`,
      random.chance(0.3) ? `?historyLength=${random.pick(['0', '1', '-1', 'x'])}` : '',
    )
  if (operation === 'ListTasks') return at('GET', '/tasks', toQuery(listFilter(random, known)))
  if (operation === 'CancelTask') return at('POST', `/tasks/${task}:cancel`)
  if (operation === 'SubscribeToTask')
    return at(random.pick(['GET', 'POST']), `/tasks/${task}:subscribe`)
  if (operation === 'CreateTaskPushNotificationConfig') return at('POST', configs)
  if (operation === 'ListTaskPushNotificationConfigs') return at('GET', configs)
  if (operation === 'GetExtendedAgentCard')
    return at('GET', random.pick(['/extendedAgentCard', '/card']))
  const one = `${configs}/${random.pick(known.configs)}`
  return at(operation === 'DeleteTaskPushNotificationConfig' ? 'DELETE' : 'GET', one)
}

function toQuery(filter: Json): string {
  return `?${Object.entries(filter)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')}`
}

function maybe(random: Random, probability: number, value: Json): Json {
  return random.chance(probability) ? value : {}
}

function some(random: Random, all: readonly Json[]): readonly Json[] {
  return random.chance(0.2) ? [random.pick(all)] : []
}
