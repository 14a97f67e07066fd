import type { JsonObject } from '../protocol/types.ts'
import type { ModelCall, ModelRequest } from './model-server.ts'

/**
 * How model services write the chat completions API. All of them send a `chat.completion`, or chunks and `[DONE]`; a row
 * here has what one of them does in its own way, as their users have recorded it:
 *
 * - `ollama` sends each tool call whole and every one with `index: 0`, and reasoning as `reasoning`.
 * - `gemini` sends tool calls whole and without an index, ends them with `stop` in a stream, signs them with
 *   `extra_content.google.thought_signature`, rejects a request that does not send the signature back, puts the usage
 *   into the last chunk and its errors into a list.
 * - `vllm` sends reasoning as `reasoning_content` and errors without a table around them.
 * - `openrouter` begins with a comment, sends reasoning as `reasoning` and `reasoning_details`, and answers 402 where there
 *   is no credit.
 * - `azure` begins with a chunk without a choice, and tells of its content filter everywhere.
 */
export type ModelWire = 'openai' | 'ollama' | 'gemini' | 'vllm' | 'openrouter' | 'azure'

/** What a service says no for. */
export type ModelErrorKind =
  | 'rate_limit'
  | 'quota'
  | 'context_length'
  | 'content_filter'
  | 'key'
  | 'overloaded'

/** An answer as a model means it. */
export interface Spoken {
  readonly texts: readonly string[]
  readonly reasoning?: string
  readonly refusal?: string
  readonly calls?: readonly ModelCall[]
  readonly finish?: string
  /** Whether the service reports what was used. */
  readonly hasUsage: boolean
}

/** What every scripted answer of a model reports as used. */
const scriptedUsage: Readonly<
  Record<'prompt_tokens' | 'completion_tokens' | 'total_tokens', number>
> = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }

/** A refusal as it goes over the wire. */
interface WireError {
  readonly status: number
  readonly body: object
}

/** What a service does in its own way; the rest is as OpenAI does it. */
interface WireRow {
  /** Where the API begins. */
  readonly path: string
  /** Further fields of chunks and completions. */
  readonly head?: object
  /** What is sent before the first chunk. */
  opening?(chat: ModelRequest): string
  /** What the model thinks, as fields of a message; nothing where the service does not show it. */
  reasoning?(text: string): object
  /** The call at this place, as a service that sends it whole writes it; in pieces if absent. */
  wholeCall?(call: object, place: number): object
  /** Further fields of the choice that ends an answer; its `finish_reason` among them where it differs. */
  ending?(finish: string, isStream: boolean): object
  /** Whether the usage is in the last chunk instead of in one of its own. */
  readonly usageAtEnd?: boolean
  readonly errors?: Partial<Record<ModelErrorKind, WireError>>
}

const rows: Readonly<Record<ModelWire, WireRow>> = {
  openai: { path: '/v1' },
  ollama: {
    path: '/v1',
    head: { system_fingerprint: 'fp_ollama' },
    reasoning: (reasoning) => ({ reasoning }),
    wholeCall: (call) => ({ index: 0, ...call }),
    errors: {
      context_length: error(400, {
        message: 'prompt too long; exceeded max context length by 4 tokens',
        type: 'invalid_request_error',
      }),
    },
  },
  gemini: {
    path: '/v1beta/openai',
    wholeCall: (call, place) => (place === 0 ? { ...call, extra_content: signature } : call),
    ending: (finish, isStream) =>
      isStream && finish === 'tool_calls' ? { finish_reason: 'stop' } : {},
    usageAtEnd: true,
    errors: {
      rate_limit: geminiError(429, 'RESOURCE_EXHAUSTED', exhausted('Minute')),
      quota: geminiError(429, 'RESOURCE_EXHAUSTED', exhausted('Day')),
      context_length: geminiError(400, 'INVALID_ARGUMENT', {
        message:
          'The input token count (9000000) exceeds the maximum number of tokens allowed (1048576).',
      }),
      key: geminiError(400, 'INVALID_ARGUMENT', { message: 'API key not valid.' }),
      overloaded: geminiError(503, 'UNAVAILABLE', { message: 'The model is overloaded.' }),
    },
  },
  vllm: {
    path: '/v1',
    reasoning: (text) => ({ reasoning_content: text }),
    errors: {
      overloaded: {
        status: 500,
        body: {
          object: 'error',
          message: 'EngineDeadError',
          type: 'InternalServerError',
          code: 500,
        },
      },
      context_length: {
        status: 400,
        body: {
          object: 'error',
          message:
            "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
          type: 'BadRequestError',
          param: null,
          code: 400,
        },
      },
    },
  },
  openrouter: {
    path: '/api/v1',
    head: { provider: 'Scripted' },
    opening: () => ': OPENROUTER PROCESSING\n\n',
    reasoning: (reasoning) => ({
      reasoning,
      reasoning_details: [{ type: 'reasoning.text', text: reasoning, index: 0 }],
    }),
    ending: (finish) => ({ native_finish_reason: finish }),
    errors: {
      rate_limit: error(429, { code: 429, message: 'Provider returned error' }),
      quota: error(402, { code: 402, message: 'Insufficient credits' }),
      context_length: error(400, {
        code: 400,
        message: "This endpoint's maximum context length is 131072 tokens.",
      }),
      content_filter: error(403, {
        code: 403,
        message: 'Your input was flagged',
        metadata: { reasons: ['violence'], flagged_input: '…' },
      }),
      key: error(401, { code: 401, message: 'No auth credentials found' }),
      overloaded: error(502, { code: 502, message: 'Provider disconnected' }),
    },
  },
  azure: {
    path: '/openai/v1',
    opening: (chat) =>
      frame({
        ...chunkOf(chat, 'azure', {}),
        choices: [],
        prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }],
      }),
    ending: () => ({ content_filter_results: {} }),
    errors: {
      rate_limit: error(429, { code: '429', message: 'Requests have exceeded call rate limit.' }),
      content_filter: error(400, {
        message: 'The response was filtered due to the prompt triggering the content policy.',
        param: 'prompt',
        code: 'content_filter',
        innererror: { code: 'ResponsibleAIPolicyViolation' },
      }),
      key: error(401, { code: '401', message: 'Access denied due to invalid subscription key.' }),
    },
  },
}

