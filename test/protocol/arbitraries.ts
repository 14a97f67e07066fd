import fc from 'fast-check'
import type { OperationName } from '../../src/protocol/operations.ts'

/** Valid objects of the wire, and ways to spoil them. */

type Wire = Record<string, unknown>

const id = fc.string({ minLength: 1, maxLength: 8 })
const word = fc.string({ maxLength: 6 })
const json = fc.jsonValue({ maxDepth: 3 })
const struct = fc.dictionary(fc.oneof(word, fc.constant('__proto__')), json, { maxKeys: 3 })
const strings = fc.array(id, { maxLength: 3 })
const anyStrings = fc.array(word, { maxLength: 3 })

const base64 = fc
  .tuple(fc.uint8Array({ maxLength: 9 }), fc.constantFrom('base64', 'base64url'), fc.boolean())
  .map(([bytes, alphabet, padded]) => {
    const text = Buffer.from(bytes).toString(alphabet as 'base64' | 'base64url') // one of the two above
    return padded ? text.padEnd(Math.ceil(text.length / 4) * 4, '=') : text.replace(/=+$/, '')
  })

const states = [
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_INPUT_REQUIRED',
]
const state = fc.oneof(fc.constantFrom(...states), fc.integer({ min: 0, max: 8 }))
const role = fc.constantFrom<unknown>('ROLE_USER', 'ROLE_AGENT', 1, 2)

const instant = fc
  .date({ min: new Date('0001-01-02T00:00:00Z'), max: new Date('9998-12-30'), noInvalidDate: true })
  .map((date) => date.toISOString())
const timestamp = fc.oneof(
  instant,
  instant.map((text) => text.replace('Z', '+02:00')),
  instant.map((text) => text.replace(/\.\d+Z/, '.123456Z')),
  instant.map((text) => text.replace(/\.\d+Z/, '')),
  instant.map((text) => text.slice(0, 10)),
)

