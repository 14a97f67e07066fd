import {
  anonymous,
  type Call,
  type DialectName,
  noExtensions,
  type Reply,
} from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Mutable } from '../shared/json.ts'
import type { HttpRequest } from './http.ts'

/** What the headers of a request say of its call. The names of 0.3 and 1.0 are both read, whatever the dialect. */
export function toCall(request: HttpRequest, dialect: DialectName): Mutable<Call> {
  const { headers } = request
  const reply: Reply = {}
  const call: Mutable<Call> = { headers, dialect, reply, auth: anonymous, extensions: noExtensions }
  if (request.signal) call.signal = request.signal
  if (request.query) call.query = request.query
  if (request.client) call.client = request.client
  if (request.base) call.base = request.base
  const extensions = headers['a2a-extensions'] ?? headers['x-a2a-extensions']
  if (extensions) call.extensions = splitList(extensions)
  const last = headers['last-event-id']
  if (last) setLastEventId(call, last)
  const key = headers['idempotency-key']
  if (key) call.idempotencyKey = key
  const traceparent = headers.traceparent
  if (traceparent) call.traceparent = traceparent
  return call
}

/** The `A2A-Version` of a request: the header, else the query parameter (specification §3.6.1); empty if neither. */
export function requestedVersion(request: HttpRequest): string {
  const header = request.headers['a2a-version']
  if (header) return header.trim()
  if (!request.query) return ''
  for (const [name, value] of new URLSearchParams(request.query))
    if (name.toLowerCase() === 'a2a-version') return value.trim()
  return ''
}

/** An answer's headers with the extensions that were activated for it, by the name that the dialect uses. */
export function echoExtensions(
  headers: Readonly<Record<string, string>>,
  call: Call,
  dialect: DialectName,
): Readonly<Record<string, string>> {
  const extensions = call.reply?.extensions
  if (!extensions?.length) return headers
  return { ...headers, [extensionHeader(dialect)]: extensions.join(', ') }
}

/** The header that names extensions, by the name that the dialect uses. */
export function extensionHeader(dialect: DialectName): string {
  return dialect === '0.3' || dialect === '0.3-rest' ? 'x-a2a-extensions' : 'a2a-extensions'
}

function splitList(value: string): readonly string[] {
  const items = value.split(',').map((item) => item.trim())
  return [...new Set(items)].filter((item) => item !== '')
}

// Ids are log sequence numbers; one that is not a number names nothing we sent and is ignored.
function setLastEventId(call: Mutable<Call>, value: string): void {
  const id = Number(value)
  if (Number.isSafeInteger(id) && id >= 0) call.lastEventId = id
}

/**
 * The JSON of a request.
 *
 * @throws A2AError `contentTypeNotSupported`, `parseError`, or why the body could not be read.
 */
export function parseBody(request: HttpRequest): unknown {
  if (request.fault) throw request.fault
  if (!isJsonContent(request) || (!request.headers['content-type'] && isFromPage(request)))
    throw new A2AError('contentTypeNotSupported', 'The content type must be application/json')
  try {
    return JSON.parse(request.body)
  } catch (cause) {
    throw new A2AError('parseError', 'Invalid JSON payload', { cause })
  }
}

/**
 * Whether a body may be JSON: `application/json` or any `+json` type, or no type at all, which is tolerated.
 */
export function isJsonContent(request: Pick<HttpRequest, 'headers'>): boolean {
  const header = request.headers['content-type']
  if (header === undefined || header === 'application/json' || header === '') return true
  const semicolon = header.indexOf(';')
  const type = (semicolon < 0 ? header : header.slice(0, semicolon)).trim().toLowerCase()
  return type === 'application/json' || (type.startsWith('application/') && type.endsWith('+json'))
}

/** Whether a page sent it. Without a content type a browser asks for no leave first, wherever the page is from. */
function isFromPage({ headers }: HttpRequest): boolean {
  return headers.origin !== undefined || headers['sec-fetch-site'] !== undefined
}
