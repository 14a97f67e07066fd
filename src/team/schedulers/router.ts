import type { AgentInfo } from '../../agents/agent.ts'
import { acceptsTools } from '../../agents/tools.ts'
import { A2AError } from '../../protocol/errors.ts'
import { textOf } from '../../protocol/task.ts'
import type { Message, Part } from '../../protocol/types.ts'
import { type RouterConfig, routerRows } from '../config.ts'
import { delegate } from '../delegate.ts'
import { checkLimits } from '../errors.ts'
import { replyParts } from '../reply.ts'
import { peersOf, type Run, toMember, traceRun } from '../run.ts'
import type { Schedule, SchedulerKind } from './kind.ts'
import {
  type Decision,
  type Delegated,
  readDecision,
  type Sender,
  supportsRouting,
  toTransferTools,
  withPeers,
} from './routing.ts'
import type { MemberReply } from './scheduler.ts'

/** The row of the table: members pass the message on. */
export const router: SchedulerKind<RouterConfig> = {
  mode: ({ type }) => type,
  check(config, members, refuse) {
    const { defaultAgentId } = config
    if (!members.has(defaultAgentId)) {
      const reason = `default agent "${defaultAgentId}" is not a member`
      refuse('missingDefaultAgent', reason, ['scheduler', 'defaultAgentId'])
    }
    checkLimits(routerRows, { at: ['scheduler'], values: config }, refuse)
  },
  first: ({ defaultAgentId }) => defaultAgentId,
  create: createRouter,
}

/** A message on its way to a member. */
interface RoutedMessage {
  readonly agentId: string
  readonly message: Message
  readonly sender: Sender
  /** Whether the member goes on with the conversation in the sender's place. */
  readonly takesOver?: boolean | undefined
  /** The only peers that the member may see. */
  readonly handoffs?: readonly string[] | undefined
}

/**
 * Members pass the message on among themselves, starting with the default agent, until one answers the user. A model
 * does so by calling a tool, and its peer goes on in its place. A member
 * that does not decide answers the user if it is the default agent or does not know the routing extension; else its
 * answer goes to the default agent. No member may pass a message to itself, nor the same words twice to the same member.
 */
function createRouter(config: RouterConfig): Schedule {
  const maxHops = config.maxRoutingHops ?? routerRows.maxRoutingHops.default
  return async (run) => {
    const seen = new Set<string>()
    let hop: RoutedMessage = {
      agentId: config.defaultAgentId,
      message: run.memory.message,
      sender: 'user',
    }
    for (let number = 1; number <= maxHops; number++) {
      refuseRepeats(hop, seen)
      const info = await run.manager.info(hop.agentId)
      const reply = await takeHop(run, { hop, info, number, seen })
      const next = nextHop(run, { hop, number, info, reply, config })
      if (!next) return reply
      hop = next
    }
    throw new A2AError('processingError', `Maximum routing hops exceeded (${maxHops})`)
  }
}

function refuseRepeats({ agentId, message }: RoutedMessage, seen: Set<string>): void {
  const key = keyOf(agentId, message)
  if (seen.has(key))
    throw new A2AError('processingError', 'The agents of the team pass the same words in a circle')
  seen.add(key)
}

function keyOf(agentId: string, { parts }: Message): string {
  return JSON.stringify([agentId, textOf(parts), parts.length])
}

interface HopStart {
  readonly hop: RoutedMessage
  readonly info: AgentInfo
  readonly number: number
  /** What has gone to whom, by `keyOf`. */
  readonly seen: ReadonlySet<string>
}

async function takeHop(run: Run, { hop, info, number, seen }: HopStart): Promise<MemberReply> {
  const { agentId, handoffs } = hop
  const routes = supportsRouting(info)
  const agent = run.manager.get(agentId)
  const uses = agent !== undefined && acceptsTools(agent)
  const peers = routes || uses ? await peersOf(run, agentId) : []
  const visible = handoffs ? peers.filter(({ id }) => handoffs.includes(id)) : peers
  // A model is not offered to hand these words to a member that has had them: they would go in a circle.
  const open = visible.filter(({ id }) => !seen.has(keyOf(id, hop.message)))
  return delegate(run, {
    name: `hop-${number}`,
    agentId,
    message: routes ? withPeers(hop.message, visible, hop.sender) : hop.message,
    facesCaller: hop.sender === 'user' || hop.takesOver === true,
    live: routes ? 'end' : 'prose',
    ...(uses && { tools: toTransferTools(open) }),
  })
}

interface HopEnd {
  readonly hop: RoutedMessage
  readonly number: number
  readonly info: AgentInfo
  readonly reply: MemberReply
  readonly config: RouterConfig
}

/** Where the reply goes; undefined is the user. */
function nextHop(run: Run, arrival: HopEnd): RoutedMessage | undefined {
  const { hop } = arrival
  const decision = readDecision(arrival.reply)
  const [delegated] = decision?.delegations ?? []
  const agentId = toAgent(run, arrival, delegated?.recipient)
  if (agentId === undefined) return undefined
  // A run that goes on after a question repeats the decisions of its earlier turns.
  if (run.memory.isFresh(`hop-${arrival.number}:${hop.agentId}`))
    traceHop(run, { hop, agentId, decision })
  return {
    agentId,
    message: toMember(run, partsFor(arrival, delegated)),
    sender: { agentId: hop.agentId },
    takesOver: delegated?.takesOver,
    handoffs: decision?.handoffs,
  }
}

function toAgent(
  run: Run,
  { hop, info, config }: HopEnd,
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

function traceHop(
  run: Run,
  {
    hop,
    agentId,
    decision,
  }: { hop: RoutedMessage; agentId: string; decision: Decision | undefined },
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

/** What the next member gets. */
function partsFor({ hop, reply }: HopEnd, delegated: Delegated | undefined): readonly Part[] {
  if (delegated?.message) return [{ text: delegated.message }]
  return delegated?.takesOver ? hop.message.parts : replyParts(reply)
}