const signature = { google: { thought_signature: 'c2lnbmVk' } }

function error(status: number, fields: object): WireError {
  return { status, body: { error: fields } }
}

function geminiError(code: number, status: string, more: { readonly message: string }): WireError {
  // Not an object but a list of one.
  return { status: code, body: [{ error: { code, status, ...more } }] }
}

/** What Gemini says where a limit per minute or per day is reached: the words are the same. */
function exhausted(per: 'Minute' | 'Day'): { readonly message: string; readonly details: object } {
  const quotaId = `GenerateRequestsPer${per}PerProjectPerModel`
  return {
    message: 'You exceeded your current quota, please check your plan and billing details.',
    details: [
      { '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaId }] },
    ],
  }
}

/** OpenAI's own; a gateway before another service answers alike where that service has no answer of its own. */
const openAIErrors: Readonly<Record<ModelErrorKind, WireError>> = {
  rate_limit: error(429, {
    message: 'Rate limit reached for requests',
    type: 'requests',
    code: 'rate_limit_exceeded',
  }),
  quota: error(429, {
    message: 'You exceeded your current quota, please check your plan and billing details.',
    type: 'insufficient_quota',
    code: 'insufficient_quota',
  }),
  context_length: error(400, {
    message: "This model's maximum context length is 128000 tokens.",
    type: 'invalid_request_error',
    param: 'messages',
    code: 'context_length_exceeded',
  }),
  content_filter: error(400, {
    message: 'Your prompt was flagged as potentially violating our usage policy.',
    type: 'invalid_request_error',
    code: 'invalid_prompt',
  }),
  key: error(401, { message: 'Incorrect API key provided', code: 'invalid_api_key' }),
  overloaded: error(503, {
    message: 'The server had an error while processing your request',
    type: 'server_error',
    code: null,
  }),
}

/** Where a service's API begins. */
export function basePathOf(wire: ModelWire): string {
  return rows[wire].path
}

/** A service's words for an error. */
export function errorOf(wire: ModelWire, kind: ModelErrorKind): WireError {
  return rows[wire].errors?.[kind] ?? openAIErrors[kind]
}

/** Why a service rejects a request as it stands; undefined where it does not. */
export function faultIn(wire: ModelWire, { messages }: ModelRequest): WireError | undefined {
  if (wire !== 'gemini') return undefined
  const isUnsigned = messages.some(
    ({ tool_calls: [first] = [] }) => first && !JSON.stringify(first).includes('thought_signature'),
  )
  const message = 'Function call is missing a thought_signature in functionCall parts.'
  return isUnsigned ? geminiError(400, 'INVALID_ARGUMENT', { message }) : undefined
}

/** A whole answer. */
export function toWholeAnswer(chat: ModelRequest, wire: ModelWire, spoken: Spoken): object {
  const { texts, calls = [], reasoning, refusal = null, finish = finishOf(spoken) } = spoken
  const row = rows[wire]
  const content = texts.length > 0 ? texts.join('') : null
  const tools = calls.map((call, place) => {
    const written = toolCall(call, place, argumentsOf(call))
    return row.wholeCall?.(written, place) ?? written
  })
  const message = {
    role: 'assistant',
    content,
    refusal,
    ...(reasoning !== undefined && row.reasoning?.(reasoning)),
    ...(tools.length > 0 && { tool_calls: tools }),
  }
  const ending = { finish_reason: finish, ...row.ending?.(finish, false) }
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: chat.model,
    ...row.head,
    choices: [{ index: 0, message, ...ending }],
    ...(spoken.hasUsage && { usage: scriptedUsage }),
  }
}

