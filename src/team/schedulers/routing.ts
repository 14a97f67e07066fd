import type { AgentInfo, Turn } from '../../agents/agent.ts'
import { type Tool, toToolName, withOwnNames } from '../../agents/tools.ts'
import { clientRoutingExtension } from '../../protocol/extensions.ts'
import { textOf } from '../../protocol/task.ts'
import type { Json, JsonObject, Message, Part } from '../../protocol/types.ts'
import { LinkedSignal } from '../../shared/async.ts'
import { findJson } from '../../shared/json.ts'
import { delegate } from '../delegate.ts'
import { replyParts } from '../reply.ts'
import { type Run, toMember, traceRun } from '../run.ts'
import type { MemberReply } from './scheduler.ts'

/**
 * How a member learns of its peers and says who goes on.
 *
 * To a member that declares the client-routing extension, the message's metadata says under the extension's URI
 * `{ agentCards: [{ id, name, description, capabilities, supportsClientRouting }], sender: { type, id? } }`, and its
 * reply's metadata may say `{ recipient, handoffs?, reason?, message?, takesOver? }`, where a recipient is `"user"`,
 * `"sender"`, an id, or `{ "type": "user" | "sender" | "agent", "id" }`; the message goes to it instead of the reply,
 * and one that takes over goes on with the conversation in the sender's place. A model of a router says the same by
 * calling a tool. Any member may answer with a data part or JSON text
 * `{ "delegate": { "agent_id", "message" } }`; a list instead of the object names several members at once.
 */
export interface Decision {
  readonly delegations: readonly Delegated[]
  /** The only peers that the next member may see. */
  readonly handoffs?: readonly string[]
  readonly reason?: string
}

/** Who gets a message; `user` and `sender` are not agents. */
export interface Delegated {
  readonly recipient: string
  /** What to tell the recipient; the decider's own answer if absent. */
  readonly message?: string
  /** The recipient goes on in the decider's place: it gets what the decider got, and sees the conversation. */
  readonly takesOver?: boolean
}

/** Who sent a message to a member. */
export type Sender = 'user' | { readonly agentId: string }

/** The message with what a member of the extension learns of its peers. */
export function withPeers(message: Message, peers: readonly AgentInfo[], sender: Sender): Message {
  const routing = {
    agentCards: peers.map((info) => ({
      id: info.id,
      name: info.name,
      description: info.description,
      capabilities: info.capabilities.filter((ability) => ability !== clientRoutingExtension),
      supportsClientRouting: supportsRouting(info),
    })),
    sender: sender === 'user' ? { type: 'user' } : { type: 'agent', id: sender.agentId },
  }
  return {
    ...message,
    metadata: { ...message.metadata, [clientRoutingExtension]: routing },
    extensions: [...new Set([...(message.extensions ?? []), clientRoutingExtension])],
  }
}

/** Whether an agent declares the client-routing extension. */
export function supportsRouting(info: AgentInfo): boolean {
  const declared = info.details?.extensions?.some(({ uri }) => uri === clientRoutingExtension)
  return declared ?? info.capabilities.includes(clientRoutingExtension)
}

/** The message with the peers in words, for a member that does not know the extension. */
export function withPeerText(message: Message, peers: readonly AgentInfo[]): Message {
  const lines = peers.map((peer) => {
    const name = `${peer.id} (${peer.name})`
    return `- ${introduce({ ...peer, name })}`
  })
  const text = `\n\n<team>
You lead a team. Its members:
${lines.join('\n')}
To delegate, answer with nothing but JSON: {"delegate": {"agent_id": "<id>", "message": "<what to do>"}}
For several members at once, use a list: {"delegate": [{"agent_id": "<id>", "message": "<what to do>"}]}
Any other answer of yours goes to the user and ends the work.
</team>`
  return { ...message, parts: [...message.parts, { text }] }
}

/** What a model reads of an agent: its name, what it is for, and what it can do where it says so. */
function introduce({ name, description, capabilities }: AgentInfo): string {
  const about = description.trim() === '' ? name : `${name}: ${description.trim()}`
  const abilities = capabilities.filter((ability) => ability !== clientRoutingExtension)
  if (abilities.length === 0) return about
  return `${about}${/[.!?]$/.test(about) ? '' : '.'} Can do: ${abilities.join(', ')}.`
}

