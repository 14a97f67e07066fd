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
export { type AsToolOptions, asTool } from './as-tool.ts'
export type { CardDraft, SkillDraft } from './card-info.ts'
export {
  type A2AAgentConfig,
  type AgentAuth,
  type AgentConfig,
  ConfigConversionError,
  type ConfigEnvironment,
  type ConfigFault,
  type OpenAIAgentConfig,
  type ProtocolType,
  type TaskHandling,
  toA2AAgentConfig,
  toOpenAIAgentConfig,
  validateA2AAgentConfig,
  validateOpenAIAgentConfig,
} from './config.ts'
export { type AgentDeps, createAgentFromConfig } from './create.ts'
export { createEchoAgent } from './echo.ts'
export { EchoHandler, type EchoOptions } from './echo-handler.ts'
export { type AgentDescription, type AgentFunction, defineAgent, toId } from './function.ts'
export { fromMessageHandler, type HandlerReply, type MessageHandler } from './handler.ts'
export { HandlerError, type HandlerErrorVariant } from './handler-error.ts'
export type { McpEndpoint, McpProgram, McpServerConfig } from './mcp/config.ts'
export { createMcpToolSource } from './mcp/tools.ts'
export { loadModuleAgent } from './module.ts'
export { OpenAIAgent, type OpenAIAgentOptions } from './openai/agent.ts'
export { A2AAgent, type A2AAgentOptions } from './remote/agent.ts'
export {
  type FullRequestHandler,
  type HandlerEvents,
  RequestHandler,
  type ServerCallContext,
  toRequestHandler,
} from './request-handler.ts'
export { fromRequestHandler, type RequestHandlerOptions } from './request-relay.ts'
export { fromRunnable, type Runnable } from './runnable.ts'
export { defineTool, type Tool, type ToolContext, type ToolSource, type ToolUser } from './tools.ts'
