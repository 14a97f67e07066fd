/**
 * Bring programs along that were written against other libraries: the names of a2a-rs (Rust) and of the Python SDK of A2A
 * 0.3, for short "the Python SDK". `docs/seeds/names.md` has the table of old and new names.
 *
 * @module corral/compat
 */
export { fromRunnable, type Runnable } from '../agents/function.ts'
export {
  A2AClient,
  A2AClient as A2aClient,
  type ClientConfig,
  JsonRpcTransport,
  type OAuthConfig,
} from '../client/index.ts'
export {
  agentMessage,
  completedTaskWithText,
  nowIso8601,
  userMessage,
  validateTaskId,
} from '../protocol/build.ts'
export type { AuthContext } from '../protocol/call.ts'
export {
  error,
  type JSONRPCError,
  type JSONRPCErrorResponse,
  type JSONRPCRequest,
  type JSONRPCResponse,
  type JSONRPCSuccessResponse,
  type JsonRpcRequest,
  type JsonRpcResponse,
  success,
} from '../protocol/jsonrpc.ts'
export { isTerminal } from '../protocol/task.ts'
export type {
  AgentInterface,
  APIKeySecurityScheme,
  HTTPAuthSecurityScheme,
  MutualTlsSecurityScheme,
  OAuth2SecurityScheme,
  OpenIdConnectSecurityScheme,
  SecurityScheme,
  SendMessageResponse,
  StreamResponse,
} from '../protocol/types.ts'
export {
  InMemoryTaskStore,
  InMemoryTaskStore as TaskManager,
  type TaskFilter,
  TaskStore,
} from '../store/index.ts'
export { A2AServer, A2AServer as A2aServer, type RunningServer } from './a2a-server.ts'
export type { AppState } from './app-state.ts'
export type { CapabilitiesDraft, CardDraft, ProviderDraft, SkillDraft } from './card-info.ts'
export {
  AgentCapabilities,
  AgentCapabilities as Capabilities,
  AgentCard,
  AgentProvider,
  AgentProvider as Provider,
  AgentSkill,
  AgentSkill as Skill,
} from './cards.ts'
export { EchoHandler, type EchoOptions } from './echo-handler.ts'
export {
  ContentTypeNotSupportedError,
  type ErrorClass,
  ErrorCode,
  type ErrorCodeName,
  InternalError,
  InvalidAgentResponseError,
  InvalidParamsError,
  InvalidRequestError,
  JSONParseError,
  MethodNotFoundError,
  PushNotificationNotSupportedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from './errors.ts'
export { HandlerError, type HandlerErrorVariant } from './handler-error.ts'
export { fromMessageHandler, type HandlerReply, type MessageHandler } from './message-handler.ts'
export {
  DataPart,
  type FileDetails,
  FilePart,
  FileWithBytes,
  FileWithUri,
  Message,
  type MessageDraft,
  type MessagePart,
  newMessage,
  type Part,
  type PartOptions,
  Role,
  TextPart,
} from './messages.ts'
export {
  fromNextRecipient,
  type NextRecipientOptions,
  type NextRecipientScheduler,
  type RecipientHop,
} from './next-recipient.ts'
export {
  type FullRequestHandler,
  type HandlerEvents,
  RequestHandler,
  type ServerCallContext,
  toRequestHandler,
} from './request-handler.ts'
export { fromRequestHandler, type RequestHandlerOptions } from './request-relay.ts'
export type {
  CancelTaskRequest,
  GetTaskRequest,
  MessageSendParams,
  SendMessageRequest,
  TaskCancelParams,
  TaskGetParams,
  TaskIdParams,
  TaskListParams,
  TaskQueryParams,
} from './requests.ts'
export { type AuthConfig, toAuthenticator } from './security.ts'
export {
  Artifact,
  type StatusDraft,
  Task,
  type TaskDraft,
  TaskState,
  TaskStatus,
} from './tasks.ts'
export {
  createA2AServer,
  type WorkshopApp,
  type WorkshopOptions,
  type WorkshopServer,
} from './workshop.ts'
export { fromAgent, WorkshopRequestHandler } from './workshop-handler.ts'
