/**
 * The protocol's vocabulary: messages, tasks, cards, errors, and the functions that build, read and check them. It runs
 * anywhere, browsers included.
 *
 * @module corral
 */

export type { AgentInfo } from './protocol/card.ts'
export { A2AError, type ErrorCode, errorCodes } from './protocol/errors.ts'
export {
  clientRoutingExtension,
  clientToolsExtension,
  errorExtension,
  finishExtension,
  idempotencyExtension,
  traceExtension,
  usageExtension,
  whyExtension,
} from './protocol/extensions.ts'
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
} from './protocol/jsonrpc.ts'
export { type AuthContext, anonymous, type Dispatch } from './protocol/operations.ts'
export {
  type CardSignatureVerdict,
  createJkuResolver,
  type KeyResolver,
  requireSignature,
  signCard,
  verifyCard,
} from './protocol/signature.ts'
export {
  agentMessage,
  answerParts,
  completedTaskWithText,
  createFold,
  dataPart,
  type Fold,
  isInterrupted,
  isTerminal,
  newArtifact,
  newMessage,
  newStatus,
  nowIso8601,
  taskStates,
  textOf,
  textPart,
  userMessage,
  validateTaskId,
} from './protocol/task.ts'
export type {
  AgentCapabilities,
  AgentCard,
  AgentExtension,
  AgentInterface,
  AgentProvider,
  AgentSkill,
  APIKeySecurityScheme,
  Artifact,
  CancelTaskRequest,
  DataPart,
  GetTaskRequest,
  HTTPAuthSecurityScheme,
  Json,
  JsonObject,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  Message,
  MutualTlsSecurityScheme,
  OAuth2SecurityScheme,
  OpenIdConnectSecurityScheme,
  Part,
  Role,
  SecurityScheme,
  SendMessageConfiguration,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  Task,
  TaskArtifactUpdateEvent,
  TaskPushNotificationConfig,
  TaskState,
  TaskStatus,
  TaskStatusUpdateEvent,
  TextPart,
} from './protocol/types.ts'
export type { Clock } from './shared/clock.ts'
export type { Logger } from './shared/log.ts'