/** All of these may be there or not. */
function some(fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Wire> {
  return fc.record(fields, { requiredKeys: [] })
}

/** The first always, the second perhaps. */
function both(
  needed: Record<string, fc.Arbitrary<unknown>>,
  optional: Record<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<Wire> {
  return fc.tuple(fc.record(needed), some(optional)).map(([a, b]) => ({ ...a, ...b }))
}

const part = fc
  .tuple(
    fc.oneof(
      fc.record({ text: word }),
      fc.record({ raw: base64 }),
      fc.record({ url: id }),
      fc.record({ data: json }),
    ),
    some({ metadata: struct, filename: word, mediaType: word }),
  )
  .map(([content, details]) => ({ ...content, ...details }))

const message = both(
  { messageId: id, role, parts: fc.array(part, { minLength: 1, maxLength: 3 }) },
  {
    contextId: word,
    taskId: word,
    metadata: struct,
    extensions: strings,
    referenceTaskIds: strings,
  },
)
const artifact = both(
  { artifactId: id, parts: fc.array(part, { maxLength: 3 }) },
  { name: word, description: word, metadata: struct, extensions: strings },
)
const status = both({ state }, { message, timestamp })
const task = both(
  { id, status },
  {
    contextId: word,
    artifacts: fc.array(artifact, { maxLength: 2 }),
    history: fc.array(message, { maxLength: 2 }),
    metadata: struct,
  },
)
const ids = { taskId: id, contextId: id }
const flags = { append: fc.boolean(), lastChunk: fc.boolean(), metadata: struct }
const streamResponse = fc.oneof(
  fc.record({ task }),
  fc.record({ message }),
  fc.record({ statusUpdate: both({ ...ids, status }, { metadata: struct }) }),
  fc.record({ artifactUpdate: both({ ...ids, artifact }, flags) }),
)
const authentication = both({ scheme: id }, { credentials: word })
const pushConfig = both(
  { url: id },
  { tenant: word, id: word, taskId: word, token: word, authentication },
)
const count = fc.oneof(
  fc.integer({ min: 0, max: 120 }),
  fc.integer({ min: 0, max: 120 }).map(String),
)
const configuration = some({
  acceptedOutputModes: strings,
  taskPushNotificationConfig: pushConfig,
  historyLength: count,
  returnImmediately: fc.boolean(),
})
const send = both({ message }, { tenant: word, configuration, metadata: struct })
const oneConfig = both({ taskId: id, id }, { tenant: word })

/** Requests that are valid, nearly all of them: a message may say nothing, a page may be too large. */
export const requests: Record<OperationName, fc.Arbitrary<Wire>> = {
  SendMessage: send,
  SendStreamingMessage: send,
  GetTask: both({ id }, { tenant: word, historyLength: count }),
  ListTasks: some({
    tenant: word,
    contextId: word,
    status: state,
    pageSize: count,
    pageToken: word,
    historyLength: count,
    statusTimestampAfter: fc.oneof(timestamp, fc.nat(), fc.nat().map(String)),
    includeArtifacts: fc.boolean(),
  }),
  CancelTask: both({ id }, { tenant: word, metadata: struct }),
  SubscribeToTask: both({ id }, { tenant: word }),
  CreateTaskPushNotificationConfig: both(
    { url: id, taskId: id },
    { id: word, token: word, authentication },
  ),
  GetTaskPushNotificationConfig: oneConfig,
  ListTaskPushNotificationConfigs: both({ taskId: id }, { pageSize: count, pageToken: word }),
  DeleteTaskPushNotificationConfig: oneConfig,
  GetExtendedAgentCard: some({ tenant: word }),
}

const scopes = fc.dictionary(word, word, { maxKeys: 2 })
const securityScheme = fc.oneof(
  fc.record({
    apiKeySecurityScheme: both(
      { location: fc.constantFrom('query', 'header', 'cookie'), name: id },
      { description: word },
    ),
  }),
  fc.record({ httpAuthSecurityScheme: both({ scheme: id }, { bearerFormat: word }) }),
  fc.record({
    oauth2SecurityScheme: fc.record({
      flows: fc.oneof(
        fc.record({ clientCredentials: both({ tokenUrl: id }, { scopes, refreshUrl: word }) }),
        fc.record({ password: some({ tokenUrl: word, scopes }) }),
        fc.record({
          authorizationCode: both(
            { authorizationUrl: id, tokenUrl: id },
            { scopes, pkceRequired: fc.boolean() },
          ),
        }),
      ),
    }),
  }),
  fc.record({ openIdConnectSecurityScheme: fc.record({ openIdConnectUrl: id }) }),
  fc.record({ mtlsSecurityScheme: some({ description: word }) }),
)
const securityRequirements = fc.array(
  fc.record({ schemes: fc.dictionary(word, some({ list: anyStrings }), { maxKeys: 2 }) }),
  { maxLength: 2 },
)
const agentInterface = both({ url: id, protocolBinding: id }, { tenant: word, protocolVersion: id })
const skill = both(
  { id, name: id },
  { description: word, tags: anyStrings, examples: anyStrings, securityRequirements },
)
const extension = both({ uri: id }, { description: word, required: fc.boolean(), params: struct })

/** Agent cards, complete or with gaps that a reader bears. */
export const agentCard: fc.Arbitrary<Wire> = both(
  {
    name: id,
    supportedInterfaces: fc.array(agentInterface, { minLength: 1, maxLength: 2 }),
  },
  {
    description: word,
    version: word,
    provider: some({ url: word, organization: word }),
    documentationUrl: word,
    capabilities: some({
      streaming: fc.boolean(),
      pushNotifications: fc.boolean(),
      extensions: fc.array(extension, { maxLength: 2 }),
      extendedAgentCard: fc.boolean(),
    }),
    securitySchemes: fc.dictionary(word, securityScheme, { maxKeys: 2 }),
    securityRequirements,
    defaultInputModes: anyStrings,
    defaultOutputModes: anyStrings,
    skills: fc.array(skill, { maxLength: 2 }),
    signatures: fc.array(both({ protected: id, signature: id }, { header: struct }), {
      maxLength: 1,
    }),
    iconUrl: word,
  },
)

/** What clients receive. */
export const responses: Record<
  'task' | 'message' | 'streamResponse' | 'sendMessageResponse' | 'pushConfig' | 'agentCard',
  fc.Arbitrary<Wire>
> = {
  task,
  message,
  streamResponse,
  sendMessageResponse: fc.oneof(fc.record({ task }), fc.record({ message })),
  pushConfig,
  agentCard,
}

type Mutation = (holder: Wire, key: string) => void

/** Sets a member as JSON.parse does: one named `__proto__` is a member like any other. */
function put(holder: Wire, key: string, value: unknown): void {
  const whole = { enumerable: true, configurable: true, writable: true }
  Object.defineProperty(holder, key, { value, ...whole })
}

const oddValues: readonly unknown[] = [
  ...[null, '', 'x', 0, -1, 1, 2, 101, 2 ** 31, 1.5, true, false, [], {}, ['x'], [null], ['']],
  ...['TASK_STATE_WORKING', 'ROLE_UNSPECIFIED', 'ROLE_AGENT', '2025-02-30T00:00:00Z', '2025-01-01'],
  ...[
    '2025-01-01T24:00:00Z',
    '2025-01-01T10:00',
    'QQ',
    'Q',
    'Q===',
    '!!',
    '-_8=',
    '12',
    '-3',
    '1.5',
  ],
  ...[{ text: 'a' }, [{ text: '' }], [{ text: 'a', url: 'b' }], [{ data: null }], { a: 1 }],
]

const mutations: readonly fc.Arbitrary<Mutation>[] = [
  fc.constant((holder, key) => {
    delete holder[key]
  }),
  fc.constantFrom(...oddValues).map((value) => (holder: Wire, key: string) => {
    put(holder, key, structuredClone(value))
  }),
  fc.constant((holder, key) => {
    const value = holder[key]
    delete holder[key]
    put(
      holder,
      key.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`),
      value,
    )
  }),
  fc.constantFrom('unknown', 'kind', 'final', '__proto__').map((name) => (holder: Wire) => {
    put(holder, name, { deep: [1] })
  }),
  fc.constantFrom('text', 'raw', 'url', 'data', 'task', 'message').map((name) => (holder: Wire) => {
    holder[name] ??= name === 'data' ? null : 'QUJD'
  }),
]

/** The same objects with one to three places spoiled. */
export function spoiled(arbitrary: fc.Arbitrary<Wire>): fc.Arbitrary<Wire> {
  const spoil = fc.tuple(fc.nat(), fc.oneof(...mutations))
  return fc
    .tuple(arbitrary, fc.array(spoil, { minLength: 1, maxLength: 3 }))
    .map(([value, spoils]) => {
      const copy = structuredClone(value)
      for (const [place, mutate] of spoils) {
        const places = placesOf(copy)
        const [holder, key] = places[place % places.length] ?? [copy, 'nothing']
        mutate(holder, key)
      }
      return copy
    })
}

function placesOf(value: unknown): [Wire, string][] {
  if (typeof value !== 'object' || value === null) return []
  const holder = value as Wire // an object or array: both have members by key
  return Object.keys(holder).flatMap((key) => [[holder, key], ...placesOf(holder[key])])
}
