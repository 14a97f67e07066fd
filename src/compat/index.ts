/**
 * Bring programs along that were written against other libraries: the names of a2a-rs (Rust) and of the Python SDK of A2A
 * 0.3, for short "the Python SDK". `docs/seeds/names.md` has the table of old and new names.
 *
 * @module corral/compat
 */
export { fromRunnable } from '../agents/function.ts'
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
} from './a2a-server.ts'
export {
  EchoHandler,
  fromMessageHandler,
  fromNextRecipient,
  HandlerError,
  type HandlerReply,
  type MessageHandler,
} from './message-handler.ts'
export {
  type FullRequestHandler,
  fromRequestHandler,
  RequestHandler,
  type ServerCallContext,
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
  type CardDraft,
  ContentTypeNotSupportedError,
  DataPart,
  ErrorCode,
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
  type MessagePart,
  type MessageSendParams,
  MethodNotFoundError,
  newMessage,
  type Part,
  PushNotificationNotSupportedError,
  Role,
  type SendMessageRequest,
  Task,
  type TaskCancelParams,
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
  A2AFastAPIApplication,
  createA2AServer,
  fromAgent,
  WorkshopRequestHandler,
} from './workshop.ts'
