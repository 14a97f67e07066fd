/**
 * Test agents and teams with any test runner: scripted members and models, a clock that stands still, no keys, no network.
 *
 * @module corral/testing
 */
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
export { type AnswerFunction, type RunTeamOptions, runTeam, type TeamRun } from './run-team.ts'
