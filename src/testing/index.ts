/**
 * Test agents and teams with any test runner: scripted members and models, a clock that stands still, no keys, no network.
 *
 * @module corral/testing
 */

export { type RunTeamOptions, runTeam, type TeamRun } from '../app/run-team.ts'
export { createFakeClock, createInstantClock, type FakeClock, type InstantClock } from './clock.ts'
export { type ScriptedMember, scripted } from './member.ts'
export {
  type ModelAnswer,
  type ModelRequest,
  type ModelScript,
  type ModelServer,
  openModelServer,
} from './model-server.ts'
