import { z } from 'zod'
import type { OperationName } from '../../src/protocol/operations.ts'

/**
 * A second opinion on the wire format, written from `a2a.proto` and ProtoJSON's rules with another tool. It is slow and
 * has no good words for faults; it only has to be right independently of the hand-written checks.
 */

type Fields = Record<string, z.ZodType>

/** A proto message: snake_case names are read, null is absence, unknown fields are dropped. */
function message<T extends Fields>(fields: T, nullable?: string) {
  const names = new Map(
    Object.keys(fields).flatMap((name) => [
      [name, name],
      [name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), name],
    ]),
  )
  const rename = (input: unknown): unknown => {
    if (typeof input !== 'object' || input === null || Array.isArray(input)) return undefined
    const entries = Object.entries(input).map(([key, value]) => [names.get(key), value] as const)
    return Object.fromEntries(
      entries.filter(
        ([key, value]) => key && value !== undefined && (value !== null || key === nullable),
      ),
    )
  }
  return z.preprocess(rename, z.object(fields))
}

/** A message with a oneof: exactly one of these members is set. */
function oneof<T extends Fields>(members: readonly (keyof T)[], fields: T, nullable?: string) {
  return message(fields, nullable).refine(
    (value) =>
      members.filter((name) => value[name as keyof typeof value] !== undefined).length === 1,
  )
}

function keysOf<T extends object>(value: T): (keyof T)[] {
  return Object.keys(value) as (keyof T)[] // an object literal has no other keys
}

const requiredString = z.string().min(1)
const protoString = z
  .string()
  .transform((value) => (value === '' ? undefined : value))
  .optional()
const strings = z.array(z.string().min(1)).optional()
const anyStrings = z.array(z.string())
const flag = z.boolean().optional()
const struct = z.record(z.string(), z.json())
const metadata = struct.optional()

const int32 = (min: number, max: number) =>
  z
    .union([
      z.number(),
      z
        .string()
        .regex(/^-?\d+$/)
        .transform(Number),
    ])
    .pipe(z.int32().min(min).max(max))

function protoEnum(names: readonly [string, ...string[]], first: number) {
  const toName = (value: unknown) => (typeof value === 'number' ? names[value - first] : value)
  return z.preprocess(toName, z.enum(names))
}

const states = [
  'TASK_STATE_UNSPECIFIED',
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_REJECTED',
  'TASK_STATE_AUTH_REQUIRED',
] as const
const taskState = protoEnum([...states], 0)
const role = protoEnum(['ROLE_USER', 'ROLE_AGENT'], 1)

const isoTimestamp = z
  .union([z.iso.date(), z.iso.datetime({ offset: true, local: true })])
  .transform((value) => {
    const zoned = /T.*(Z|[+-]\d\d:\d\d)$/.test(value) || !value.includes('T')
    return new Date(zoned ? value : `${value}Z`).toISOString()
  })
const epoch = z
  .union([z.number(), z.string().regex(/^\d+$/).transform(Number)])
  .refine((ms) => ms >= Date.UTC(0, 0, 1) - 2e14 && ms <= Date.UTC(9999, 11, 31, 23, 59, 59, 999))
  .transform((ms) => new Date(ms).toISOString())

const bytes = z
  .string()
  .refine((value) => /^[\w+/-]*$/.test(value.replace(/={1,2}$/, '')))
  .refine((value) => value.replace(/={1,2}$/, '').length % 4 !== 1)
  .transform((value) => {
    const digits = value.replace(/=*$/, '').replace(/-/g, '+').replace(/_/g, '/')
    return digits + '='.repeat((4 - (digits.length % 4)) % 4)
  })

const part = oneof(
  ['text', 'raw', 'url', 'data'],
  {
    text: z.string().optional(),
    raw: bytes.optional(),
    url: z.string().optional(),
    data: z.json().optional(),
    metadata,
    filename: protoString,
    mediaType: protoString,
  },
  'data',
)

const messageOf = (parts: z.ZodType) =>
  message({
    messageId: requiredString,
    contextId: protoString,
    taskId: protoString,
    role,
    parts,
    metadata,
    extensions: strings,
    referenceTaskIds: strings,
  })
const received = messageOf(z.array(part).min(1))
const sent = messageOf(
  z
    .array(part)
    .min(1)
    .max(1000)
    .refine((parts) => parts.some((value) => value.text !== '')),
)

const artifact = message({
  artifactId: requiredString,
  name: protoString,
  description: protoString,
  parts: z.array(part).default([]),
  metadata,
  extensions: strings,
})
const status = message({
  state: taskState,
  message: received.optional(),
  timestamp: isoTimestamp.optional(),
})
const task = message({
  id: requiredString,
  contextId: z.string().default(''),
  status,
  artifacts: z.array(artifact).optional(),
  history: z.array(received).optional(),
  metadata,
})
const event = { taskId: requiredString, contextId: requiredString, metadata }
const streamResponse = oneof(['task', 'message', 'statusUpdate', 'artifactUpdate'], {
  task: task.optional(),
  message: received.optional(),
  statusUpdate: message({ ...event, status }).optional(),
  artifactUpdate: message({ ...event, artifact, append: flag, lastChunk: flag }).optional(),
})

const authentication = message({ scheme: requiredString, credentials: protoString })
const webhook = {
  tenant: protoString,
  id: protoString,
  taskId: protoString,
  url: requiredString,
  token: protoString,
  authentication: authentication.optional(),
}

