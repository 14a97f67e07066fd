/** The protocol's vocabulary: types, operations, errors, builders, cards, signatures. Runs anywhere. */
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
  renderCard,
  validateAgentId,
} from './protocol/card.ts'
export { checkCard } from './protocol/card-check.ts'
export { A2AError, type ErrorCode, type ErrorDetails, errorCodes } from './protocol/errors.ts'
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
export { createFold, type Fold } from './protocol/fold.ts'
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
export {
  isOperationName,
  type OperationName,
  operationNames,
  operations,
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
  createJkuResolver,
  requireSignature,
  signCard,
  verifyCard,
} from './protocol/signature.ts'
export {
  answerParts,
  canTransition,
  isInterrupted,
  isTerminal,
  type TaskStateSpelling,
  taskStates,
  textOf,
  toTaskState,
} from './protocol/task.ts'
export type * from './protocol/types.ts'
