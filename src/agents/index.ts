/**
 * Make agents: from a function, a model, a remote A2A agent or a file, with tools, guards and answers that fit a schema.
 *
 * @module corral/agents
 */

export {
  EchoHandler,
  type EchoOptions,
  fromMessageHandler,
  HandlerError,
  type HandlerErrorVariant,
  type HandlerReply,
  type MessageHandler,
} from '../compat/message-handler.ts'
export {
  type FullRequestHandler,
  fromRequestHandler,
  type HandlerEvents,
  RequestHandler,
  type RequestHandlerOptions,
  type ServerCallContext,
  toRequestHandler,
} from '../compat/request-handler.ts'
export type {
  CapabilitiesDraft,
  CardDraft,
  ProviderDraft,
  SkillDraft,
} from '../compat/types.ts'
export type {
  Account,
  Agent,
  AgentAnswer,
  AgentDetails,
  AgentEvent,
  AgentInfo,
  AgentOf,
  AgentReply,
  ArtifactDraft,
  Callback,
  ChunkOptions,
  ContextValues,
  Draft,
  Health,
  StatusDraft,
  StepWork,
  Turn,
  WaitingTask,
} from './agent.ts'
export {
  type A2AAgentConfig,
  type AgentAuth,
  type AgentConfig,
  type ApprovalNames,
  type CallSettings,
  ConfigConversionError,
  type ConfigEnvironment,
  type ConfigFault,
  type McpEndpoint,
  type McpProgram,
  type McpServerConfig,
  type ModelConfig,
  type OpenAIAgentConfig,
  type ProtocolSpelling,
  type ProtocolType,
  type TaskHandling,
  type TaskWait,
  type ToolModuleConfig,
  toA2AAgentConfig,
  toOpenAIAgentConfig,
  validateA2AAgentConfig,
  validateOpenAIAgentConfig,
} from './config.ts'
export { type AgentDeps, createAgentFromConfig } from './create.ts'
export {
  type AgentDescription,
  type AgentFor,
  type AgentFunction,
  createEchoAgent,
  type DataFunction,
  defineAgent,
  type FunctionFor,
  fromRunnable,
  type Runnable,
  toId,
} from './function.ts'
export { type BlockDetails, ContentBlocked } from './guards/check.ts'
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
export { createMcpToolSource } from './mcp.ts'
export type { ModelHistory, ResponseFormat } from './model-config.ts'
export { loadModuleAgent } from './module.ts'
export { type ModelOutput, OpenAIAgent, type OpenAIAgentOptions } from './openai/agent.ts'
export { type OutputOptions, withOutputSchema } from './output/with-schema.ts'
export type { ModelPrice, ModelPrices } from './prices.ts'
export { A2AAgent, type A2AAgentOptions } from './remote/agent.ts'
export type { LocalInfo } from './remote/connect.ts'
export {
  type DataOf,
  type DataReading,
  type DataSchema,
  type SchemaInput,
  type SchemaPlace,
  toDataSchema,
  type WrittenData,
} from './schema.ts'
export {
  type ApprovalRule,
  type AsToolOptions,
  asTool,
  defineTool,
  type ResultFor,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolOutput,
  type ToolSource,
  type ToolUser,
} from './tools.ts'
