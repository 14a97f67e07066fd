import { A2AError, toA2AError } from '../../protocol/errors.ts'
import { parseBody } from '../body.ts'
import { requestedVersion } from '../call.ts'
import { asRaw } from '../dialects/lenient/raw.ts'
import { rpcDialects, supportedVersion } from '../dialects/select.ts'
import type { HttpHandler, HttpReply } from '../http.ts'
import {
  type AnswerOptions,
  createAnswer,
  failure,
  jsonHeaders,
  type RpcExchange,
} from './answer.ts'

/** What a JSON-RPC endpoint needs. */
interface JsonRpcBindingOptions extends AnswerOptions {
  /** The largest batch that is answered; 50 if absent. */
  readonly maxBatch?: number
}

const notPost: HttpReply = { status: 405, headers: { allow: 'POST' } }
const noContent: HttpReply = { status: 204, headers: {} }

/**
 * Answers A2A over JSON-RPC 2.0 in every dialect, single requests and batches (specification §9).
 * The status is 200 for results and errors alike, but for what HTTP itself refuses (401, 403, 413, 429, 503).
 * A notification is answered 204; one that fails alone is told so with `id: null`, as the conformance kit demands.
 */
export function createJsonRpcBinding(options: JsonRpcBindingOptions): HttpHandler {
  const { defaultDialect, maxBatch = 50 } = options
  const answer = createAnswer(options)
  return (request) => {
    if (request.method !== 'POST') return notPost
    const version = requestedVersion(request)
    const speaking = rpcDialects[supportedVersion(version) ?? defaultDialect]
    let body: unknown
    try {
      body = parseBody(request)
    } catch (thrown) {
      return failure(toA2AError(thrown), { id: null, dialect: speaking })
    }
    const exchange: RpcExchange = { request, version, speaking, inBatch: Array.isArray(body) }
    return Array.isArray(body) ? answerBatch(body, exchange) : answer(body, exchange)
  }

  async function answerBatch(
    entries: readonly unknown[],
    exchange: RpcExchange,
  ): Promise<HttpReply> {
    if (entries.length === 0 || entries.length > maxBatch) {
      const message = entries.length === 0 ? 'A batch must not be empty' : 'The batch is too large'
      const error = new A2AError('invalidRequest', message)
      return failure(error, { id: null, dialect: exchange.speaking })
    }
    const replies = await Promise.all(entries.map((entry) => answer(entry, exchange)))
    const texts = replies.filter((_, i) => !isNotification(entries[i])).map((reply) => reply.body)
    if (texts.length === 0) return noContent
    return { status: 200, headers: jsonHeaders, body: `[${texts.join(',')}]` }
  }
}

// An entry that is no request at all still gets its error: only a well-formed one without id is silent.
function isNotification(entry: unknown): boolean {
  const raw = asRaw(entry)
  return (
    raw !== undefined &&
    raw.id === undefined &&
    raw.jsonrpc === '2.0' &&
    typeof raw.method === 'string'
  )
}