/** Who a reply says goes on; undefined when it does not say. */
export function readDecision(reply: MemberReply): Decision | undefined {
  return fromExtension(reply) ?? fromParts(replyParts(reply))
}

function fromExtension({ metadata }: MemberReply): Decision | undefined {
  const routing = metadata?.[clientRoutingExtension]
  if (!isObject(routing)) return undefined
  const recipient = toRecipient(routing.recipient)
  const handoffs = toHandoffs(routing.handoffs)
  if (recipient === undefined && !handoffs) return undefined
  const { message, takesOver } = routing
  const delegated = {
    ...(typeof message === 'string' && { message }),
    ...(takesOver === true && { takesOver }),
  }
  return {
    delegations: recipient === undefined ? [] : [{ recipient, ...delegated }],
    ...(handoffs && { handoffs }),
    ...(typeof routing.reason === 'string' && { reason: routing.reason }),
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function toRecipient(value: Json | undefined): string | undefined {
  if (typeof value === 'string' && value !== '') return value
  if (!isObject(value)) return undefined
  if (value.type === 'user' || value.type === 'sender') return value.type
  return typeof value.id === 'string' ? value.id : undefined
}

function toHandoffs(value: Json | undefined): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined
  return value.filter((id) => typeof id === 'string')
}

function fromParts(parts: readonly Part[]): Decision | undefined {
  const data = parts.flatMap((part) => ('data' in part ? [part.data] : []))
  const text = textOf(parts)
  for (const value of [...data, ...(text.includes('"delegate"') ? outerJson(text) : [])]) {
    const delegations = toDelegations(value)
    if (delegations.length > 0) return { delegations }
  }
  return undefined
}

/** The JSON with which a text begins or ends, fences aside. What stands in the middle of prose is only talked about. */
function outerJson(text: string): readonly object[] {
  return findJson(text)
    .filter(({ start, end }) => {
      const before = text.slice(0, start).trim()
      const after = text.slice(end).trim()
      return (
        after === '' || after === '```' || before === '' || before === '```json' || before === '```'
      )
    })
    .map(({ value }) => value)
}

function toDelegations(value: unknown): readonly Delegated[] {
  if (!isObject(value)) return []
  const { delegate } = value
  const list = Array.isArray(delegate) ? delegate : [delegate]
  return list.flatMap((item: Json | undefined) => {
    if (!isObject(item) || typeof item.agent_id !== 'string') return []
    const { message } = item
    return [{ recipient: item.agent_id, ...(typeof message === 'string' && { message }) }]
  })
}

/** Who delegates by tools, and in which round. */
interface Delegating {
  readonly leader: string
  readonly round: string
  readonly peers: readonly AgentInfo[]
}

/** One tool per peer, for a supervisor with a model that calls tools: calling it delegates, the result is the peer's answer. */
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
        const link = new LinkedSignal(signal)
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

/** CallNames of delegations. */
interface CallNames {
  /** The name for a call, and what resolves when it is kept. */
  of(
    peer: string,
    call: string | undefined,
  ): { readonly name: string; readonly kept: Promise<void> }
}

const done: Promise<void> = Promise.resolve()

/**
 * Numbers the calls of each peer, and keeps the numbers: a model that goes on after a crash or a question does
 * not repeat the calls of which it has the results, so that counting them again would give another call's answer.
 */
function createNames(turn: Turn, round: string): CallNames {
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
      kept.catch(() => {}) // the call that waits for it gets the error
      return { name, kept }
    },
  }
}

function isNumbers(value: Json | undefined): value is Readonly<Record<string, number>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Text as it is; data as JSON beside it, since a model reads nothing else. */
function toResult(parts: readonly Part[]): Json {
  const data = parts.flatMap((part) => ('data' in part ? [part.data] : []))
  return data.length === 0 ? textOf(parts) : { text: textOf(parts), data }
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
