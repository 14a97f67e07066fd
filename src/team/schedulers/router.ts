import type { AgentInfo } from '../../agents/agent.ts'
import { A2AError } from '../../protocol/errors.ts'
import { textOf } from '../../protocol/task.ts'
import type { Message } from '../../protocol/types.ts'
import { delegate } from '../delegate.ts'
import { checkLimit } from '../faults.ts'
import { replyParts } from '../reply.ts'
import { peersOf, type Run, toMember, traceRun } from '../run.ts'
import type { RouterConfig } from '../team-config.ts'
import type { Schedule, SchedulerKind } from './kind.ts'
import { type Decision, readDecision, type Sender, supportsRouting, withPeers } from './routing.ts'
import type { MemberReply } from './scheduler.ts'

/** RANCH's default. */
const defaultHops = 10

/** The row of the table: members pass the message on. */
export const router: SchedulerKind<RouterConfig> = {
  mode: ({ type }) => type,
  check({ defaultAgentId, maxRoutingHops }, members, refuse) {
    if (!members.has(defaultAgentId))
      refuse('missingDefaultAgent', `default agent "${defaultAgentId}" is not a member`)
    checkLimit({ name: 'maxRoutingHops', value: maxRoutingHops }, refuse)
  },
  first: ({ defaultAgentId }) => defaultAgentId,
  create: createRouter,
}

/** A message on its way to a member. */
interface Hop {
  readonly agentId: string
  readonly message: Message
  readonly sender: Sender
  /** The only peers that the member may see. */
  readonly handoffs?: readonly string[] | undefined
}

/**
 * Members pass the message on among themselves, starting with the default agent, until one answers the user. A member
 * that does not decide answers the user if it is the default agent or does not know the routing extension; else its
 * answer goes to the default agent. Nobody may pass a message to itself, nor the same words twice to the same member.
 */
function createRouter(config: RouterConfig): Schedule {
  const maxHops = config.maxRoutingHops ?? defaultHops
  return async (run) => {
    const seen = new Set<string>()
    let hop: Hop = { agentId: config.defaultAgentId, message: run.memory.message, sender: 'user' }
    for (let number = 1; number <= maxHops; number++) {
      refuseRepeats(hop, seen)
      const info = await run.manager.info(hop.agentId)
      const reply = await takeHop(run, { hop, info, number })
      const next = nextHop(run, { hop, info, reply, config })
      if (!next) return reply
      hop = next
    }
    throw new A2AError('processingError', `Maximum routing hops exceeded (${maxHops})`)
  }
}

async function takeHop(
  run: Run,
  { hop, info, number }: { hop: Hop; info: AgentInfo; number: number },
): Promise<MemberReply> {
  const { agentId, handoffs } = hop
  const routes = supportsRouting(info)
  const peers = routes ? await peersOf(run, agentId) : []
  const visible = handoffs ? peers.filter(({ id }) => handoffs.includes(id)) : peers
  return delegate(run, {
    name: `hop-${number}`,
    agentId,
    message: routes ? withPeers(hop.message, visible, hop.sender) : hop.message,
    facesCaller: hop.sender === 'user',
    live: routes ? 'end' : 'prose',
  })
}

interface Arrival {
  readonly hop: Hop
  readonly info: AgentInfo
  readonly reply: MemberReply
  readonly config: RouterConfig
}

/** Where the reply goes; undefined is the user. */
function nextHop(run: Run, arrival: Arrival): Hop | undefined {
  const { hop, reply } = arrival
  const decision = readDecision(reply)
  const [delegated] = decision?.delegations ?? []
  const agentId = toAgent(run, arrival, delegated?.recipient)
  if (agentId === undefined) return undefined
  traceHop(run, { hop, agentId, decision })
  return {
    agentId,
    message: toMember(run, delegated?.message ? [{ text: delegated.message }] : replyParts(reply)),
    sender: { agentId: hop.agentId },
    handoffs: decision?.handoffs,
  }
}

function toAgent(
  run: Run,
  { hop, info, config }: Arrival,
  recipient: string | undefined,
): string | undefined {
  if (recipient === 'user') return undefined
  if (recipient === 'sender') return hop.sender === 'user' ? undefined : hop.sender.agentId
  if (recipient === hop.agentId)
    throw new A2AError('processingError', 'An agent of the team has passed a message to itself')
  if (recipient !== undefined && run.config.agents.some(({ agentId }) => agentId === recipient))
    return recipient
  if (recipient !== undefined)
    run.turn.log.warn({ agent: hop.agentId, recipient }, 'A message was routed to no member')
  const ends = hop.agentId === config.defaultAgentId || !supportsRouting(info)
  return ends ? undefined : config.defaultAgentId
}

function refuseRepeats({ agentId, message }: Hop, seen: Set<string>): void {
  const key = JSON.stringify([agentId, textOf(message.parts), message.parts.length])
  if (seen.has(key))
    throw new A2AError('processingError', 'The agents of the team pass the same words in a circle')
  seen.add(key)
}

function traceHop(
  run: Run,
  { hop, agentId, decision }: { hop: Hop; agentId: string; decision: Decision | undefined },
): void {
  const { reason } = decision ?? {}
  traceRun(run, {
    type: 'decision',
    team: run.config.id,
    member: hop.agentId,
    recipients: [agentId],
    ...(reason && { reason }),
  })
}
