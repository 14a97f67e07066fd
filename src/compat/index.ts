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
export type { AuthContext } from '../protocol/operations.ts'
export {
  agentMessage,
  completedTaskWithText,
  isTerminal,
  nowIso8601,
  userMessage,
  validateTaskId,
} from '../protocol/task.ts'
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
export {
  A2AServer,
  A2AServer as A2aServer,
  type AppState,
  type AuthConfig,
  type RunningServer,
  toAuthenticator,
} from './a2a-server.ts'
export {
  EchoHandler,
  type EchoOptions,
  fromMessageHandler,
  fromNextRecipient,
  HandlerError,
  type HandlerErrorVariant,
  type HandlerReply,
  type MessageHandler,
  type NextRecipientOptions,
  type NextRecipientScheduler,
  type RecipientHop,
} from './message-handler.ts'
export {
  type FullRequestHandler,
  fromRequestHandler,
  type HandlerEvents,
  RequestHandler,
  type RequestHandlerOptions,
  type ServerCallContext,
  toRequestHandler,
} from './request-handler.ts'
export {
  AgentCapabilities,
  AgentCapabilities as Capabilities,
  AgentCard,
  AgentProvider,
  AgentProvider as Provider,
  AgentSkill,
  AgentSkill as Skill,
  Artifact,
  type CancelTaskRequest,
  type CapabilitiesDraft,
  type CardDraft,
  ContentTypeNotSupportedError,
  DataPart,
  type ErrorClass,
  ErrorCode,
  type ErrorCodeName,
  type FileDetails,
  FilePart,
  FileWithBytes,
  FileWithUri,
  type GetTaskRequest,
  InternalError,
  InvalidAgentResponseError,
  InvalidParamsError,
  InvalidRequestError,
  JSONParseError,
  Message,
  type MessageDraft,
  type MessagePart,
  type MessageSendParams,
  MethodNotFoundError,
  newMessage,
  type Part,
  type PartOptions,
  type ProviderDraft,
  PushNotificationNotSupportedError,
  Role,
  type SendMessageRequest,
  type SkillDraft,
  type StatusDraft,
  Task,
  type TaskCancelParams,
  type TaskDraft,
  type TaskGetParams,
  type TaskIdParams,
  type TaskListParams,
  TaskNotCancelableError,
  TaskNotFoundError,
  type TaskQueryParams,
  TaskState,
  TaskStatus,
  TextPart,
  UnsupportedOperationError,
} from './types.ts'
export {
  createA2AServer,
  fromAgent,
  type WorkshopApp,
  type WorkshopOptions,
  WorkshopRequestHandler,
  type WorkshopServer,
} from './workshop.ts'
