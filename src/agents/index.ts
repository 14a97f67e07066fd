/**
 * Make agents: from a function, a model, a remote A2A agent or a file, with tools, guards and answers that fit a schema.
 *
 * @module corral/agents
 */

export {
  EchoHandler,
  fromMessageHandler,
  HandlerError,
  type HandlerReply,
  type MessageHandler,
} from '../compat/message-handler.ts'
export {
  type FullRequestHandler,
  fromRequestHandler,
  RequestHandler,
  type ServerCallContext,
} from '../compat/request-handler.ts'
export type { CardDraft } from '../compat/types.ts'
export type { Agent, AgentEvent, AgentInfo, AgentOf, AgentReply, Health, Turn } from './agent.ts'
export {
  type A2AAgentConfig,
  type AgentConfig,
  ConfigConversionError,
  type McpServerConfig,
  type OpenAIAgentConfig,
  type ProtocolType,
  type TaskHandling,
  toA2AAgentConfig,
  toOpenAIAgentConfig,
} from './config.ts'
export { createAgentFromConfig } from './create.ts'
export {
  type AgentDescription,
  type AgentFunction,
  createEchoAgent,
  defineAgent,
  fromRunnable,
} from './function.ts'
export { ContentBlocked } from './guards/check.ts'
export type { GuardContent, GuardFunction, Guards, GuardVerdict } from './guards/guard.ts'
export { GuardFault } from './guards/ready.ts'
export { createMcpToolSource } from './mcp.ts'
export { OpenAIAgent, type OpenAIAgentOptions } from './openai/agent.ts'
export { withOutputSchema } from './output/with-schema.ts'
export { A2AAgent, type A2AAgentOptions } from './remote/agent.ts'
export { toDataSchema } from './schema.ts'
export { asTool, defineTool, type Tool, type ToolContext, type ToolSource } from './tools.ts'
