import { toId } from '../agents/function.ts'
import type { AgentInfo, SkillDetail } from '../protocol/card.ts'
import {
  A2AError,
  type A2AErrorOptions,
  type ErrorCode as Code,
  errorRow,
} from '../protocol/errors.ts'
import {
  newMessage as build,
  type TaskStateName,
  type TaskStateSpelling,
  taskStateNames,
  toTaskState,
} from '../protocol/task.ts'
import type * as A2A from '../protocol/types.ts'
import type {
  AgentExtension,
  CancelTaskRequest,
  AgentProvider as CanonicalProvider,
  AgentSkill as CanonicalSkill,
  GetTaskRequest,
  ListTasksRequest,
  SecurityRequirement,
  SecurityScheme,
  SendMessageRequest,
} from '../protocol/types.ts'
import { newId } from '../shared/ids.ts'
import { checkArgument, checkOptions, type OptionTable } from '../shared/options.ts'
import { nearest } from '../shared/text.ts'

/** One turn of a conversation. */
export type Message = A2A.Message

/** Content of a message or artifact. */
export type Part = A2A.Part

/** The Python SDK's first name of Part. */
export type MessagePart = Part

/** A part that holds text. */
export type TextPart = A2A.TextPart

/** A part that holds JSON; its media type has the Python SDK's name too. */
export type DataPart = A2A.DataPart & { readonly mimeType?: string }

/** A part that holds a file, its bytes or where it is. */
export type FilePart = A2A.RawPart | A2A.UrlPart

/** Who wrote a message. */
export type Role = A2A.Role

/** A file by its bytes, base64 encoded. */
export interface FileWithBytes extends FileDetails {
  /** Base64. */
  readonly bytes: string
}

/** A file by its address. */
export interface FileWithUri extends FileDetails {
  readonly uri: string
}

/** What is known of a file beside its content. */
export interface FileDetails {
  readonly name?: string
  /** The MIME type of the content. */
  readonly mimeType?: string
}

/** What every part may carry beside its content. */
export interface PartOptions {
  readonly metadata?: A2A.JsonObject
}

/** The two roles, by the Python SDK's names. */
export const Role: { readonly user: 'ROLE_USER'; readonly agent: 'ROLE_AGENT' } = {
  user: 'ROLE_USER',
  agent: 'ROLE_AGENT',
}

/** A message as its author writes it; an id is made up where there is none. */
export interface MessageDraft extends Omit<Message, 'messageId' | 'role'> {
  readonly role: Role | keyof typeof Role
  readonly messageId?: string
}

/** Makes a message: `Message({ role: Role.user, parts: [TextPart({ text })] })`. */
export function Message(draft: MessageDraft): Message {
  const role = draft.role === 'user' || draft.role === 'agent' ? Role[draft.role] : draft.role
  return { ...draft, role, messageId: draft.messageId ?? newId() }
}

/** A message with one text part: `newMessage('ROLE_USER', text, contextId)`, or with ids by name. */
export function newMessage(
  role: Role,
  content: string | readonly Part[],
  context?: string | null | { readonly contextId?: string; readonly taskId?: string },
): Message {
  const ids = typeof context === 'string' ? { contextId: context } : (context ?? {})
  return build(role, content, ids)
}

/** Makes a text part: `TextPart({ text })`. */
export function TextPart(part: PartOptions & { readonly text: string }): TextPart {
  return { ...part }
}

/** Makes a data part: `DataPart({ data, mimeType })`. */
export function DataPart(
  part: PartOptions & { readonly data: A2A.Json; readonly mimeType?: string },
): DataPart {
  const { mimeType, ...rest } = part
  return mimeType === undefined ? rest : withAlias({ ...rest, mediaType: mimeType }, { mimeType })
}

/** Makes a file part: `FilePart({ file: FileWithUri({ uri }) })`. */
export function FilePart(
  part: PartOptions & { readonly file: FileWithBytes | FileWithUri },
): FilePart {
  const { file, ...rest } = part
  return {
    ...('bytes' in file ? { raw: file.bytes } : { url: file.uri }),
    ...(file.name !== undefined && { filename: file.name }),
    ...(file.mimeType !== undefined && { mediaType: file.mimeType }),
    ...rest,
  }
}

