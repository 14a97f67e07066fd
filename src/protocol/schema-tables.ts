import * as v from './schema-checks.ts'
import {
  arrayOf,
  type Check,
  expected,
  explicit,
  implicit,
  mapOf,
  object,
  required,
  requiredOfUs,
} from './schema-checks.ts'
import { taskStates } from './task.ts'

/** The objects of tasks and messages (specification §4.1 to §4.3), field for field as in `a2a.proto`. */

/** A task's state as a filter: the unspecified one filters nothing. */
const stateFilter: Check = v.oneOfNames(taskStates, 'TASK_STATE_UNSPECIFIED')

// A received task may be in the unspecified state: 0.3 peers call it `unknown`.
const state = v.oneOfNames(taskStates)

const role = v.oneOfNames([undefined, 'ROLE_USER', 'ROLE_AGENT'])

const part = toPart(v.anyJson, v.struct)

const requestPart = toPart(v.requestJson, v.requestStruct)

function toPart(json: Check, struct: Check): Check {
  return object(
    {
      text: explicit(v.anyText),
      raw: explicit(v.bytes),
      url: explicit(v.anyText),
      data: explicit(json),
      metadata: implicit(struct),
      filename: implicit(v.optionalText),
      mediaType: implicit(v.optionalText),
    },
    { oneOf: ['text', 'raw', 'url', 'data'], nullable: 'data' },
  )
}

/** A message that an agent sent. */
export const message: Check = object({
  messageId: requiredOfUs(v.requiredText, v.anyText, ''),
  contextId: implicit(v.optionalText),
  taskId: implicit(v.optionalText),
  role: requiredOfUs(role, role, 'ROLE_AGENT'),
  parts: requiredOfUs(arrayOf(part, 1), arrayOf(part), []),
  metadata: implicit(v.struct),
  extensions: implicit(arrayOf(v.requiredText)),
  referenceTaskIds: implicit(arrayOf(v.requiredText)),
})

/** A message of a request: its ids bounded, and with something in it. */
const requestMessage: Check = object(
  {
    messageId: required(v.requiredId),
    contextId: implicit(v.optionalId),
    taskId: implicit(v.optionalId),
    role: required(role),
    parts: required(arrayOf(requestPart, 1)),
    metadata: implicit(v.requestStruct),
    extensions: implicit(arrayOf(v.requiredText)),
    referenceTaskIds: implicit(arrayOf(v.requiredId)),
  },
  { rule: v.hasContent },
)

const artifact = object({
  artifactId: requiredOfUs(v.requiredText, v.anyText, ''),
  name: implicit(v.optionalText),
  description: implicit(v.optionalText),
  // ProtoJSON leaves out the empty list of a last chunk that only says it is the last.
  parts: expected(arrayOf(part), []),
  metadata: implicit(v.struct),
  extensions: implicit(arrayOf(v.requiredText)),
})

const status = object({
  state: requiredOfUs(state, state, 'TASK_STATE_UNSPECIFIED'),
  message: implicit(message),
  timestamp: implicit(v.timestamp),
})

/** A task. */
export const task: Check = object({
  id: required(v.requiredText),
  contextId: expected(v.anyText, ''),
  status: required(status),
  artifacts: implicit(arrayOf(artifact)),
  history: implicit(arrayOf(message)),
  metadata: implicit(v.struct),
})

const statusUpdate = object({
  taskId: requiredOfUs(v.requiredText, v.anyText, ''),
  contextId: requiredOfUs(v.requiredText, v.anyText, ''),
  status: required(status),
  metadata: implicit(v.struct),
})

const artifactUpdate = object({
  taskId: requiredOfUs(v.requiredText, v.anyText, ''),
  contextId: requiredOfUs(v.requiredText, v.anyText, ''),
  artifact: required(artifact),
  append: implicit(v.flag),
  lastChunk: implicit(v.flag),
  metadata: implicit(v.struct),
})

/** What a send is answered with: a task or a message. */
export const sendMessageResponse: Check = object(
  { task: explicit(task), message: explicit(message) },
  { oneOf: ['task', 'message'] },
)

/** One event of a stream or webhook. */
export const streamResponse: Check = object(
  {
    task: explicit(task),
    message: explicit(message),
    statusUpdate: explicit(statusUpdate),
    artifactUpdate: explicit(artifactUpdate),
  },
  { oneOf: ['task', 'message', 'statusUpdate', 'artifactUpdate'] },
)

