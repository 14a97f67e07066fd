import { ChatClient } from '../agents/openai/client.ts'
import type { ChatRequest } from '../agents/openai/messages.ts'
import type { ChatAnswer } from '../agents/openai/read.ts'
import type { JsonObject } from '../protocol/types.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { type Logger, silent } from '../shared/log.ts'
import { checkOptions, type OptionTable } from '../shared/options.ts'
import { readUrl } from '../shared/text.ts'
import { messageOf, ValidationError } from './base.ts'
import { SimulationFault } from './results/simulation.ts'

/** A model behind an OpenAI-compatible chat completions API. */
export interface ChatModel {
  /** Up to and without `/chat/completions`. */
  readonly baseUrl: string
  /** The service's name for the model. */
  readonly model: string
  /** Sent as a bearer token; never written anywhere. */
  readonly apiKey?: string
  /** Further members of every request, such as `temperature`, which is 0 if absent. */
  readonly args?: JsonObject
}

/** What a model's client works with. */
export interface ModelOptions {
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Where it tells what it does; nowhere if absent. */
  readonly log?: Logger
}

/** A model that plays a user or judges. */
export interface ModelClient {
  /**
   * One answer. A service that is busy or out of order is asked again, after the time it names.
   *
   * @throws SimulationFault `infrastructure_error` where no usable answer comes back.
   */
  ask(request: Omit<ChatRequest, 'model' | 'temperature'>, signal: AbortSignal): Promise<ChatAnswer>
  /** Closes the connections. Those that are idle close by themselves after some seconds and hold up no process. */
  close(): Promise<void>
}

const timeoutMs = 300_000
const maxRetries = 2

const chatModel: OptionTable<ChatModel> = {
  baseUrl: 'string!',
  model: 'string!',
  apiKey: 'string',
  args: 'object',
}

/** What the options of a model's client may be. */
export const clientOptions: OptionTable<ModelOptions> = { clock: 'object', log: 'object' }

/**
 * Checks what names a model.
 * @param at The entrance that it is given to.
 * @throws ValidationError for a base URL that is not one of http or https.
 */
export function checkModel(at: string, chat: ChatModel): void {
  checkOptions(`${at}: the model`, chat, chatModel)
  const { protocol } = readUrl(chat.baseUrl) ?? {}
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new ValidationError(`${at}: baseUrl must be an http or https URL`)
}

/** Opens the way to a model. Nothing is sent before it is asked. */
export function openModel(
  { baseUrl, model, apiKey, args }: ChatModel,
  { clock = systemClock, log = silent }: ModelOptions = {},
): ModelClient {
  const client = new ChatClient({
    agent: model,
    endpoint: baseUrl,
    ...(apiKey !== undefined && { apiKey }),
    timeoutMs,
    maxRetries,
    clock,
    random: Math.random,
    log,
  })
  return {
    async ask(request, signal) {
      try {
        return await client.complete({ temperature: 0, ...args, ...request, model }, signal)
      } catch (cause) {
        signal.throwIfAborted()
        const reason = cause instanceof Error && cause.cause ? cause.cause : cause
        const message = `Model ${model}: ${messageOf(reason)}`
        throw new SimulationFault('infrastructure_error', message, { cause })
      }
    },
    close: () => client.close(),
  }
}
