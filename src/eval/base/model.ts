import { request } from 'undici'
import { z } from 'zod'
import type { JsonObject } from '../../protocol/types.ts'
import { trimEnd } from '../../shared/text.ts'
import type { ToolDescriptor } from '../domain/environment.ts'
import type { Usage } from '../metrics/tokens.ts'
import { SimulationFault } from '../results/simulation.ts'
import { messageOf } from './errors.ts'
import { parseWith } from './json.ts'

/** A model behind an OpenAI-compatible chat completions API. */
export interface ChatModel {
  /** Up to and without `/chat/completions`. */
  readonly baseUrl: string
  readonly model: string
  /** Sent as a bearer token; never written anywhere. */
  readonly apiKey?: string
}

/** A message of such a chat. */
export type ChatMessage = JsonObject & { readonly role: string }

/** What to ask for. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly ToolDescriptor[]
  readonly seed?: number
  /** Asks for an answer that is a JSON object. */
  readonly json?: boolean
}

/** What the model answered. */
export interface ChatAnswer {
  readonly content: string | null
  readonly toolCalls: readonly {
    readonly id: string
    readonly name: string
    readonly arguments: string
  }[]
  readonly usage: Usage
}

const completion = z.object({
  choices: z
    .array(
      z.object({
        message: z.object({
          content: z.string().nullish(),
          tool_calls: z
            .array(
              z.object({
                id: z.string(),
                function: z.object({ name: z.string(), arguments: z.string() }),
              }),
            )
            .nullish(),
        }),
      }),
    )
    .min(1),
  usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number() }).nullish(),
})

/**
 * Asks a model once, at temperature 0.
 *
 * @throws SimulationFault `infrastructure_error` where no usable answer comes back.
 */
export async function complete(
  model: ChatModel,
  asked: ChatRequest,
  signal: AbortSignal,
): Promise<ChatAnswer> {
  const text = await post(model, toBody(model, asked), signal)
  const { choices, usage } = parseWith(completion, parse(text), 'chat completion')
  const message = choices[0]?.message
  return {
    content: message?.content ?? null,
    toolCalls: (message?.tool_calls ?? []).map(({ id, function: f }) => ({ id, ...f })),
    usage: { input: usage?.prompt_tokens ?? 0, output: usage?.completion_tokens ?? 0 },
  }
}

function toBody(model: ChatModel, { messages, tools, seed, json }: ChatRequest): string {
  return JSON.stringify({
    model: model.model,
    messages,
    temperature: 0,
    ...(seed !== undefined && { seed }),
    ...(json && { response_format: { type: 'json_object' } }),
    ...(tools?.length && { tools: tools.map((tool) => ({ type: 'function', function: tool })) }),
  })
}

async function post(model: ChatModel, body: string, signal: AbortSignal): Promise<string> {
  const url = `${trimEnd(model.baseUrl, '/')}/chat/completions`
  const headers = {
    'content-type': 'application/json',
    ...(model.apiKey && { authorization: `Bearer ${model.apiKey}` }),
  }
  try {
    const answer = await request(url, { method: 'POST', headers, body, signal })
    const text = await answer.body.text()
    if (answer.statusCode < 400) return text
    throw new Error(`HTTP ${answer.statusCode}`)
  } catch (error) {
    signal.throwIfAborted()
    throw new SimulationFault('infrastructure_error', `Model ${model.model}: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new SimulationFault('infrastructure_error', 'The model answered with no JSON', { cause })
  }
}