/** A page of tasks; ProtoJSON leaves out an empty arrayOf, an empty token and zeros. */
export const listTasksResponse: Check = object({
  tasks: expected(arrayOf(task), []),
  nextPageToken: expected(v.anyText, ''),
  pageSize: expected(v.integer(0), 0),
  totalSize: expected(v.integer(0), 0),
})

const authentication = object({
  scheme: required(v.requiredText),
  credentials: implicit(v.optionalText),
})

const delivery = {
  url: required(v.requiredText),
  token: implicit(v.optionalText),
  authentication: implicit(authentication),
  events: implicit(arrayOf(v.requiredText)),
}

/** A webhook; the request or the config names its task. */
export const pushConfig: Check = object({
  tenant: implicit(v.optionalText),
  id: implicit(v.optionalText),
  taskId: implicit(v.optionalText),
  ...delivery,
})

/** A webhook that names its task: the request of its creation. */
export const pushConfigOfTask: Check = object({
  tenant: implicit(v.optionalId),
  id: implicit(v.optionalId),
  taskId: required(v.requiredId),
  ...delivery,
})

/** A webhook that comes with a message. */
const pushConfigOfMessage: Check = object({
  tenant: implicit(v.optionalId),
  id: implicit(v.optionalId),
  taskId: implicit(v.optionalId),
  ...delivery,
})

/** The webhooks of a task. */
export const listPushConfigsResponse: Check = object({
  configs: expected(arrayOf(pushConfig), []),
  nextPageToken: implicit(v.optionalText),
})

/** Options of a send. */
const sendMessageConfiguration: Check = object({
  acceptedOutputModes: implicit(arrayOf(v.requiredText)),
  taskPushNotificationConfig: implicit(pushConfigOfMessage),
  historyLength: explicit(v.integer(0)),
  returnImmediately: implicit(v.flag),
})

/**
 * The agent card and what is in it (specification §4.4, §4.5), field for field as in `a2a.proto`.
 * Real cards leave out what is empty although it is required; a reader bears that, `checkCard` tells it.
 */

const scopes = mapOf(v.anyText)

const description = implicit(v.optionalText)

const refreshUrl = implicit(v.optionalText)

const flows = object(
  {
    authorizationCode: explicit(
      object({
        authorizationUrl: required(v.requiredText),
        tokenUrl: required(v.requiredText),
        refreshUrl,
        scopes: expected(scopes, {}),
        pkceRequired: implicit(v.flag),
      }),
    ),
    clientCredentials: explicit(
      object({ tokenUrl: required(v.requiredText), refreshUrl, scopes: expected(scopes, {}) }),
    ),
    implicit: explicit(
      object({
        authorizationUrl: implicit(v.optionalText),
        refreshUrl,
        scopes: implicit(scopes),
      }),
    ),
    password: explicit(
      object({ tokenUrl: implicit(v.optionalText), refreshUrl, scopes: implicit(scopes) }),
    ),
    deviceCode: explicit(
      object({
        deviceAuthorizationUrl: required(v.requiredText),
        tokenUrl: required(v.requiredText),
        refreshUrl,
        scopes: expected(scopes, {}),
      }),
    ),
  },
  { oneOf: ['authorizationCode', 'clientCredentials', 'implicit', 'password', 'deviceCode'] },
)

const location: Check = v.oneOfNames(['query', 'header', 'cookie'])

/** A way to authenticate. */
const securityScheme: Check = object(
  {
    apiKeySecurityScheme: explicit(
      object({ description, location: required(location), name: required(v.requiredText) }),
    ),
    httpAuthSecurityScheme: explicit(
      object({
        description,
        scheme: required(v.requiredText),
        bearerFormat: implicit(v.optionalText),
      }),
    ),
    oauth2SecurityScheme: explicit(
      object({ description, flows: required(flows), oauth2MetadataUrl: implicit(v.optionalText) }),
    ),
    openIdConnectSecurityScheme: explicit(
      object({ description, openIdConnectUrl: required(v.requiredText) }),
    ),
    mtlsSecurityScheme: explicit(object({ description })),
  },
  {
    oneOf: [
      'apiKeySecurityScheme',
      'httpAuthSecurityScheme',
      'oauth2SecurityScheme',
      'openIdConnectSecurityScheme',
      'mtlsSecurityScheme',
    ],
  },
)

