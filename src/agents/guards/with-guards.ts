import { A2AError } from '../../protocol/errors.ts'
import { isTerminal } from '../../protocol/task.ts'
import type { JsonObject, Message, TaskStatusUpdateEvent } from '../../protocol/types.ts'
import { addUsage, type Usage } from '../../protocol/usage.ts'
import { isAsyncIterable, withSignal } from '../../shared/async.ts'
import type { Agent, AgentEvent, AgentReply, Turn } from '../agent.ts'
import { type ReplyPlace, readAgentAnswer, readAgentEvent } from '../reply.ts'
import { type AskAgent, wrapAgent } from '../wrap.ts'
import { ContentBlocked } from './blocked.ts'
import { GuardCheck, type VerdictAnswer, type VerdictQuestion } from './check.ts'
import { DiscreetTurn } from './guarded-turn.ts'
import { HeldReply } from './held.ts'
import { guardInput } from './input.ts'
import { namesOf } from './names.ts'
import { isUnguarded, type ReadyGuards } from './ready.ts'

/** What guards need of whoever puts them around an agent. */
interface GuardSurroundings {
  /** Whose guards they are, as the trace says it: `team`, `agent`, `step`. */
  readonly owner: JsonObject
  /** Where the trace of the guards goes, if not into the agent's own. */
  readonly tracer?: Pick<Turn, 'trace'>
  /** Asks an agent for a verdict in the guarded agent's turn. */
  askMember(question: VerdictQuestion, turn: Turn): Promise<VerdictAnswer>
}

/**
 * The agent under guards. Its messages are what the guards of its input leave of them; what it says is held back until
 * the guards of its output have looked at it. It throws ContentBlocked where one of them blocks.
 */
export function withGuards(agent: Agent, guards: ReadyGuards, around: GuardSurroundings): Agent {
  if (isUnguarded(guards)) return agent
  return wrapAgent(agent, {
    process: (ask, message, turn) => guardedAnswer({ guards, around, ask }, message, turn),
    guardNames: namesOf(guards),
    // Requests that the agent answers by itself would go past its guards.
    dispatch: undefined,
  })
}

interface Guarded {
  readonly guards: ReadyGuards
  readonly around: GuardSurroundings
  readonly ask: AskAgent
}

/** What an agent answers under guards. @throws ContentBlocked */
export async function* guardedAnswer(
  { guards, around, ask }: Guarded,
  message: Message,
  turn: Turn,
): AsyncGenerator<AgentEvent> {
  const { owner, tracer = turn } = around
  const askMember = (question: VerdictQuestion): Promise<VerdictAnswer> =>
    around.askMember(question, turn)
  const input = new GuardCheck({
    guards: guards.input,
    at: 'input',
    turn,
    owner,
    tracer,
    askMember,
  })
  const seen = await guardInput(input, message, turn)
  const output = new GuardCheck({
    guards: guards.output,
    at: 'output',
    turn,
    owner,
    tracer,
    askMember,
  })
  output.usage = input.usage
  if (output.isNeeded) {
    const discreet = new DiscreetTurn(seen, (entry) => output.discreet(entry))
    yield* checked(() => ask(discreet, seen.message), seen, output)
  } else yield* eventsOf(ask(seen, seen.message), new HeldReply(seen, output), seen)
}

/** Passes on what is going on, and the rest when everything has been said. */
async function* checked(
  reply: () => AgentReply,
  turn: Turn,
  check: GuardCheck,
): AsyncGenerator<AgentEvent> {
  const held = new HeldReply(turn, check)
  try {
    for await (const event of eventsOf(reply(), held, turn)) {
      const read = readAgentEvent(event, held)
      const progress = 'statusUpdate' in read ? progressOf(read.statusUpdate) : undefined
      if (progress) yield* going(progress, check)
      else if (held.take(read)) break
    }
    yield* held.released()
  } catch (thrown) {
    throw await toGuarded(thrown, check, held.usage)
  }
}

function progressOf(update: TaskStatusUpdateEvent): TaskStatusUpdateEvent | undefined {
  const { state } = update.status
  return isTerminal(state) || state === 'TASK_STATE_INPUT_REQUIRED' ? undefined : update
}

/** Words on what is going on. Where an agent is asked for verdicts they are left out: each would cost a question. */
async function* going(
  update: TaskStatusUpdateEvent,
  check: GuardCheck,
): AsyncGenerator<AgentEvent> {
  const { status, metadata } = update
  const { state, message } = status
  const isAsked = state === 'TASK_STATE_AUTH_REQUIRED'
  const isShown = message && (isAsked || !check.asksMembers)
  const parts = isShown && (await check.parts(message.parts, isAsked ? 'question' : 'status'))
  const noted = message?.metadata && check.notes(message.metadata)
  yield {
    statusUpdate: {
      status: {
        state,
        ...(parts && { message: { ...message, parts, ...(noted && { metadata: noted }) } }),
      },
      ...(metadata && { metadata: check.notes(metadata) }),
    },
  }
}

/** Leaves an agent that does not listen to its signal, and tells one that is left before its end. */
async function* eventsOf(
  reply: AgentReply,
  place: ReplyPlace,
  turn: Turn,
): AsyncGenerator<AgentEvent> {
  if (!isAsyncIterable(reply)) {
    const whole = await withSignal(Promise.resolve(reply), turn.signal)
    if (isUnfinished(whole))
      throw new A2AError(
        'invalidAgentResponse',
        'An agent under guards cannot finish its task later',
      )
    if (whole !== undefined) yield readAgentAnswer(whole, place)
    return
  }
  // The contract's only iterable.
  const events = (reply as AsyncIterable<AgentEvent>)[Symbol.asyncIterator]()
  let hasEnded = false
  try {
    while (true) {
      const next = await withSignal(events.next(), turn.signal)
      hasEnded = next.done === true
      if (next.done) return
      yield next.value
    }
  } finally {
    if (!hasEnded) void Promise.resolve(events.return?.()).catch(() => {})
  }
}

function isUnfinished(answer: unknown): boolean {
  if (typeof answer !== 'object' || answer === null || !('task' in answer)) return false
  const state: unknown = Reflect.get(Object(Reflect.get(Object(answer.task), 'status')), 'state')
  return state === 'TASK_STATE_WORKING' || state === 'TASK_STATE_SUBMITTED'
}

/** A failure's words are words of the agent's too, and what it has cost by then is told with a block. */
async function toGuarded(
  thrown: unknown,
  check: GuardCheck,
  used: Usage | undefined,
): Promise<unknown> {
  if (thrown instanceof ContentBlocked) {
    const { message, at, usage, cause } = thrown
    return new ContentBlocked(message, { at, usage: addUsage(usage, used), cause })
  }
  if (!(thrown instanceof A2AError)) return thrown
  const words = check.words(thrown.message)
  if (words === thrown.message) return thrown
  return new A2AError(thrown.code, words, { ...thrown.details, cause: thrown })
}
