import type { Agent } from '../agent.ts'
import type { Guards } from './guard.ts'
import { readGuards } from './read.ts'
import { withGuards } from './with-guards.ts'

/**
 * An agent under guards that a program gives it. It knows no other agents, so none can be asked.
 * @throws GuardFault that names the first guard that cannot be.
 */
export function withOwnGuards(agent: Agent, id: string, guards: Guards | undefined): Agent {
  if (!guards) return agent
  return withGuards(agent, readGuards(guards), {
    owner: { agent: id },
    askMember: () => Promise.reject(new Error('nobody can be asked')),
  })
}
