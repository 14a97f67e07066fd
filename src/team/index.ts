export {
  type BuildDeps,
  createRoster,
  createTeamFromConfig,
  type Roster,
} from './config/build.ts'
export { toConfigJsonSchema } from './config/file.ts'
export { toServerOptions } from './config/serve.ts'
export type {
  LimitsConfig,
  RetentionConfig,
  ServerAuthConfig,
  WebhooksConfig,
} from './config/server.ts'
export { type WatchOptions, watchConfig } from './config/watch.ts'
export {
  type Config,
  ConfigError,
  type Environment,
  loadConfig,
  type ParseOptions,
  type Problem,
  parseConfig,
  type ServerConfig,
} from './config.ts'
export { AgentManager, type AgentManagerOptions, type RegisterOptions } from './manager.ts'
export { type McpServeOptions, serveConfigOverMcp } from './mcp.ts'
export { type ServeOptions, type Serving, serveConfig } from './serve.ts'
export { defineTeam, Team, type TeamDefinition, type TeamOptions } from './team.ts'
export type {
  AgentStep,
  ApprovalStep,
  BudgetConfig,
  CallRules,
  LoopStep,
  MapStep,
  ParallelStep,
  RouterConfig,
  SchedulerConfig,
  Step,
  StepRules,
  SupervisorConfig,
  TeamAgentConfig,
  TeamConfig,
  TeamMode,
  WorkflowConfig,
} from './team-config.ts'
export { TeamServer, type TeamServerOptions, type TeamServerState } from './team-server.ts'
export type { CallFacts, TraceEntry } from './trace.ts'
export { InvalidTeamError, type TeamFault } from './validate.ts'
