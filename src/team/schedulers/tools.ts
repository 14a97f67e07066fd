import type { AgentInfo, Turn } from '../../agents/agent.ts'
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
  const names = createNames(run.turn, round)
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
      async execute({ message }, { signal, key }) {
        if (typeof message !== 'string' || message === '') throw new Error('message is missing')
        const { name, kept } = names.of(id, key)
        traceRun(run, { type: 'decision', team: run.config.id, member: leader, recipients: [id] })
        const link = linkSignal(signal)
        try {
          const reply = await delegate(
            { ...run, link },
            {
              name,
              agentId: id,
              message: toMember(run, [{ text: message }]),
              tolerant: true,
              within: true,
            },
          )
          await kept
          return toResult(replyParts(reply))
        } finally {
          link.release()
        }
      },
    }
  })
  return withOwnNames(tools)
}

/** Names of delegations. */
interface Names {
  /** The name for a call, and what resolves when it is kept. */
  of(
    peer: string,
    call: string | undefined,
  ): { readonly name: string; readonly kept: Promise<void> }
}

/**
 * Numbers the calls of each peer, and keeps whose number is whose: a model that goes on after a crash or a question does
 * not repeat the calls whose results it has, so that counting them again would give another call's answer.
 */
function createNames(turn: Turn, round: string): Names {
  const place = `calls:${round}`
  const saved = turn.load(place)
  const known = new Map(Object.entries(isNumbers(saved) ? saved : {}))
  const counts = new Map<string, number>()
  for (const key of known.keys()) {
    const peer = key.slice(key.indexOf(' ') + 1)
    counts.set(peer, (counts.get(peer) ?? 0) + 1)
  }
  return {
    of(peer, call) {
      const key = `${call} ${peer}`
      const given = call === undefined ? undefined : known.get(key)
      if (given !== undefined) return { name: `${round}/${peer}-${given}`, kept: done }
      const number = (counts.get(peer) ?? 0) + 1
      counts.set(peer, number)
      const name = `${round}/${peer}-${number}`
      if (call === undefined) return { name, kept: done }
      known.set(key, number)
      const kept = turn.save(place, Object.fromEntries(known))
      kept.catch(() => {}) // whoever waits for it hears of it
      return { name, kept }
    },
  }
}

const done: Promise<void> = Promise.resolve()

function isNumbers(value: Json | undefined): value is Readonly<Record<string, number>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
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
