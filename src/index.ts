/**
 * The protocol's vocabulary: messages, tasks, cards, errors, and the functions that build, read and check them. It runs
 * anywhere, browsers included.
 *
 * @module corral
 */

export {
  type AgentDetails,
  type AgentInfo,
  type CapabilityDetail,
  type CardSurroundings,
  checkCard,
  chooseInterface,
  type InterfaceOptions,
  type Proficiency,
  renderCard,
  type SkillDetail,
  validateAgentId,
} from './protocol/card.ts'
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
  finishExtension,
  historyExtension,
  hopsExtension,
  idempotencyExtension,
  skillSchemasExtension,
  traceExtension,
  type Usage,
  usageExtension,
  whyExtension,
} from './protocol/extensions.ts'
export type { Explanation } from './protocol/failure.ts'
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
  type AuthContext,
  anonymous,
  type Call,
  type DialectName,
  type Dispatch,
  type EventStream,
  isOperationName,
  type Middleware,
  type OperationName,
  type OperationRow,
  type Operations,
  operationNames,
  operations,
  type QueryKind,
  type RequestOf,
  type ResultOf,
  type Sequenced,
} from './protocol/operations.ts'
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
  agentMessage,
  answerParts,
  canTransition,
  completedTaskWithText,
  createFold,
  dataPart,
  type Fold,
  type FoldOptions,
  isInterrupted,
  isTerminal,
  newArtifact,
  newMessage,
  newStatus,
  nowIso8601,
  type TaskStateName,
  type TaskStateSpelling,
  taskStates,
  textOf,
  textPart,
  toTaskState,
  userMessage,
  validateTaskId,
} from './protocol/task.ts'
export type * from './protocol/types.ts'
export type { Clock } from './shared/clock.ts'
export type { Logger } from './shared/log.ts'
