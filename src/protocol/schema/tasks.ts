import type { FieldViolation } from '../errors.ts'
import { taskStates } from '../task.ts'
import {
  addFault,
  arrayOf,
  type Check,
  expected,
  explicit,
  implicit,
  isPlainObject,
  object,
  required,
  requiredOfUs,
} from './check.ts'
import * as v from './values.ts'

/** The objects of tasks and messages (specification §4.1 to §4.3), field for field as in `a2a.proto`. */

/** A task's state as a filter: the unspecified one filters nothing. */
export const stateFilter: Check = v.oneOfNames(taskStates, 'TASK_STATE_UNSPECIFIED')

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
export const requestMessage: Check = object(
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
  { rule: hasContent },
)

/** An empty text beside other content is allowed; a message of nothing but empty texts says nothing. */
function hasContent(value: Readonly<Record<string, unknown>>, faults: FieldViolation[]): void {
  const { parts } = value
  if (!Array.isArray(parts) || parts.length === 0) return
  for (const item of parts) if (!isPlainObject(item) || item.text !== '') return
  addFault(faults, 'has no content: every part is an empty text')
}

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

/** A webhook, its task known from elsewhere or named in it. */
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
export const sendMessageConfiguration: Check = object({
  acceptedOutputModes: implicit(arrayOf(v.requiredText)),
  taskPushNotificationConfig: implicit(pushConfigOfMessage),
  historyLength: explicit(v.integer(0)),
  returnImmediately: implicit(v.flag),
})
