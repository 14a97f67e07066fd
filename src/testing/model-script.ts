import type { JsonObject } from '../protocol/types.ts'

/** What a scripted model service answers: a list in order, whose last answer repeats, or a function of the request. */
export type ModelScript =
  | readonly ModelAnswer[]
  /** `count` is the number of this request, from 1. */
  | ((request: ModelRequest, count: number) => ModelAnswer | Promise<ModelAnswer>)

/** One answer of a model service; a string is the whole text. */
export type ModelAnswer =
  | string
  /** Text in these pieces, each its own chunk. */
  | { readonly chunks: readonly string[]; readonly finish?: string }
  /** Tool calls, after a text if there is one. */
  | { readonly tools: readonly ModelCall[]; readonly text?: string }
  /** A refusal, with headers such as `retry-after`; a string as body is sent as it is. */
  | {
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: unknown
    }
  /** Another answer, after this long. */
  | { readonly delayMs: number; readonly answer: ModelAnswer }
  /** A whole completion, also where a stream was asked for. */
  | { readonly whole: string }
  /** Raw bytes under the content type of a stream. */
  | { readonly raw: string }
  /** Headers and these chunks, then silence for ever. */
  | { readonly hang: readonly string[] }
  /** Headers, then comments that say nothing, for ever. */
  | { readonly drip: true }
  /** Nothing at all, for ever. */
  | { readonly silent: true }
  /** Chunks, then the socket breaks. */
  | { readonly broken: readonly string[] }

/** A tool call of a scripted model; a string as arguments is sent as it is, so that it may be no JSON. */
export interface ModelCall {
  /** `call_0` for the first, and so on, if absent. */
  readonly id?: string
  readonly name: string
  readonly arguments: unknown
}

/** The body of a request to `/chat/completions`. */
export interface ModelRequest {
  readonly model: string
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage?: boolean }
  readonly messages: readonly {
    readonly role: string
    readonly content: unknown
    readonly tool_calls?: readonly { readonly id: string }[]
    readonly tool_call_id?: string
  }[]
  /** The tools that the model may call. */
  readonly tools?: readonly {
    readonly type: string
    readonly function: {
      readonly name: string
      readonly description?: string
      readonly parameters?: JsonObject
    }
  }[]
  readonly [key: string]: unknown
}
