import type { AgentInfo } from '../../agents/agent.ts'
import { type Tool, toToolName, withOwnNames } from '../../agents/tools.ts'
import { clientRoutingExtension } from '../../protocol/extensions.ts'
import { textOf } from '../../protocol/task.ts'
import type { Json, Part } from '../../protocol/types.ts'
import { delegate } from '../delegate.ts'
import { replyParts } from '../reply.ts'
import { type Run, toMember, traceRun } from '../run.ts'
import { linkSignal } from '../signal.ts'
import { introduce } from './routing.ts'

/** Who delegates by tools, and in which round. */
interface Delegating {
  readonly leader: string
  readonly round: string
  readonly peers: readonly AgentInfo[]
}

/** One tool per peer, for a supervisor whose model calls tools: calling it delegates, the result is the peer's answer. */
export function toDelegateTools(run: Run, { leader, round, peers }: Delegating): readonly Tool[] {
  /** Calls per peer, so that a repeated run finds the same delegations under the same names. */
  const calls = new Map<string, number>()
  const tools = peers.map((peer): Tool => {
    const { id } = peer
    return {
      name: toToolName(`delegate_to_${id}`),
      description: `Asks ${introduce(peer)}`,
      parameters: {
        type: 'object',
        properties: { message: { type: 'string', description: 'What to ask or tell the agent' } },
        required: ['message'],
      },
      async execute({ message }, { signal }) {
        if (typeof message !== 'string' || message === '') throw new Error('message is missing')
        const number = (calls.get(id) ?? 0) + 1
        calls.set(id, number)
        traceRun(run, { type: 'decision', team: run.config.id, member: leader, recipients: [id] })
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
    }
  })
  return withOwnNames(tools)
}

/**
 * One tool per peer, for a model of a router: calling it ends the model's turn, and the peer goes on in its place. The
 * decision stands in the metadata of its answer, as that of any member that routes.
 */
export function toTransferTools(peers: readonly AgentInfo[]): readonly Tool[] {
  const tools = peers.map(
    (peer): Tool => ({
      name: toToolName(`transfer_to_${peer.id}`),
      description: `Hands the conversation over to ${introduce(peer)}`,
      parameters: {
        type: 'object',
        properties: {
          message: {
            type: 'string',
            description: 'What to tell the agent; what you were told if absent',
          },
        },
      },
      execute: () => 'Handed over',
      ends({ message }) {
        const told = typeof message === 'string' && message.trim() !== '' ? { message } : {}
        return { [clientRoutingExtension]: { recipient: peer.id, takesOver: true, ...told } }
      },
    }),
  )
  return withOwnNames(tools)
}

/** Text as it is; data as JSON beside it, since a model reads nothing else. */
function toResult(parts: readonly Part[]): Json {
  const data = parts.flatMap((part) => ('data' in part ? [part.data] : []))
  return data.length === 0 ? textOf(parts) : { text: textOf(parts), data }
}
