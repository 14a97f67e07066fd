import type { Agent } from '../agents/agent.ts'
import { withGuards } from '../agents/guards/with-guards.ts'
import type { Delegation, Run } from './run.ts'

/** The member under the guards of its step, where the step has some. */
export function guardMember(run: Run, { name, agentId, guards }: Delegation, agent: Agent): Agent {
  if (!guards) return agent
  return withGuards(agent, run.guards.ready(guards), {
    owner: { team: run.config.id, agent: agentId, step: name },
    tracer: run.turn,
    askMember: (question) => run.guards.ask(run, name, question),
  })
}
