import type { AgentReply, Turn } from '../agents/agent.ts'
import type { VerdictQuestion } from '../agents/guards/check.ts'
import { isUnguarded } from '../agents/guards/ready.ts'
import { guardedAnswer } from '../agents/guards/with-guards.ts'
import type { AskAgent } from '../agents/wrap.ts'
import type { Message } from '../protocol/types.ts'
import type { Delegation, Run } from './run.ts'

/** A question to a member. */
interface MemberQuestion {
  readonly ask: AskAgent
  readonly message: Message
  readonly turn: Turn
}

/** What a member answers, under the guards of its step where the step has some. */
export function askGuarded(
  run: Run,
  { name, agentId, guards }: Delegation,
  { ask, message, turn }: MemberQuestion,
): AgentReply {
  const ready = guards && run.guards.ready(guards)
  if (!ready || isUnguarded(ready)) return ask(turn, message)
  const around = {
    owner: { team: run.config.id, agent: agentId, step: name },
    tracer: run.turn,
    askMember: (question: VerdictQuestion) => run.guards.ask(run, name, question),
  }
  return guardedAnswer({ guards: ready, around, ask }, message, turn)
}
