import { isPassing } from '../client/retry.ts'
import { A2AError } from '../protocol/errors.ts'
import { isAsyncIterable, withSignal } from '../shared/async.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { backoffMs, wait } from '../shared/retry.ts'
import type { Agent, AgentEvent, AgentReply, Turn } from './agent.ts'

/** How long an agent in this process may be silent, and how often it is asked again. */
export interface Patience {
  /** Without an event for this long it has failed; no limit if absent. */
  readonly timeoutSeconds?: number | undefined
  /** How often it is asked again when it failed before it said anything; 0 if absent. */
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
export function withPatience(agent: Agent, patience: Patience): Agent {
  if (patience.timeoutSeconds === undefined && !patience.maxRetries) return agent
  return {
    info: () => agent.info(),
    process: (message, turn) => tryAgain((own) => agent.process(message, own), turn, patience),
    resumable: agent.resumable ?? false,
    ...(agent.health && { health: async () => (await agent.health?.()) ?? { healthy: true } }),
    ...(agent.definition !== undefined && { definition: agent.definition }),
    ...(agent.cancel && { cancel: async (task) => agent.cancel?.(task) }),
    close: async () => agent.close?.(),
  }
}

async function* tryAgain(
  ask: (turn: Turn) => AgentReply,
  turn: Turn,
  patience: Patience,
): AsyncGenerator<AgentEvent> {
  const { maxRetries = 0, clock = systemClock, random = Math.random } = patience
  for (let number = 1; ; number++) {
    let isSilent = true
    const end = new AbortController()
    const own = withSignalOf(turn, AbortSignal.any([turn.signal, end.signal]))
    try {
      for await (const event of inTime(ask(own), turn, patience)) {
        isSilent = false
        yield event
      }
      return
    } catch (error) {
      end.abort(error)
      const mayPass = !(error instanceof A2AError) || (isPassing(error) && error.code !== 'timeout')
      if (!isSilent || !mayPass || number > maxRetries || turn.signal.aborted) throw error
      await wait(clock, backoffMs(number, { baseMs: 500, random }), turn.signal)
    }
  }
}

/** The turn with another signal. Its methods are called on the turn itself, which may be an instance of a class. */
function withSignalOf(turn: Turn, signal: AbortSignal): Turn {
  return new Proxy(turn, {
    get(target, key) {
      if (key === 'signal') return signal
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

async function* inTime(
  reply: AgentReply,
  turn: Turn,
  patience: Patience,
): AsyncGenerator<AgentEvent> {
  const soon = <T>(work: Promise<T>): Promise<T> => bounded(work, turn.signal, patience)
  if (!isAsyncIterable(reply)) {
    const answer = await soon(Promise.resolve(reply))
    if (answer !== undefined) yield answer
    return
  }
  const events = (reply as AsyncIterable<AgentEvent>)[Symbol.asyncIterator]() // the contract's only iterable
  let isOver = false
  try {
    while (true) {
      const next = await soon(events.next())
      isOver = next.done === true
      if (next.done) return
      yield next.value
    }
  } finally {
    if (!isOver) void Promise.resolve(events.return?.()).catch(() => {}) // nobody waits for one that hangs
  }
}

async function bounded<T>(
  work: Promise<T>,
  signal: AbortSignal,
  { timeoutSeconds, name, clock = systemClock }: Patience,
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
