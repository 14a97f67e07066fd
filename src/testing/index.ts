/** For tests of agents and teams, with any test runner: offline, without keys, without waiting. */
export {
  createFakeClock,
  createInstantClock,
  type FakeClock,
  type InstantClock,
  type InstantClockOptions,
} from './clock.ts'
export type { TracedDelegation } from './delegations.ts'
export {
  type MemberAnswer,
  type MemberScript,
  type ScriptedMember,
  type ScriptedMemberOptions,
  scripted,
} from './member.ts'
export { scriptedUsage } from './model-answer.ts'
export type { ModelAnswer, ModelCall, ModelRequest, ModelScript } from './model-script.ts'
export { type ModelServer, type ModelServerOptions, openModelServer } from './model-server.ts'
export { type RunTeamOptions, runTeam, type TeamRun } from './run-team.ts'
