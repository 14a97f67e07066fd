import type { A2AClient } from '../../client/client.ts'
import type { Message, Part, Task } from '../../protocol/types.ts'
import type { Clock } from '../../shared/clock.ts'
import type { Logger } from '../../shared/log.ts'
import { A2ATimeoutError, messageOf } from '../base/errors.ts'
import type { Turnstile } from '../base/turnstile.ts'
import type { ExchangeTokens, MetricsCollector } from '../metrics/collector.ts'
import { countAll, reportedUsage, type TokenCounter } from '../metrics/tokens.ts'
import { toSimulationFault } from '../results/fault.ts'
import type { Endpoint } from './endpoint.ts'
import { exchange } from './exchange.ts'
import { newParts } from './incoming.ts'
import type { A2AAgentState } from './state.ts'

/** What asking needs: the way from one simulation to the agent, and what is measured on it. */
export interface AskContext {
  readonly endpoint: Endpoint
  /** The simulation's client: one for all its messages, so that a wire once chosen is kept. */
  readonly client: () => Promise<A2AClient>
  readonly metrics: MetricsCollector
  readonly counter: TokenCounter
  readonly clock: Clock
  readonly log: Logger
  readonly turnstile?: Turnstile
}

interface Question {
  readonly message: Message
  /** The state before the message. */
  readonly state: A2AAgentState
  readonly signal: AbortSignal
}

/**
 * Sends a message and gives its answer, which must come within the config's timeout, however many requests it takes.
 * Every request is measured; a task that nobody waits for any more is cancelled.
 *
 * @throws SimulationFault that says whose fault it is.
 */
export async function askAgent(context: AskContext, question: Question): Promise<Task | Message> {
  const { endpoint, metrics, clock, counter } = context
  const { message, state } = question
  const client = await context.client()
  const card = await endpoint.discover()
  const limit = timeLimit(endpoint.config.timeout, clock)
  const signal = AbortSignal.any([question.signal, limit.signal])
  const measured = metrics.begin()
  let taskId: string | undefined
  const onTask = (id: string): void => {
    taskId = id
  }
  try {
    const answer = await exchange(client, { message, card, signal, onTask })
    await context.turnstile?.()
    measured.end(tokensOf(question, answer, counter), answer.contextId ?? state.contextId)
    return answer
  } catch (error) {
    measured.fail(error, state.contextId)
    const fault = toSimulationFault(error, measured.lastStatus())
    if (signal.aborted && taskId !== undefined) await giveUp(context, client, taskId)
    throw fault
  } finally {
    limit.clear()
  }
}

function timeLimit(seconds: number, clock: Clock): { readonly signal: AbortSignal; clear(): void } {
  const controller = new AbortController()
  const clear = clock.after(seconds * 1000, () =>
    controller.abort(new A2ATimeoutError(`No answer within ${seconds} s`)),
  )
  return { signal: controller.signal, clear }
}

/** Tells the agent that nobody waits any more; what comes of it does not matter to the score. */
async function giveUp(
  { metrics, clock, log }: AskContext,
  client: A2AClient,
  taskId: string,
): Promise<void> {
  const measured = metrics.begin()
  const limit = timeLimit(2, clock)
  try {
    const task = await client.cancelTask(taskId, { signal: limit.signal })
    measured.end({ source: 'estimate' }, task.contextId)
  } catch (error) {
    measured.fail(error, undefined)
    log.debug({ taskId, reason: messageOf(error) }, 'could not cancel an abandoned task')
  } finally {
    limit.clear()
  }
}

function tokensOf(
  { message, state }: Question,
  answer: Task | Message,
  counter: TokenCounter,
): ExchangeTokens {
  const usage = reportedUsage(answer)
  if (usage) return { ...usage, source: 'reported' }
  return {
    input: tokensIn(message.parts, counter),
    output: tokensIn(newParts(answer, state), counter),
    source: counter.source,
  }
}

/** The tokens of a message's text and data. */
export function tokensIn(parts: readonly Part[], counter: TokenCounter): number {
  const texts = parts.map((part) => ('text' in part ? part.text : ''))
  const data = parts.map((part) => ('data' in part ? JSON.stringify(part.data) : ''))
  return countAll(counter, [...texts, ...data])
}
