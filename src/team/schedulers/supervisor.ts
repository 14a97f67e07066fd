import type { AgentInfo } from '../../agents/agent.ts'
import { acceptsTools, type Tool } from '../../agents/tools.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { Message, Part } from '../../protocol/types.ts'
import { type SupervisorConfig, supervisorRows } from '../config.ts'
import { delegate, delegateAll } from '../delegate.ts'
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
  toDelegateTools,
  withPeers,
  withPeerText,
} from './routing.ts'
import type { MemberReply } from './scheduler.ts'

/** The row of the table: one member leads. */
export const supervisor: SchedulerKind<SupervisorConfig> = {
  mode: ({ type }) => type,
  check(config, members, refuse) {
    const { supervisorAgentId } = config
    if (!members.has(supervisorAgentId)) {
      const reason = `supervisor "${supervisorAgentId}" is not a member`
      refuse('missingSupervisor', reason, ['scheduler', 'supervisorAgentId'])
    }
    checkLimits(supervisorRows, { at: ['scheduler'], values: config }, refuse)
  },
  first: ({ supervisorAgentId }) => supervisorAgentId,
  create: createSupervisor,
}

/**
 * One member leads: it gets the message and its peers' cards, delegates to one or several of them, gets their answers
 * back, and so on until it answers without delegating. A specialist that fails is reported to the supervisor, which may
 * ask another; a supervisor that fails fails the run.
 */
function createSupervisor(config: SupervisorConfig): Schedule {
  const maxRounds = config.maxRounds ?? supervisorRows.maxRounds.default
  return async (run) => {
    const leader = await meetLeader(run, config.supervisorAgentId)
    let message = leader.brief(run.memory.message, 'user')
    for (let round = 1; round <= maxRounds; round++) {
      const reply = await delegate(run, {
        name: `round-${round}`,
        agentId: config.supervisorAgentId,
        message,
        facesCaller: true,
        live: leader.routes ? 'end' : 'prose',
        ...(leader.uses && { tools: leader.tools(`round-${round}`) }),
      })
      const wanted = readDecision(reply)
      if (!wanted || isFinal(wanted.delegations)) return reply
      if (run.memory.isFresh(`round-${round}:${config.supervisorAgentId}`))
        traceDecision(run, config.supervisorAgentId, wanted)
      const { parts, sender } = await consult({ run, leader, reply, round }, wanted.delegations)
      message = leader.brief(toMember(run, parts), sender)
    }
    throw new A2AError('processingError', `The team has no answer after ${maxRounds} rounds`)
  }
}

/** The supervisor, and how it learns who its peers are. */
interface Leader {
  readonly peers: readonly AgentInfo[]
  readonly routes: boolean
  /** Whether it takes tools, and so delegates by calling them. */
  readonly uses: boolean
  tools(round: string): readonly Tool[]
  brief(message: Message, sender: Sender): Message
}

async function meetLeader(run: Run, id: string): Promise<Leader> {
  const [info, peers] = await Promise.all([run.manager.info(id), peersOf(run, id)])
  const routes = supportsRouting(info)
  const agent = run.manager.get(id)
  const uses = agent !== undefined && acceptsTools(agent)
  return {
    peers,
    routes,
    uses,
    tools: (round) => toDelegateTools(run, { leader: id, round, peers }),
    brief(message, sender) {
      if (routes) return withPeers(message, peers, sender)
      return uses ? message : withPeerText(message, peers)
    },
  }
}

/** To a supervisor, its sender is the user it answers. */
function isFinal(delegations: readonly Delegated[]): boolean {
  return delegations.every(({ recipient }) => recipient === 'user' || recipient === 'sender')
}

function traceDecision(run: Run, member: string, { delegations, reason }: Decision): void {
  const recipients = delegations.map(({ recipient }) => recipient)
  const team = run.config.id
  traceRun(run, { type: 'decision', team, member, recipients, ...(reason && { reason }) })
}

interface Consultation {
  readonly run: Run
  readonly leader: Leader
  readonly reply: MemberReply
  readonly round: number
}

/** Asks the members that the supervisor named, and puts their answers together for it. */
async function consult(
  { run, leader, reply, round }: Consultation,
  wanted: readonly Delegated[],
): Promise<{ readonly parts: readonly Part[]; readonly sender: Sender }> {
  const asked = wanted.filter(({ recipient }) => recipient !== 'user' && recipient !== 'sender')
  const works = asked.map((one, index) => (group: Run) => {
    const name = `round-${round}.${index + 1}`
    return ask(group, { name, one, known: leader.peers, words: ownWords(reply) })
  })
  const answers = await delegateAll(run, works)
  const only = asked.length === 1 ? asked[0] : undefined
  return {
    parts: answers.flat(),
    sender: only ? { agentId: only.recipient } : 'user',
  }
}

interface SpecialistCall {
  readonly name: string
  readonly one: Delegated
  readonly known: readonly AgentInfo[]
  /** What the supervisor said besides its decision. */
  readonly words: readonly Part[]
}

async function ask(
  run: Run,
  { name, one, known, words }: SpecialistCall,
): Promise<readonly Part[]> {
  const { recipient } = one
  if (!known.some(({ id }) => id === recipient))
    return [{ text: `There is no member "${recipient}". Members: ${idsOf(known)}.\n` }]
  const parts = one.message === undefined ? words : [{ text: one.message }]
  const reply = await delegate(run, {
    name,
    agentId: recipient,
    message: toMember(run, parts.length > 0 ? parts : run.memory.message.parts),
    tolerant: true,
  })
  const verb = reply.state === 'TASK_STATE_FAILED' ? 'could not answer' : 'answered'
  return [{ text: `${recipient} ${verb}:\n` }, ...replyParts(reply), { text: '\n' }]
}

function idsOf(agents: readonly AgentInfo[]): string {
  return agents.map(({ id }) => id).join(', ')
}

/** What a member is asked when the decision names it without a message: the supervisor's words, not its data. */
function ownWords(reply: MemberReply): readonly Part[] {
  return replyParts(reply).filter((part) => !('data' in part))
}
