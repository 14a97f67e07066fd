/**
 * Gather agents into teams: workflows, supervisors, routers and schedulers of your own, from code or from a TOML file,
 * and serve them.
 *
 * @module corral/team
 */
export type { Config } from '../app/config/file.ts'
export {
  loadConfig,
  type ParseOptions,
  parseConfig,
  toConfigJsonSchema,
} from '../app/config/load.ts'
export {
  ConfigError,
  type Location as ProblemLocation,
  type Problem,
} from '../app/config/locate.ts'
export type {
  ConsoleConfig,
  PostgresConfig,
  PostgresTlsConfig,
  RetentionConfig,
  ServerAuthConfig,
  ServerConfig,
  WebhooksConfig,
} from '../app/config/server.ts'
export type { ConfigVariables as Environment } from '../app/config/values.ts'
export {
  type BuildDeps,
  createRoster,
  createTeamFromConfig,
  type Roster,
  rosterWarnings,
} from '../app/roster.ts'
export {
  type McpServeOptions,
  type McpServing,
  type ServeOptions,
  type Serving,
  type StoreChoice,
  serveConfig,
  serveConfigOverMcp,
  storePlace,
  toServerOptions,
  type UnreachableAgent,
} from '../app/serve.ts'
export { TeamServer, type TeamServerOptions, type TeamServerState } from '../app/team-server.ts'
export { type ConfigWatchOptions as WatchOptions, watchConfig } from '../app/watch.ts'
export type { LimitOptions as LimitsConfig } from '../server/access/limits.ts'
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
} from './config.ts'
export { type FaultDetail, InvalidTeamError, type TeamFault, type TeamPath } from './errors.ts'
export { AgentManager, type AgentManagerOptions, type RegisterOptions } from './manager.ts'
export { type CallFacts, replyParts, type TraceEntry } from './reply.ts'
export {
  type AskOptions,
  type CallRules,
  type CutReason,
  defineScheduler,
  type MemberReply,
  type OwnScheduler,
  type Scheduler,
  type SchedulerDefinition,
  type SchedulerRun,
  type TeamAgentConfig,
} from './schedulers/scheduler.ts'
export { defineTeam, Team, type TeamDefinition, type TeamOptions } from './team.ts'
export {
  type BranchEnd,
  defineWorkflow,
  type Flow,
  type FlowAfter,
  type FlowCases,
  type FlowEnd,
  type FlowItem,
  type FlowJoin,
  type FlowMapRules,
  type FlowMemberRules,
  type FlowMembers,
  type FlowRound,
  type FlowRules,
  type FlowScope,
  type FlowStart,
  type FlowState,
  type FlowSteps,
  type FlowWithin,
  type WorkflowDefinition,
} from './workflow/define.ts'