/** Makes a file by its bytes. */
export function FileWithBytes(file: FileWithBytes): FileWithBytes {
  return { ...file }
}

/** Makes a file by its address. */
export function FileWithUri(file: FileWithUri): FileWithUri {
  return { ...file }
}

/** The unit of work an agent is asked to do. */
export type Task = A2A.Task

/** The state of a task at one moment. */
export type TaskStatus = A2A.TaskStatus

/** The lifecycle state of a task. */
export type TaskState = A2A.TaskState

/** A result of a task. */
export type Artifact = A2A.Artifact

/**
 * The states by the Python SDK's names. Inside, a state is the specification's word for it; peers of 0.3 read
 * `completed` and so on. `cancelled` is the same state as `canceled`.
 */
export const TaskState: Readonly<Record<TaskStateName, A2A.TaskState>> = taskStateNames

/** A status as its author writes it: the state in either spelling. */
export interface StatusDraft extends Omit<TaskStatus, 'state'> {
  readonly state: TaskStateSpelling
}

/** A task as its author writes it. */
export interface TaskDraft extends Omit<Task, 'status'> {
  readonly status: StatusDraft
}

/** Makes a task: `Task({ id, contextId, status, artifacts })`. */
export function Task(task: TaskDraft): Task {
  return { ...task, status: TaskStatus(task.status) }
}

/** Makes a status: `TaskStatus({ state: TaskState.completed, message })`, or with the state's name, `'completed'`. */
export function TaskStatus(status: StatusDraft): TaskStatus {
  return { ...status, state: toTaskState(status.state) }
}

/** Makes an artifact: `Artifact({ artifactId, name, parts })`. */
export function Artifact(artifact: Artifact): Artifact {
  return { ...artifact }
}

export type { CancelTaskRequest, GetTaskRequest, SendMessageRequest } from '../protocol/types.ts'

/** The Python SDK's name for `SendMessageRequest`. */
export type MessageSendParams = SendMessageRequest

/** The Python SDK's name for a request about one task, to read it or to cancel it. */
export type TaskIdParams = GetTaskRequest & Pick<CancelTaskRequest, 'metadata'>

/** The Python SDK's name for `ListTasksRequest`. */
export type TaskQueryParams = ListTasksRequest

/** The first version's name of TaskIdParams, to read a task. */
export type TaskGetParams = TaskIdParams

/** The first version's name of TaskIdParams, to cancel a task. */
export type TaskCancelParams = TaskIdParams

/** The first version's name of TaskQueryParams. */
export type TaskListParams = TaskQueryParams

/** A card with what the Python SDK has beyond the specification. */
export interface AgentCard extends A2A.AgentCard {
  readonly url: string
  readonly capabilities: AgentCapabilities
  readonly skills: readonly AgentSkill[]
  readonly provider?: AgentProvider
}

/** An agent's flags, the Python SDK's `stateManagement` among them. */
export interface AgentCapabilities extends A2A.AgentCapabilities {
  readonly stateManagement?: boolean
}

/** A skill with the schemas of its input and output. */
export type AgentSkill = SkillDetail

/** Who runs an agent; the organization has the Python SDK's name too. */
export type AgentProvider = A2A.AgentProvider & { readonly name: string }

const usualModes = ['text/plain', 'application/json']

/** Makes a card: `AgentCard({ name, description, url, version, capabilities, skills, provider })`. */
export function AgentCard(draft: CardDraft): AgentCard {
  checkDraft(draft)
  const { name, description, version, provider, skills, supportedInterfaces: _, ...rest } = draft
  const url = draft.url ?? 'http://localhost:8000'
  return {
    ...rest,
    name,
    description: description ?? name,
    url,
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    version: version ?? '1.0.0',
    capabilities: AgentCapabilities(draft.capabilities ?? {}),
    defaultInputModes: draft.defaultInputModes ?? usualModes,
    defaultOutputModes: draft.defaultOutputModes ?? usualModes,
    skills: (skills ?? []).map(AgentSkill),
    ...(provider && { provider: AgentProvider(provider) }),
  }
}