function finishOf({ calls = [] }: Spoken): string {
  return calls.length > 0 ? 'tool_calls' : 'stop'
}

/** A streamed answer as its frames, the last one with `[DONE]`. */
export function* toFrames(chat: ModelRequest, wire: ModelWire, spoken: Spoken): Iterable<string> {
  const { texts, calls = [], reasoning, refusal, finish = finishOf(spoken) } = spoken
  const row = rows[wire]
  const chunk = (delta: object): string => frame(chunkOf(chat, wire, delta))
  if (row.opening) yield row.opening(chat)
  yield chunk({ role: 'assistant', content: '' })
  const thought = reasoning === undefined ? undefined : row.reasoning?.(reasoning)
  if (thought) yield chunk(thought)
  for (const delta of textDeltas(texts)) yield chunk(delta)
  if (refusal !== undefined) for (const piece of pieces(refusal)) yield chunk({ refusal: piece })
  for (const delta of callDeltas(calls, row)) yield chunk(delta)
  const ending = { finish_reason: finish, ...row.ending?.(finish, true) }
  const usage = spoken.hasUsage && chat.stream_options?.include_usage && { usage: scriptedUsage }
  yield frame({ ...chunkOf(chat, wire, {}, ending), ...(row.usageAtEnd && usage) })
  if (usage && !row.usageAtEnd) yield frame({ ...chunkOf(chat, wire, {}), choices: [], ...usage })
  yield 'data: [DONE]\n\n'
}

/** An answer that begins and ends with an error, as its frames. */
export function* errorFrames(
  chat: ModelRequest,
  wire: ModelWire,
  { after, body }: { readonly after: readonly string[]; readonly body: object },
): Iterable<string> {
  const { opening } = rows[wire]
  if (opening) yield opening(chat)
  yield frame(chunkOf(chat, wire, { role: 'assistant', content: '' }))
  for (const delta of textDeltas(after)) yield frame(chunkOf(chat, wire, delta))
  yield frame(body)
}

/** A piece of an answer. */
export function chunkOf(
  chat: ModelRequest,
  wire: ModelWire,
  delta: object,
  ending: object = { finish_reason: null },
): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: chat.model,
    ...rows[wire].head,
    choices: [{ index: 0, delta, ...ending }],
  }
}

/** An event of a stream. */
export function frame(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

/** Pieces of text as they go over the wire. */
export function textDeltas(texts: readonly string[]): readonly JsonObject[] {
  return texts.map((content) => ({ content }))
}

/** Whole, or as OpenAI sends them: id and name first, then the arguments in pieces, calls interleaved. */
function callDeltas(calls: readonly ModelCall[], { wholeCall }: WireRow): readonly object[] {
  if (wholeCall)
    return calls.map((call, place) => ({
      tool_calls: [wholeCall(toolCall(call, place, argumentsOf(call)), place)],
    }))
  const heads = calls.map((call, index) => ({
    tool_calls: [{ index, ...toolCall(call, index, '') }],
  }))
  const lists = calls.map((call) => pieces(argumentsOf(call)))
  const rounds = Math.max(0, ...lists.map((list) => list.length))
  const bodies = Array.from({ length: rounds }, (_, round) =>
    lists.flatMap((list, index) =>
      list[round] === undefined
        ? []
        : [{ tool_calls: [{ index, function: { arguments: list[round] } }] }],
    ),
  )
  return [...heads, ...bodies.flat()]
}

function pieces(text: string): readonly string[] {
  return text.match(/.{1,5}/gs) ?? []
}

function toolCall({ id, name }: ModelCall, index: number, args: string): object {
  return { id: id ?? `call_${index}`, type: 'function', function: { name, arguments: args } }
}

function argumentsOf({ arguments: given }: ModelCall): string {
  return typeof given === 'string' ? given : JSON.stringify(given)
}