const historyLength = int32(0, 2 ** 31 - 1).optional()
const send = message({
  tenant: protoString,
  message: sent,
  configuration: message({
    acceptedOutputModes: strings,
    taskPushNotificationConfig: message(webhook).optional(),
    historyLength,
    returnImmediately: flag,
  }).optional(),
  metadata,
})
const ofConfig = message({ tenant: protoString, taskId: requiredString, id: requiredString })

/** What the request of every operation may be. */
export const requestOracle: Record<OperationName, z.ZodType> = {
  SendMessage: send,
  SendStreamingMessage: send,
  GetTask: message({ tenant: protoString, id: requiredString, historyLength }),
  ListTasks: message({
    tenant: protoString,
    contextId: protoString,
    status: taskState
      .transform((state) => (state === 'TASK_STATE_UNSPECIFIED' ? undefined : state))
      .optional(),
    pageSize: int32(1, 100).optional(),
    pageToken: protoString,
    historyLength,
    statusTimestampAfter: z.union([isoTimestamp, epoch]).optional(),
    includeArtifacts: flag,
  }),
  CancelTask: message({ tenant: protoString, id: requiredString, metadata }),
  SubscribeToTask: message({ tenant: protoString, id: requiredString }),
  CreateTaskPushNotificationConfig: message({ ...webhook, taskId: requiredString }),
  GetTaskPushNotificationConfig: ofConfig,
  ListTaskPushNotificationConfigs: message({
    tenant: protoString,
    taskId: requiredString,
    pageSize: int32(0, 2 ** 31 - 1)
      .transform((size) => size || undefined)
      .optional(),
    pageToken: protoString,
  }),
  DeleteTaskPushNotificationConfig: ofConfig,
  GetExtendedAgentCard: message({ tenant: protoString }),
}

const scopes = z.record(z.string(), z.string())
const oauthFlows = {
  authorizationCode: message({
    authorizationUrl: requiredString,
    tokenUrl: requiredString,
    refreshUrl: protoString,
    scopes: scopes.default({}),
    pkceRequired: flag,
  }).optional(),
  clientCredentials: message({
    tokenUrl: requiredString,
    refreshUrl: protoString,
    scopes: scopes.default({}),
  }).optional(),
  implicit: message({
    authorizationUrl: protoString,
    refreshUrl: protoString,
    scopes: scopes.optional(),
  }).optional(),
  password: message({
    tokenUrl: protoString,
    refreshUrl: protoString,
    scopes: scopes.optional(),
  }).optional(),
  deviceCode: message({
    deviceAuthorizationUrl: requiredString,
    tokenUrl: requiredString,
    refreshUrl: protoString,
    scopes: scopes.default({}),
  }).optional(),
}
const described = { description: protoString }
const schemes = {
  apiKeySecurityScheme: message({
    ...described,
    location: protoEnum(['query', 'header', 'cookie'], 0),
    name: requiredString,
  }).optional(),
  httpAuthSecurityScheme: message({
    ...described,
    scheme: requiredString,
    bearerFormat: protoString,
  }).optional(),
  oauth2SecurityScheme: message({
    ...described,
    flows: oneof(keysOf(oauthFlows), oauthFlows),
    oauth2MetadataUrl: protoString,
  }).optional(),
  openIdConnectSecurityScheme: message({
    ...described,
    openIdConnectUrl: requiredString,
  }).optional(),
  mtlsSecurityScheme: message(described).optional(),
}
const securityScheme = oneof(keysOf(schemes), schemes)

const securityRequirements = z
  .array(
    message({
      schemes: z.record(z.string(), message({ list: anyStrings.optional() })).default({}),
    }),
  )
  .optional()
const agentCard = message({
  name: requiredString,
  description: z.string().default(''),
  supportedInterfaces: z
    .array(
      message({
        url: requiredString,
        protocolBinding: requiredString,
        tenant: protoString,
        protocolVersion: requiredString.default('1.0'),
      }),
    )
    .min(1),
  provider: message({
    url: z.string().default(''),
    organization: z.string().default(''),
  }).optional(),
  version: z.string().default(''),
  documentationUrl: z.string().optional(),
  capabilities: message({
    streaming: flag,
    pushNotifications: flag,
    extensions: z
      .array(
        message({
          uri: requiredString,
          description: protoString,
          required: flag,
          params: metadata,
        }),
      )
      .optional(),
    extendedAgentCard: flag,
  }).default({}),
  securitySchemes: z.record(z.string(), securityScheme.optional().catch(undefined)).optional(),
  securityRequirements,
  defaultInputModes: anyStrings.default([]),
  defaultOutputModes: anyStrings.default([]),
  skills: z
    .array(
      message({
        id: requiredString,
        name: requiredString,
        description: z.string().default(''),
        tags: anyStrings.default([]),
        examples: anyStrings.optional(),
        inputModes: anyStrings.optional(),
        outputModes: anyStrings.optional(),
        securityRequirements,
      }),
    )
    .default([]),
  signatures: z
    .array(message({ protected: requiredString, signature: requiredString, header: metadata }))
    .optional(),
  iconUrl: z.string().optional(),
})

/** What clients may receive. */
export const responseOracle: Readonly<
  Record<
    'task' | 'message' | 'streamResponse' | 'sendMessageResponse' | 'pushConfig' | 'agentCard',
    z.ZodType
  >
> = {
  task,
  message: received,
  streamResponse,
  sendMessageResponse: oneof(['task', 'message'], {
    task: task.optional(),
    message: received.optional(),
  }),
  pushConfig: message(webhook),
  agentCard,
}
