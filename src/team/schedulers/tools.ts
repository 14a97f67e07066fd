import type { AgentInfo } from '../../agents/agent.ts'
import { type Tool, toToolName } from '../../agents/tools.ts'
import { textOf } from '../../protocol/task.ts'
import type { Json, Part } from '../../protocol/types.ts'
import { delegate } from '../delegate.ts'
import { replyParts } from '../reply.ts'
import { type Run, toMember } from '../run.ts'
import { linkSignal } from '../signal.ts'

/** One tool per peer, for a supervisor whose model calls tools: calling it delegates, the result is the peer's answer. */
export function toTools(run: Run, round: string, peers: readonly AgentInfo[]): readonly Tool[] {
  /** Calls per peer, so that a repeated run finds the same delegations under the same names. */
  const calls = new Map<string, number>()
  return peers.map(({ id, name, description, capabilities }) => ({
    name: toToolName(`delegate_to_${id}`),
    description: `Asks ${name}: ${description} Can do: ${capabilities.join(', ')}`,
    parameters: {
      type: 'object',
      properties: { message: { type: 'string', description: 'What to ask or tell the agent' } },
      required: ['message'],
    },
    async execute({ message }, { signal }) {
      if (typeof message !== 'string' || message === '') throw new Error('message is missing')
      const number = (calls.get(id) ?? 0) + 1
      calls.set(id, number)
      const link = linkSignal(signal)
      try {
        const reply = await delegate(
          { ...run, link },
          {
            name: `${round}/${id}-${number}`,
            agentId: id,
            message: toMember(run, [{ text: message }]),
            tolerant: true,
          },
        )
        return toResult(replyParts(reply))
      } finally {
        link.release()
      }
    },
  }))
}

/** Text as it is; data as JSON beside it, since a model reads nothing else. */
function toResult(parts: readonly Part[]): Json {
  const data = parts.flatMap((part) => ('data' in part ? [part.data] : []))
  return data.length === 0 ? textOf(parts) : { text: textOf(parts), data }
}
