import type { Message } from '../../protocol/types.ts'
import type { Agent, AgentEvent, Turn } from '../agent.ts'
import type { AskAgent } from '../wrap.ts'
import type { Guards } from './guard.ts'
import { readGuards } from './read.ts'
import { guardedAnswer, withGuards } from './with-guards.ts'

/**
 * An agent under guards that a program gives it. It knows no other agents, so none can be asked.
 * @throws GuardFault that names the first guard that cannot be.
 */
export function withOwnGuards(agent: Agent, id: string, guards: Guards | undefined): Agent {
  return guards ? withGuards(agent, readGuards(guards), aroundOf(id)) : agent
}

/** Lets an agent answer under its guards. */
export type GuardedAnswer = (
  ask: AskAgent,
  message: Message,
  turn: Turn,
) => AsyncGenerator<AgentEvent>

/** The same for an agent that is an instance of a class; undefined where it has no guards. @throws GuardFault */
export function createGuardedAnswer(
  id: string,
  guards: Guards | undefined,
): GuardedAnswer | undefined {
  if (!guards) return undefined
  const [ready, around] = [readGuards(guards), aroundOf(id)]
  return (ask, message, turn) => guardedAnswer({ guards: ready, around, ask }, message, turn)
}

function aroundOf(id: string): Parameters<typeof withGuards>[2] {
  const askMember = (): Promise<never> => Promise.reject(new Error('nobody can be asked'))
  return { owner: { agent: id }, askMember }
}
