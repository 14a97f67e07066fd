/**
 * Make agents: from a function, a model, a remote A2A agent or a file, with tools, guards and answers that fit a schema.
 *
 * @module corral/agents
 */
export type {
  CapabilitiesDraft,
  CardDraft,
  ProviderDraft,
  SkillDraft,
} from '../compat/card-info.ts'
export { EchoHandler, type EchoOptions } from '../compat/echo-handler.ts'
export { HandlerError, type HandlerErrorVariant } from '../compat/handler-error.ts'
export {
  fromMessageHandler,
  type HandlerReply,
  type MessageHandler,
} from '../compat/message-handler.ts'
export {
  type FullRequestHandler,
  type HandlerEvents,
  RequestHandler,
  type ServerCallContext,
  toRequestHandler,
} from '../compat/request-handler.ts'
export { fromRequestHandler, type RequestHandlerOptions } from '../compat/request-relay.ts'
export type { Account } from './account.ts'
export type {
  Agent,
  AgentAnswer,
  AgentDetails,
  AgentEvent,
  AgentInfo,
  AgentOf,
  AgentReply,
  ArtifactDraft,
  ChunkOptions,
  ContextValues,
  Draft,
  Health,
  StatusDraft,
  Turn,
  WaitingTask,
} from './agent.ts'
export { type AsToolOptions, asTool } from './as-tool.ts'
export {
  type A2AAgentConfig,
  type AgentAuth,
  type AgentConfig,
  type CallSettings,
  ConfigConversionError,
  type ConfigEnvironment,
  type ConfigFault,
  type ModelConfig,
  type OpenAIAgentConfig,
  type ProtocolSpelling,
  type ProtocolType,
  type TaskHandling,
  toA2AAgentConfig,
  toOpenAIAgentConfig,
  validateA2AAgentConfig,
  validateOpenAIAgentConfig,
} from './config.ts'
export { type AgentDeps, createAgentFromConfig } from './create.ts'
export { createEchoAgent } from './echo.ts'
export {
  type AgentDescription,
  type AgentFor,
  type AgentFunction,
  type DataFunction,
  defineAgent,
  type FunctionFor,
  fromRunnable,
  type Runnable,
  toId,
} from './function.ts'
export { type BlockDetails, ContentBlocked } from './guards/blocked.ts'
export type {
  BuiltInGuard,
  ContentKind,
  FinderGuard,
  GuardAction,
  GuardContent,
  GuardContext,
  GuardFunction,
  GuardRule,
  GuardSide,
  Guards,
  GuardVerdict,
  LengthGuard,
  MemberGuard,
  ModuleGuard,
  PatternGuard,
  SchemaGuard,
} from './guards/guard.ts'
export { GuardFault, type GuardFaultDetail } from './guards/ready.ts'
export type { McpEndpoint, McpProgram, McpServerConfig } from './mcp/config.ts'
export { createMcpToolSource } from './mcp/tools.ts'
export type { ModelHistory, ResponseFormat } from './model-config.ts'
export { loadModuleAgent } from './module.ts'
export { type ModelOutput, OpenAIAgent, type OpenAIAgentOptions } from './openai/agent.ts'
export { type OutputOptions, withOutputSchema } from './output/with-schema.ts'
export type { ModelPrice, ModelPrices } from './prices.ts'
export { A2AAgent, type A2AAgentOptions } from './remote/agent.ts'
export type { LocalInfo } from './remote/info.ts'
export {
  type DataOf,
  type DataReading,
  type DataSchema,
  type SchemaInput,
  type SchemaPlace,
  toDataSchema,
  type WrittenData,
} from './schema.ts'
export type { ApprovalNames, ToolModuleConfig } from './tool-config.ts'
export {
  type ApprovalRule,
  defineTool,
  type ResultFor,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolSource,
  type ToolUser,
} from './tools.ts'
