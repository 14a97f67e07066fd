/**
 * The protocol's vocabulary: messages, tasks, cards, errors, and the functions that build, read and check them. It runs
 * anywhere, browsers included.
 *
 * @module corral
 */
export {
  agentMessage,
  completedTaskWithText,
  dataPart,
  newArtifact,
  newMessage,
  newStatus,
  nowIso8601,
  textPart,
  userMessage,
  validateTaskId,
} from './protocol/build.ts'
export {
  type AuthContext,
  anonymous,
  type Call,
  type DialectName,
  type Dispatch,
  type EventStream,
  type Middleware,
  type Sequenced,
} from './protocol/call.ts'
export {
  type CardSurroundings,
  chooseInterface,
  type InterfaceOptions,
  renderCard,
  validateAgentId,
} from './protocol/card.ts'
export { checkCard } from './protocol/card-check.ts'
export {
  A2AError,
  type A2AErrorOptions,
  type ErrorCode,
  type ErrorDetails,
  errorCodes,
  type FieldViolation,
} from './protocol/errors.ts'
export {
  clientRoutingExtension,
  clientToolsExtension,
  errorExtension,
  historyExtension,
  hopsExtension,
  idempotencyExtension,
  skillSchemasExtension,
  traceExtension,
  usageExtension,
} from './protocol/extensions.ts'
export { createFold, type Fold, type FoldOptions } from './protocol/fold.ts'
export {
  error,
  type JSONRPCError,
  type JSONRPCErrorResponse,
  type JSONRPCId,
  type JSONRPCRequest,
  type JSONRPCResponse,
  type JSONRPCSuccessResponse,
  type JsonRpcRequest,
  type JsonRpcResponse,
  success,
} from './protocol/jsonrpc.ts'
export {
  isOperationName,
  type OperationName,
  type OperationRow,
  type Operations,
  operationNames,
  operations,
  type QueryKind,
  type RequestOf,
  type ResultOf,
} from './protocol/operations.ts'
export type {
  AgentDetails,
  AgentInfo,
  CapabilityDetail,
  Proficiency,
  SkillDetail,
} from './protocol/profile.ts'
export {
  type CardKey,
  type CardSignatureVerdict,
  type CardTrust,
  createJkuResolver,
  type JkuOptions,
  type KeyResolver,
  requireSignature,
  type SignatureHeader,
  signCard,
  verifyCard,
} from './protocol/signature.ts'
export {
  answerParts,
  canTransition,
  isInterrupted,
  isTerminal,
  type TaskStateName,
  type TaskStateSpelling,
  taskStates,
  textOf,
  toTaskState,
} from './protocol/task.ts'
export type * from './protocol/types.ts'
export type { Usage } from './protocol/usage.ts'
export type { Clock } from './shared/clock.ts'
export type { Logger } from './shared/log.ts'