/** Makes the flags of a card: `AgentCapabilities({ streaming, pushNotifications, stateManagement })`. */
export function AgentCapabilities(flags: CapabilitiesDraft): AgentCapabilities {
  checkMembers('AgentCapabilities', flags, capabilityMembers)
  return { ...flags }
}

/** Makes a skill: `AgentSkill({ id, name, description, inputSchema })`; tags are filled in. */
export function AgentSkill(skill: SkillDraft): AgentSkill {
  return toSkill(skill)
}

/** Makes a provider: `AgentProvider({ name })`, or in the specification's words `{ organization, url }`. */
export function AgentProvider(provider: ProviderDraft): AgentProvider {
  checkMembers('AgentProvider', provider, providerMembers)
  const made = toProvider(provider)
  return withAlias(made, { name: made.organization })
}

/**
 * A card as its author writes it: a name, and of the rest what there is to say, in the words of 1.0, of 0.3 or of the
 * Python SDK. The server adds where the agent is reached.
 */
export interface CardDraft {
  readonly name: string
  readonly description?: string
  readonly version?: string
  /** Not looked at: the server says where the agent is reached. */
  readonly url?: string
  /** Not looked at: the server says where the agent is reached. */
  readonly supportedInterfaces?: readonly unknown[]
  readonly provider?: ProviderDraft
  readonly capabilities?: CapabilitiesDraft
  readonly skills?: readonly SkillDraft[]
  readonly defaultInputModes?: readonly string[]
  readonly defaultOutputModes?: readonly string[]
  readonly documentationUrl?: string
  readonly iconUrl?: string
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>
  readonly securityRequirements?: readonly SecurityRequirement[]
}

/** Who runs an agent; the Python SDK calls the organization its name. */
export interface ProviderDraft {
  readonly organization?: string
  /** The same as `organization`, in the Python SDK's word. */
  readonly name?: string
  readonly url?: string
}

/** An agent's flags, the Python SDK's `stateManagement` among them. */
export interface CapabilitiesDraft {
  readonly streaming?: boolean
  readonly pushNotifications?: boolean
  /** Whether the agent keeps state between turns; the Python SDK's own. */
  readonly stateManagement?: boolean
  readonly extendedAgentCard?: boolean
  readonly extensions?: readonly AgentExtension[]
}

/** A skill as its author writes it; only its name is needed. */
export interface SkillDraft
  extends Partial<CanonicalSkill>,
    Pick<SkillDetail, 'inputSchema' | 'outputSchema'> {
  readonly name: string
}

/** The info behind a card: its skills become abilities, so that every shape of card can show them. */
export function infoFromCard(card: CardDraft): AgentInfo {
  checkDraft(card)
  const skills = (card.skills ?? []).map(toSkill)
  return {
    id: toId(card.name),
    name: card.name,
    description: card.description || card.name,
    capabilities: [...new Set(skills.map(({ name }) => name))],
    metadata: {},
    details: { ...detailsOf(card), skills },
  }
}

/** Cards of A2A 0.2 say how callers authenticate, which secures nothing: only a server checks credentials. */
function checkDraft(card: CardDraft): void {
  checkMembers('AgentCard', card, cardMembers)
  checkMembers('AgentCapabilities', card.capabilities ?? {}, capabilityMembers)
  if (card.provider) checkMembers('AgentProvider', card.provider, providerMembers)
  if (!('authentication' in card) || card.authentication === undefined) return
  const { type } = Object(card.authentication)
  if (type !== 'none')
    throw new TypeError(
      'AgentCard: authentication is for the server: createA2AServer({ authentication }), or .authExtractor()',
    )
}

