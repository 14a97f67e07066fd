import type { Agent, AgentEvent, AgentInfo, AgentReply, Health, Turn } from '../agents/agent.ts'
import { A2AError } from '../protocol/errors.ts'
import { textOf } from '../protocol/task.ts'
import type { Json, Message } from '../protocol/types.ts'
import { checkArgument, checkOptions, type OptionTable } from '../shared/options.ts'

/** One answer of a scripted member; a string is the whole text. */
export type MemberAnswer =
  | string
  /** Text in these pieces, as they would come. */
  | { readonly chunks: readonly string[] }
  /** A question to the user; their answer takes the next of the script. */
  | { readonly asks: string }
  /** A failure: words that the caller may read, or an error that is thrown as it is. */
  | { readonly fails: string | Error }
  /** A value instead of a text. */
  | { readonly data: Json }
  /** A decision, as supervisors and members of routers make it: who goes on, and what they are told. */
  | { readonly delegates: string | readonly string[]; readonly saying?: string }

/** What a scripted member answers: a list in order, whose last answer repeats, or a function of the message. */
export type MemberScript =
  | readonly MemberAnswer[]
  | ((text: string, turn: Turn, message: Message) => AgentReply)

/** Who a scripted member is. */
export interface ScriptedMemberOptions extends Partial<AgentInfo> {
  /** Whether it can answer; always if absent. */
  readonly health?: () => Promise<Health>
}

const memberOptions: OptionTable<ScriptedMemberOptions> = {
  id: 'string',
  name: 'string',
  description: 'string',
  capabilities: 'array',
  metadata: 'object',
  details: 'object',
  health: 'function',
}

/** A member of a team that answers as a test says, and remembers what it was asked. */
export interface ScriptedMember extends Agent {
  info(): AgentInfo
  /** The texts it was asked, in order. */
  readonly asked: readonly string[]
  /** The turns in which it was asked, in order. */
  readonly turns: readonly Turn[]
}

/**
 * Makes a member that answers by a script, and remembers what it was asked.
 * @throws Error where the script is an empty list.
 */
export function scripted(
  script: MemberScript,
  options: ScriptedMemberOptions = {},
): ScriptedMember {
  checkArgument('scripted', 'the script', script, 'array|function')
  checkOptions('scripted', options, memberOptions)
  const { health, ...about } = options
  if (script.length === 0 && typeof script !== 'function')
    throw new Error('The script of a member needs at least one answer')
  const asked: string[] = []
  const turns: Turn[] = []
  const id = about.id ?? 'scripted'
  const info = {
    name: id,
    description: 'Answers as its script says',
    capabilities: [],
    metadata: {},
    ...about,
    id,
  }
  return {
    asked,
    turns,
    info: () => info,
    process(message, turn) {
      const text = textOf(message.parts)
      const count = asked.push(text)
      turns.push(turn)
      if (typeof script === 'function') return script(text, turn, message)
      return speak(script[Math.min(count, script.length) - 1] ?? '', turn)
    },
    ...(health && { health }),
  }
}

function speak(answer: MemberAnswer, turn: Turn): AgentReply {
  if (typeof answer === 'string') return answer
  if ('fails' in answer) throw toError(answer.fails)
  return tell('chunks' in answer ? answer.chunks : [toEvent(answer, turn)])
}

function toError(fails: string | Error): Error {
  return typeof fails === 'string' ? new A2AError('processingError', fails) : fails
}

async function* tell(events: readonly AgentEvent[]): AsyncGenerator<AgentEvent> {
  yield* events
}

function toEvent(
  answer: Extract<MemberAnswer, { asks: string } | { data: Json } | { delegates: unknown }>,
  turn: Turn,
): AgentEvent {
  if ('asks' in answer) return turn.ask(answer.asks)
  if ('data' in answer) return { data: answer.data }
  const { delegates, saying } = answer
  const told = saying === undefined ? {} : { message: saying }
  const members = typeof delegates === 'string' ? [delegates] : delegates
  return { data: { delegate: members.map((id) => ({ agent_id: id, ...told })) } }
}
