import type { Agent, AgentReply, Turn } from '../../../../src/agents/agent.ts'
import type { Json, JsonObject, Message } from '../../../../src/protocol/types.ts'
import type { Step } from '../../../../src/team/config.ts'
import { defineTeam, type Team } from '../../../../src/team/team.ts'
import { runTeam, type TeamRun } from '../../../../src/testing/index.ts'
import { member } from '../../../fixtures/members.ts'

/** A workflow of these members. */
export function flow(agents: Readonly<Record<string, Agent>>, ...steps: readonly Step[]): Team {
  return defineTeam({ id: 'flow', name: 'Flow', agents, scheduler: { type: 'workflow', steps } })
}

/** Runs it in a server; the user answers its questions with these. */
export function runFlow(
  team: Team,
  text: string | Message,
  ...answers: string[]
): Promise<TeamRun> {
  return runTeam(team, text, { answers, logger: false })
}

/** A member that answers with data. */
export function teller(id: string, make: (text: string, turn: Turn) => Json): Agent {
  return member(id, (text, turn): AgentReply => turn.reply([{ data: make(text, turn) }]))
}

/** The steps and members of the delegations, in order. */
export function callsOf({ delegations }: TeamRun): readonly string[] {
  return delegations.map(({ step, member: id, text }) => `${step} ${id}: ${text}`)
}

/** The entries of one type, without what is the same in all. */
export function entriesOf({ trace }: TeamRun, type: string): readonly JsonObject[] {
  return trace
    .filter((entry) => entry.type === type)
    .map(({ team: _team, type: _type, at: _at, time: _time, seq: _seq, ...entry }) => entry)
}

/** A member that asks the user before it answers. */
export function asker(id: string, question: string): Agent {
  return member(id, async function* (text, turn) {
    yield turn.task ? `heard ${text}` : turn.ask(question)
  })
}