const scopeList = object({ list: implicit(arrayOf(v.anyText)) })

const securityRequirements = implicit(arrayOf(object({ schemes: expected(mapOf(scopeList), {}) })))

const agentInterface = object({
  url: requiredOfUs(v.requiredText, v.anyText, ''),
  protocolBinding: requiredOfUs(v.requiredText, v.anyText, ''),
  tenant: implicit(v.optionalText),
  // Only cards of 1.0 list their interfaces here, so one without a version speaks 1.0.
  protocolVersion: {
    ...expected(v.requiredText, '1.0'),
    peers: { check: v.anyText, fallback: '1.0' },
  },
})

const extension = object({
  uri: requiredOfUs(v.requiredText, v.anyText, ''),
  description,
  required: implicit(v.flag),
  params: implicit(v.struct),
})

const capabilities = object({
  streaming: explicit(v.flag),
  pushNotifications: explicit(v.flag),
  extensions: implicit(arrayOf(extension)),
  extendedAgentCard: explicit(v.flag),
})

const skill = object({
  id: requiredOfUs(v.requiredText, v.anyText, ''),
  name: requiredOfUs(v.requiredText, v.anyText, ''),
  description: expected(v.anyText, ''),
  tags: expected(arrayOf(v.anyText), []),
  examples: implicit(arrayOf(v.anyText)),
  inputModes: implicit(arrayOf(v.anyText)),
  outputModes: implicit(arrayOf(v.anyText)),
  securityRequirements,
})

const signature = object({
  protected: required(v.requiredText),
  signature: required(v.requiredText),
  header: implicit(v.struct),
})

/** An agent card. */
export const agentCard: Check = object({
  name: required(v.requiredText),
  description: expected(v.anyText, ''),
  supportedInterfaces: requiredOfUs(arrayOf(agentInterface, 1), arrayOf(agentInterface), []),
  provider: implicit(
    object({ url: expected(v.anyText, ''), organization: expected(v.anyText, '') }),
  ),
  version: expected(v.anyText, ''),
  documentationUrl: explicit(v.anyText),
  capabilities: expected(capabilities, {}),
  // Some peers write schemes in the shape of their own memory; what cannot be used does not spoil the card.
  securitySchemes: implicit(mapOf(v.forgiving(securityScheme))),
  securityRequirements,
  defaultInputModes: expected(arrayOf(v.anyText), []),
  defaultOutputModes: expected(arrayOf(v.anyText), []),
  skills: expected(arrayOf(skill), []),
  signatures: implicit(arrayOf(signature)),
  iconUrl: explicit(v.anyText),
})

/** The requests of the operations (specification §3.1). The request for a webhook is the webhook itself. */

const tenant = implicit(v.optionalId)

const historyLength = explicit(v.integer(0))

/** A message to send, at once or as a stream. */
export const sendMessageRequest: Check = object({
  tenant,
  message: required(requestMessage),
  configuration: implicit(sendMessageConfiguration),
  metadata: implicit(v.requestStruct),
})

/** A task to get. */
export const getTaskRequest: Check = object({ tenant, id: required(v.requiredId), historyLength })

/** Which tasks to list. */
export const listTasksRequest: Check = object({
  tenant,
  contextId: implicit(v.optionalId),
  status: implicit(stateFilter),
  pageSize: explicit(v.integer(1, 100)),
  pageToken: implicit(v.optionalText),
  historyLength,
  statusTimestampAfter: implicit(v.timestampOrEpoch),
  includeArtifacts: explicit(v.flag),
})

/** A task to cancel. */
export const cancelTaskRequest: Check = object({
  tenant,
  id: required(v.requiredId),
  metadata: implicit(v.requestStruct),
})

/** A task to watch. */
export const subscribeToTaskRequest: Check = object({ tenant, id: required(v.requiredId) })

/** A webhook to get or to delete. */
export const pushConfigReference: Check = object({
  tenant,
  taskId: required(v.requiredId),
  id: required(v.requiredId),
})

/** Which webhooks to list: those of a task. */
export const listPushConfigsRequest: Check = object({
  tenant,
  taskId: required(v.requiredId),
  pageSize: implicit(v.optionalCount),
  pageToken: implicit(v.optionalText),
})

/** The tenant of the card to get. */
export const extendedCardRequest: Check = object({ tenant })
