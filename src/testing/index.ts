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
export {
  type MemberAnswer,
  type MemberScript,
  type ScriptedMember,
  type ScriptedMemberOptions,
  scripted,
} from './member.ts'
export {
  type ModelAnswer,
  type ModelCall,
  type ModelRequest,
  type ModelScript,
  type ModelServer,
  type ModelServerOptions,
  openModelServer,
} from './model-server.ts'
export { type ModelErrorKind, type ModelWire, scriptedUsage } from './model-wires.ts'
export {
  type AnswerFunction,
  type RunTeamOptions,
  runTeam,
  type TeamRun,
  type TracedDelegation,
} from './run-team.ts'
