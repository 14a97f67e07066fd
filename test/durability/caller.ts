import { Agent, request } from 'undici'
import { decodeFrames } from '../../src/bindings/sse.ts'
import type { StreamResponse } from '../../src/protocol/types.ts'

/** An error that the server answered with: it has spoken, so this is no lost connection. */
export class Refusal extends Error {
  readonly code: number
  /** Whether it may be tried again, since nothing was taken in. */
  readonly unavailable: boolean
  constructor(code: number, message: string, unavailable: boolean) {
    super(message)
    this.code = code
    this.unavailable = unavailable
  }
}

/** One event of a stream, as it came over the wire. */
export interface Told {
  readonly seq: number
  readonly event: StreamResponse
}

/** What is called: an agent of the server, a method, and headers beside the usual ones. */
export interface Question {
  readonly agent: string
  readonly method: string
  readonly params: object
  readonly headers?: Readonly<Record<string, string>>
  /** Told which replica answers, where there are several. */
  answeredBy?(replica: number): void
}

/** A JSON-RPC caller (A2A 1.0) without retries: what it returns was acknowledged, what it throws was not. */
export interface Caller {
  /** @throws Refusal for an error of the server; any other error is a lost connection. */
  call<T>(question: Question): Promise<T>
  /** The events of a stream until it ends. */
  stream(question: Question): AsyncGenerator<Told>
  close(): Promise<void>
}

/** Makes a caller of a server whose address may only be known later. */
export function createCaller(url: () => string): Caller {
  const dispatcher = new Agent({ connections: 1_024, headersTimeout: 60_000, bodyTimeout: 60_000 })

  function post({ agent, method, params, headers }: Question): ReturnType<typeof request> {
    return request(`${url()}/agents/${agent}`, {
      method: 'POST',
      dispatcher,
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
  }

  return {
    async call<T>(question: Question): Promise<T> {
      const { body, statusCode } = await post(question)
      return resultOf(await body.text(), statusCode) as T // the caller knows what the method answers
    },
    async *stream(question) {
      const { body, headers, statusCode } = await post(question)
      question.answeredBy?.(Number(headers['x-replica']))
      if (!String(headers['content-type']).startsWith('text/event-stream')) {
        resultOf(await body.text(), statusCode)
        return
      }
      for await (const frames of decodeFrames(body))
        for (const { id, data } of frames)
          yield { seq: Number(id), event: resultOf(data) as StreamResponse } // as every stream's data
    },
    close: () => dispatcher.destroy(),
  }
}

function resultOf(text: string, status = 200): unknown {
  const { result, error } = JSON.parse(text)
  if (error) throw new Refusal(error.code, error.message, status === 503)
  return result
}
