/**
 * Gather agents into teams: workflows, supervisors, routers and schedulers of your own, from code or from a TOML file,
 * and serve them.
 *
 * @module corral/team
 */
export type { Config } from '../app/config/file.ts'
export { toConfigJsonSchema } from '../app/config/json-schema.ts'
export { loadConfig, type ParseOptions, parseConfig } from '../app/config/load.ts'
export type { Location as ProblemLocation } from '../app/config/locate.ts'
export type { PostgresConfig, PostgresTlsConfig } from '../app/config/postgres.ts'
export { ConfigError, type Problem } from '../app/config/problems.ts'
export type { ServerConfig } from '../app/config/server.ts'
export type { ServerAuthConfig } from '../app/config/server-auth.ts'
export type {
  ConsoleConfig,
  RetentionConfig,
  WebhooksConfig,
} from '../app/config/server-parts.ts'
export type { ConfigVariables as Environment } from '../app/config/values.ts'
export { type McpServeOptions, type McpServing, serveConfigOverMcp } from '../app/mcp.ts'
export { type StoreChoice, storePlace } from '../app/open-store.ts'
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
export type { TeamFault, TeamPath } from './faults.ts'
export { type FaultDetail, InvalidTeamError } from './invalid.ts'
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
  AsksNobody,
  BranchCase,
  BranchStep,
  BudgetConfig,
  Join,
  LoopRules,
  LoopStep,
  MapRules,
  MapStep,
  ParallelStep,
  RouterConfig,
  Rule,
  SchedulerConfig,
  SchedulerSpelling,
  Step,
  StepResult,
  StepRules,
  StepScope,
  SupervisorConfig,
  TeamConfig,
  TeamMode,
  TeamScheduler,
  TeamSpelling,
  WorkflowConfig,
} from './team-config.ts'
export type { CallFacts, TraceEntry } from './trace.ts'
export { defineWorkflow, type WorkflowDefinition } from './workflow/define.ts'
export type {
  BranchEnd,
  Flow,
  FlowCases,
  FlowEnd,
  FlowItem,
  FlowJoin,
  FlowMapRules,
  FlowMemberRules,
  FlowRound,
  FlowRules,
  FlowSteps,
} from './workflow/flow.ts'
export type {
  FlowAfter,
  FlowMembers,
  FlowScope,
  FlowStart,
  FlowState,
  FlowWithin,
} from './workflow/state.ts'