/**
 * Checks what an author writes. Members of their own are allowed, as in JSON and in the Python SDK, and null is no value;
 * a name that is nearly a known one is a mistake.
 */
function checkMembers(at: string, draft: unknown, table: Readonly<Record<string, string>>): void {
  checkArgument(at, 'what is given', draft, 'object')
  const known = Object.keys(table)
  const isMeant = (name: string): boolean =>
    known.includes(name) || (name.length > 3 && nearest(name, known) !== undefined)
  const meant = Object.entries(Object(draft)).filter(
    ([name, value]) => value !== null && isMeant(name),
  )
  checkOptions(at, Object.fromEntries(meant), table)
}

/** What a card may say, and of which type. */
export const cardMembers: OptionTable<CardDraft> = {
  name: 'string!',
  description: 'string',
  version: 'string',
  url: 'string',
  supportedInterfaces: 'array',
  provider: 'object',
  capabilities: 'object',
  skills: 'array',
  defaultInputModes: 'array',
  defaultOutputModes: 'array',
  documentationUrl: 'string',
  iconUrl: 'string',
  securitySchemes: 'object',
  securityRequirements: 'array',
}

const capabilityMembers: OptionTable<CapabilitiesDraft> = {
  streaming: 'boolean',
  pushNotifications: 'boolean',
  stateManagement: 'boolean',
  extendedAgentCard: 'boolean',
  extensions: 'array',
}

const providerMembers: OptionTable<ProviderDraft> = {
  organization: 'string',
  name: 'string',
  url: 'string',
}

const skillMembers: OptionTable<SkillDraft> = {
  id: 'string',
  name: 'string!',
  description: 'string',
  tags: 'array',
  examples: 'array',
  inputModes: 'array',
  outputModes: 'array',
  securityRequirements: 'array',
  inputSchema: 'object',
  outputSchema: 'object',
}

function detailsOf(card: CardDraft): NonNullable<AgentInfo['details']> {
  const { version, capabilities = {}, documentationUrl, iconUrl, provider } = card
  const { streaming, stateManagement, extensions } = capabilities
  const { defaultInputModes, defaultOutputModes, securitySchemes, securityRequirements } = card
  return {
    ...(version && { version }),
    ...(provider && { provider: toProvider(provider) }),
    ...(card.skills && { capabilities: card.skills.map(toCapability) }),
    ...(defaultInputModes && { inputModes: defaultInputModes }),
    ...(defaultOutputModes && { outputModes: defaultOutputModes }),
    ...(documentationUrl && { documentationUrl }),
    ...(iconUrl && { iconUrl }),
    ...(stateManagement !== undefined && { stateManagement }),
    ...(streaming !== undefined && { streaming }),
    ...(extensions && { extensions }),
    ...(securitySchemes && { securitySchemes }),
    ...(securityRequirements && { securityRequirements }),
  }
}

function toProvider({ organization, name, url }: ProviderDraft): CanonicalProvider {
  return { organization: organization ?? name ?? '', url: url ?? '' }
}

/** A skill with all that the specification demands. */
function toSkill(skill: SkillDraft): SkillDetail {
  checkMembers('AgentSkill', skill, skillMembers)
  const { id, name, description, tags, ...rest } = skill
  return {
    id: id ?? toId(name),
    name,
    description: description || name,
    tags: tags?.length ? tags : [name],
    ...rest,
  }
}

function toCapability(skill: SkillDraft): { name: string; description: string; version: string } {
  return { name: skill.name, description: skill.description || skill.name, version: '1.0.0' }
}

