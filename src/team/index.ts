/**
 * Gather agents into teams: workflows, supervisors, routers and schedulers of your own, from code or from a TOML file,
 * and serve them.
 *
 * @module corral/team
 */
export type { Config } from '../app/config/file.ts'
export { loadConfig, parseConfig, toConfigJsonSchema } from '../app/config/load.ts'
export { ConfigError } from '../app/config/locate.ts'
export { createTeamFromConfig } from '../app/roster.ts'
export { type RunTeamOptions, runTeam, type TeamRun } from '../app/run-team.ts'
export {
  type ServeOptions,
  type Serving,
  serveConfig,
  serveConfigOverMcp,
  toServerOptions,
} from '../app/serve.ts'
export { TeamServer, type TeamServerOptions } from '../app/team-server.ts'
export { watchConfig } from '../app/watch.ts'
export type { SchedulerConfig, Step, StepScope, TeamConfig, TeamMode } from './config.ts'
export { InvalidTeamError } from './errors.ts'
export { AgentManager } from './manager.ts'
export { replyParts, type TraceEntry } from './reply.ts'
export {
  defineScheduler,
  type OwnScheduler,
  type Scheduler,
  type SchedulerDefinition,
  type SchedulerRun,
  type TeamAgentConfig,
} from './schedulers/scheduler.ts'
export { defineTeam, Team, type TeamDefinition, type TeamOptions } from './team.ts'
export { defineWorkflow, type Flow } from './workflow/define.ts'
