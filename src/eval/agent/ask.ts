import type { A2AClient } from '../../client/client.ts'
import { textOf } from '../../protocol/task.ts'
import type { Message, Part, Task } from '../../protocol/types.ts'
import type { Clock } from '../../shared/clock.ts'
import type { Logger } from '../../shared/log.ts'
import { A2ATimeoutError, messageOf } from '../base/errors.ts'
import type { ExchangeTokens, MetricsCollector } from '../metrics/collector.ts'
import { reportedUsage, type TokenCounter } from '../metrics/tokens.ts'
import type { Endpoint } from './endpoint.ts'
import { exchange } from './exchange.ts'
import { toFault } from './faults.ts'
import type { A2AAgentState } from './state.ts'
import { answerParts } from './translate.ts'

/** The way from one simulation to the agent, and what is measured on it. */
export interface Line {
  readonly endpoint: Endpoint
  /** The simulation's client: one for all its messages, so that a wire once chosen is kept. */
  readonly client: () => Promise<A2AClient>
  readonly metrics: MetricsCollector
  readonly counter: TokenCounter
  readonly clock: Clock
  readonly log: Logger
}

/** A message to be answered, and the state before it. */
export interface Question {
  readonly message: Message
  readonly state: A2AAgentState
  readonly signal: AbortSignal
}

/**
 * Sends a message and gives its answer, which must come within the config's timeout, however many requests it takes.
 * Every request is measured; a task that nobody waits for any more is cancelled.
 *
 * @throws SimulationFault that says whose fault it is.
 */
export async function ask(line: Line, question: Question): Promise<Task | Message> {
  const { endpoint, metrics, clock, counter } = line
  const { message, state } = question
  const client = await line.client()
  const card = await endpoint.discover()
  const { signal, clear } = withLimit(question.signal, endpoint.config.timeout, clock)
  const measured = metrics.begin()
  let taskId: string | undefined
  const onTask = (id: string): void => {
    taskId = id
  }
  try {
    const answer = await exchange(client, { message, card, signal, onTask })
    measured.end(tokensOf(question, answer, counter), answer.contextId ?? state.contextId)
    return answer
  } catch (error) {
    measured.fail(error, state.contextId)
    const fault = toFault(error, measured.lastStatus())
    if (signal.aborted && taskId !== undefined) await giveUp(line, client, taskId)
    throw fault
  } finally {
    clear()
  }
}

function withLimit(
  outer: AbortSignal,
  seconds: number,
  clock: Clock,
): { readonly signal: AbortSignal; clear(): void } {
  const controller = new AbortController()
  const clear = clock.after(seconds * 1000, () =>
    controller.abort(new A2ATimeoutError(`No answer within ${seconds} s`)),
  )
  return { signal: AbortSignal.any([outer, controller.signal]), clear }
}

/** Tells the agent that nobody waits any more; what comes of it does not matter to the score. */
async function giveUp({ metrics, log }: Line, client: A2AClient, taskId: string): Promise<void> {
  const measured = metrics.begin()
  try {
    const task = await client.cancelTask(taskId, { signal: AbortSignal.timeout(2000) })
    measured.end({ source: 'estimate' }, task.contextId)
  } catch (error) {
    measured.fail(error, undefined)
    log.debug({ taskId, reason: messageOf(error) }, 'could not cancel an abandoned task')
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
    input: counter.count(plain(message.parts)),
    output: counter.count(plain(answerParts(answer, state))),
    source: counter.source,
  }
}

function plain(parts: readonly Part[]): string {
  const data = parts.map((part) => ('data' in part ? JSON.stringify(part.data) : ''))
  return textOf(parts) + data.join('')
}
