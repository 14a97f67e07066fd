import { userMessage } from '../../protocol/build.ts'
import { A2AError } from '../../protocol/errors.ts'
import { answerParts, isInterrupted, isTerminal } from '../../protocol/task.ts'
import type { Json, JsonObject, Part, Task } from '../../protocol/types.ts'
import { addUsage, type Usage, usageOf } from '../../protocol/usage.ts'
import { withSignal } from '../../shared/async.ts'
import { digestOf } from '../../shared/ids.ts'
import type { Agent, Turn } from '../agent.ts'
import { AsideTurn } from '../aside.ts'
import { collectTask } from '../reply.ts'
import type { VerdictAnswer, VerdictQuestion } from './check.ts'
import { verdictSchema } from './verdict.ts'

/**
 * Asks agents of a file for verdicts, within the turn of the agent that they guard. A durable step: one that has answered
 * is not asked again about the same content after a crash.
 */
export function askAgents(
  agentOf: (id: string) => Agent | undefined,
): (question: VerdictQuestion, turn: Turn) => Promise<VerdictAnswer> {
  return async ({ member, parts, name }, turn) => {
    const agent = agentOf(member)
    if (!agent) throw new A2AError('agentUnavailable', `Agent "${member}" is not registered`)
    const space = `guard.${name}:${member}`
    // The same when the turn runs again after a crash, so that a remote agent is not sent it twice.
    const messageId = await digestOf([turn.taskId, turn.number, space])
    const message = { ...userMessage(parts, { contextId: turn.contextId }), messageId }
    const answer = await turn.step(space, async () => {
      const inner = new JudgeTurn(turn, { space, message, signal: turn.signal })
      const task = collectTask(agent.process(message, inner), inner)
      return toJson(answerOf(await withSignal(task, turn.signal), member))
    })
    return fromJson(answer)
  }
}

/** The turn of an agent that is asked for a verdict. */
class JudgeTurn extends AsideTurn {
  override get outputSchema(): JsonObject {
    return verdictSchema
  }
}

function answerOf(task: Task, member: string): VerdictAnswer {
  const { state } = task.status
  if (isInterrupted(state) || (isTerminal(state) && state !== 'TASK_STATE_COMPLETED'))
    throw new A2AError('processingError', `Agent "${member}" gave no verdict`)
  const usage = (task.artifacts ?? []).reduce<Usage | undefined>(
    (sum, { metadata }) => addUsage(sum, usageOf(metadata)),
    usageOf(task.status.message?.metadata),
  )
  return { parts: answerParts(task), usage }
}

function toJson({ parts, usage }: VerdictAnswer): Json {
  const value: object = { parts, ...(usage && { usage }) }
  return value as Json // parts and numbers
}

function fromJson(value: Json): VerdictAnswer {
  const stored: object = Object(value)
  return stored as { readonly parts: readonly Part[]; readonly usage?: Usage } // written by toJson
}
