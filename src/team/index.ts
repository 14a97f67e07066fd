export type { Config } from '../app/config/file.ts'
export { toConfigJsonSchema } from '../app/config/json-schema.ts'
export { loadConfig, type ParseOptions, parseConfig } from '../app/config/load.ts'
export { ConfigError, type Problem } from '../app/config/problems.ts'
export type { ServerConfig } from '../app/config/server.ts'
export type { ServerAuthConfig } from '../app/config/server-auth.ts'
export type { RetentionConfig, WebhooksConfig } from '../app/config/server-parts.ts'
export type { ConfigVariables as Environment } from '../app/config/values.ts'
export { type McpServeOptions, serveConfigOverMcp } from '../app/mcp.ts'
export { storePlace } from '../app/open-store.ts'
export {
  type BuildDeps,
  createRoster,
  createTeamFromConfig,
  type Roster,
  rosterWarnings,
} from '../app/roster.ts'
export {
  type ServeOptions,
  type Serving,
  serveConfig,
  type UnreachableAgent,
} from '../app/serve.ts'
export { toServerOptions } from '../app/server-options.ts'
export { TeamServer, type TeamServerOptions, type TeamServerState } from '../app/team-server.ts'
export { type ConfigWatchOptions as WatchOptions, watchConfig } from '../app/watch.ts'
export type { LimitOptions as LimitsConfig } from '../server/limits.ts'
export type { TeamFault } from './faults.ts'
export { AgentManager, type AgentManagerOptions, type RegisterOptions } from './manager.ts'
export { replyParts } from './reply.ts'
export {
  type AskOptions,
  type CallRules,
  defineScheduler,
  type MemberReply,
  type OwnScheduler,
  type Scheduler,
  type SchedulerDefinition,
  type SchedulerRun,
  type TeamAgentConfig,
} from './schedulers/scheduler.ts'
export { defineTeam, Team, type TeamDefinition, type TeamOptions } from './team.ts'
export type {
  AgentStep,
  ApprovalStep,
  AskRules,
  BranchCase,
  BranchStep,
  BudgetConfig,
  Join,
  LoopStep,
  MapStep,
  ParallelStep,
  RouterConfig,
  Rule,
  SchedulerConfig,
  Step,
  StepResult,
  StepRules,
  StepScope,
  SupervisorConfig,
  TeamConfig,
  TeamMode,
  TeamScheduler,
  WorkflowConfig,
} from './team-config.ts'
export type { CallFacts, TraceEntry } from './trace.ts'
export { InvalidTeamError } from './validate.ts'
export { defineWorkflow, type WorkflowDefinition } from './workflow/define.ts'
export type { Flow, FlowCases } from './workflow/flow.ts'