/** The JSON-RPC numbers by the Python SDK's names, each with the specification's meaning. */
export const ErrorCode: Readonly<Record<ErrorCodeName, number>> = {
  PARSE_ERROR: errorRow('parseError').jsonrpc,
  INVALID_REQUEST: errorRow('invalidRequest').jsonrpc,
  METHOD_NOT_FOUND: errorRow('methodNotFound').jsonrpc,
  INVALID_PARAMS: errorRow('invalidParams').jsonrpc,
  INTERNAL_ERROR: errorRow('internal').jsonrpc,
  TASK_NOT_FOUND: errorRow('taskNotFound').jsonrpc,
  TASK_NOT_CANCELABLE: errorRow('taskNotCancelable').jsonrpc,
  PUSH_NOTIFICATION_NOT_SUPPORTED: errorRow('pushNotificationNotSupported').jsonrpc,
  UNSUPPORTED_OPERATION: errorRow('unsupportedOperation').jsonrpc,
  CONTENT_TYPE_NOT_SUPPORTED: errorRow('contentTypeNotSupported').jsonrpc,
  INVALID_AGENT_RESPONSE: errorRow('invalidAgentResponse').jsonrpc,
}

/** The names of ErrorCode. */
export type ErrorCodeName =
  | 'PARSE_ERROR'
  | 'INVALID_REQUEST'
  | 'METHOD_NOT_FOUND'
  | 'INVALID_PARAMS'
  | 'INTERNAL_ERROR'
  | 'TASK_NOT_FOUND'
  | 'TASK_NOT_CANCELABLE'
  | 'PUSH_NOTIFICATION_NOT_SUPPORTED'
  | 'UNSUPPORTED_OPERATION'
  | 'CONTENT_TYPE_NOT_SUPPORTED'
  | 'INVALID_AGENT_RESPONSE'

/** A class of errors with one code. Every `A2AError` with that code is an instance of it, whoever made it. */
export interface ErrorClass {
  new (message?: string, options?: A2AErrorOptions): A2AError
  /** Whether a value is an error with this code. */
  [Symbol.hasInstance](value: unknown): boolean
}

/** The body is not JSON. */
export const JSONParseError: ErrorClass = errorClass('parseError', 'Invalid JSON payload')

function errorClass(code: Code, words: string): ErrorClass {
  return class extends A2AError {
    constructor(message: string = words, options: A2AErrorOptions = {}) {
      super(code, message, options)
    }

    static override [Symbol.hasInstance](value: unknown): boolean {
      return Object(value) instanceof A2AError && (value as A2AError).code === code // just seen to be one
    }
  }
}

/** The body is JSON, but no JSON-RPC request. */
export const InvalidRequestError: ErrorClass = errorClass('invalidRequest', 'Invalid request')

/** There is no such method. */
export const MethodNotFoundError: ErrorClass = errorClass('methodNotFound', 'Method not found')

/** The params do not fit the method. */
export const InvalidParamsError: ErrorClass = errorClass('invalidParams', 'Invalid params')

/** A fault of the server. */
export const InternalError: ErrorClass = errorClass('internal', 'Internal error')

/** There is no such task, or it is somebody else's. */
export const TaskNotFoundError: ErrorClass = errorClass('taskNotFound', 'Task not found')

/** The task has ended. */
export const TaskNotCancelableError: ErrorClass = errorClass(
  'taskNotCancelable',
  'The task cannot be cancelled',
)

/** The agent has no webhooks. */
export const PushNotificationNotSupportedError: ErrorClass = errorClass(
  'pushNotificationNotSupported',
  'Push notifications are not supported',
)

/** The agent does not do this. */
export const UnsupportedOperationError: ErrorClass = errorClass(
  'unsupportedOperation',
  'The operation is not supported',
)

/** The agent does not take this kind of content. */
export const ContentTypeNotSupportedError: ErrorClass = errorClass(
  'contentTypeNotSupported',
  'The content type is not supported',
)

/** The agent sent something that is none of the known shapes. */
export const InvalidAgentResponseError: ErrorClass = errorClass(
  'invalidAgentResponse',
  'The agent sent an invalid answer',
)

/**
 * An object with a second name for one of its members. The name can be read but is not written to the wire: it is not
 * the specification's, and strict readers refuse what they do not know.
 */
function withAlias<T extends object, A extends object>(made: T, names: A): T & A {
  for (const [name, value] of Object.entries(names)) Object.defineProperty(made, name, { value })
  // true: each name of A has just been defined
  return made as T & A
}
