export type {
  Agent,
  AgentAnswer,
  AgentDetails,
  AgentEvent,
  AgentInfo,
  AgentReply,
  ChunkOptions,
  Draft,
  Health,
  Turn,
  WaitingTask,
} from './agent.ts'
export type { CardDraft, SkillDraft } from './card-info.ts'
export { createEchoAgent } from './echo.ts'
export { EchoHandler, type EchoOptions } from './echo-handler.ts'
export { type AgentDescription, type AgentFunction, defineAgent, toId } from './function.ts'
export { fromMessageHandler, type HandlerReply, type MessageHandler } from './handler.ts'
export { HandlerError, type HandlerErrorVariant } from './handler-error.ts'
export {
  fromRequestHandler,
  type RequestHandler,
  type RequestHandlerOptions,
  type ServerCallContext,
  toRequestHandler,
} from './request-handler.ts'
export { fromRunnable, type Runnable } from './runnable.ts'
