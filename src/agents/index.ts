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
export { createEchoAgent } from './echo.ts'
export { type AgentDescription, type AgentFunction, defineAgent, toId } from './function.ts'
export { fromRunnable, type Runnable } from './runnable.ts'
