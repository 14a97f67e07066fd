import { isPassing } from '../client/retry.ts'
import { A2AError } from '../protocol/errors.ts'
import { isAsyncIterable, withSignal } from '../shared/async.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { backoffMs, retry } from '../shared/retry.ts'
import type { Agent, AgentEvent, AgentReply, Turn } from './agent.ts'
import { WrappedTurn, wrapAgent } from './wrap.ts'

/** How long an agent in this process may be silent, and how often it is asked again. */
interface AgentLimits {
  /** Without an event for this long it has failed; no limit if absent. */
  readonly timeoutSeconds?: number | undefined
  /** How often it is asked again when it failed before its first word; 0 if absent. */
  readonly maxRetries?: number | undefined
  /** What errors call it. */
  readonly name: string
  readonly clock?: Clock | undefined
  readonly random?: (() => number) | undefined
}

/**
 * The agent with limits that a remote one has by its connection. A refusal, a timeout and a cancel are not repeated. One
 * that is given up hears it by its turn's signal; one that does not listen is left behind.
 */
export function withLimits(agent: Agent, limits: AgentLimits): Agent {
  if (limits.timeoutSeconds === undefined && !limits.maxRetries) return agent
  return wrapAgent(agent, {
    process: (ask, _message, turn) => answerWithin(ask, turn, limits),
    // Requests that the agent answers by itself would go past its limits.
    dispatch: undefined,
  })
}

/** It is asked again until its first word, never after: what is said is said. */
async function* answerWithin(
  ask: (turn: Turn) => AgentReply,
  turn: Turn,
  limits: AgentLimits,
): AsyncGenerator<AgentEvent> {
  const { maxRetries = 0, clock = systemClock, random = Math.random } = limits
  const attempt = await retry(() => begin(ask, turn, limits), {
    tries: 1 + maxRetries,
    clock,
    signal: turn.signal,
    delay: (error, failures) =>
      mayPass(error) && !turn.signal.aborted
        ? backoffMs(failures, { baseMs: 500, random })
        : undefined,
  })
  let next = attempt.first
  try {
    while (!next.done) {
      yield next.value
      next = await attempt.next()
    }
  } finally {
    if (!next.done) attempt.leave()
  }
}

/** One try of an agent, with the first thing that it said. */
interface Attempt {
  readonly first: IteratorResult<AgentEvent, unknown>
  /** What it says next. A failure is told to the agent by its signal. */
  next(): Promise<IteratorResult<AgentEvent, unknown>>
  /** Nobody waits for one that hangs. */
  leave(): void
}

async function begin(
  ask: (turn: Turn) => AgentReply,
  turn: Turn,
  limits: AgentLimits,
): Promise<Attempt> {
  const end = new AbortController()
  const signal = AbortSignal.any([turn.signal, end.signal])
  const reply = ask(new SignalTurn(turn, signal))
  // The contract's only iterable.
  const events = (isAsyncIterable(reply) ? (reply as AsyncIterable<AgentEvent>) : once(reply))[
    Symbol.asyncIterator
  ]()
  const leave = (): void => void Promise.resolve(events.return?.()).catch(() => {})
  const next = async (): Promise<IteratorResult<AgentEvent, unknown>> => {
    try {
      return await inTime(events.next(), turn.signal, limits)
    } catch (error) {
      end.abort(error)
      throw error
    }
  }
  try {
    return { first: await next(), next, leave }
  } catch (error) {
    leave()
    throw error
  }
}

/** The turn with another signal. */
class SignalTurn extends WrappedTurn {
  readonly #signal: AbortSignal

  constructor(turn: Turn, signal: AbortSignal) {
    super(turn)
    this.#signal = signal
  }

  override get signal(): AbortSignal {
    return this.#signal
  }
}

async function* once(
  reply: Exclude<AgentReply, AsyncIterable<unknown>>,
): AsyncGenerator<AgentEvent> {
  const answer = await reply
  if (answer !== undefined) yield answer
}

function mayPass(error: unknown): boolean {
  return !(error instanceof A2AError) || (isPassing(error) && error.code !== 'timeout')
}

async function inTime<T>(
  work: Promise<T>,
  signal: AbortSignal,
  { timeoutSeconds, name, clock = systemClock }: AgentLimits,
): Promise<T> {
  if (timeoutSeconds === undefined) return withSignal(work, signal)
  const late = new AbortController()
  const stop = clock.after(timeoutSeconds * 1_000, () =>
    late.abort(new A2AError('timeout', `${name} did not answer in time`)),
  )
  try {
    return await withSignal(withSignal(work, late.signal), signal)
  } finally {
    stop()
  }
}
