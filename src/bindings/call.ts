import { A2AError, type ErrorCode } from '../protocol/errors.ts'
import {
  anonymous,
  type Call,
  type DialectName,
  noExtensions,
  type Reply,
} from '../protocol/operations.ts'
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
  if (request.isLocal) call.isLocal = request.isLocal
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

/**
 * Whether the error of a stream of 0.3 that fails at once is its only event: clients of 0.3 read the answer to a streaming
 * method as a stream and look at nothing else. Those that name the version are of 1.x and read both.
 */
export function wantsEvents({ headers }: HttpRequest, version: string): boolean {
  return version === '' && /\btext\/event-stream\b/.test(headers.accept ?? '')
}

/** The supported Major.Minor that a version names, its patch ignored (specification §3.6); undefined if none. */
export function supportedVersion(version: string): '1.0' | '0.3' | undefined {
  const match = /^(1\.0|0\.3)(?:\.\d+)?$/.exec(version)
  return match?.[1] === '1.0' ? '1.0' : match ? '0.3' : undefined
}

/** The refusal of a version that nobody here speaks. */
export function unsupportedVersion(version: string): A2AError {
  return new A2AError('versionNotSupported', `Protocol version ${version} is not supported`, {
    metadata: { supportedVersions: '1.0, 0.3' },
  })
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

// What HTTP itself refuses, whatever the protocol on top of it.
const refused: ReadonlyMap<ErrorCode, number> = new Map([
  ['unauthenticated', 401],
  ['forbidden', 403],
  ['requestTimeout', 408],
  ['payloadTooLarge', 413],
  ['rateLimited', 429],
  ['unavailable', 503],
])

/** The HTTP status of a JSON-RPC error: 200, but for what HTTP itself refuses. */
export function refusalStatus(error: A2AError): number {
  return refused.get(error.code) ?? 200
}

/** The headers that an error asks for beside its body: the challenge of a 401, when to try again, what is left. */
export function refusalHeaders(error: A2AError): Record<string, string> {
  const { challenge, retryAfterSeconds, requestLimit } = error.details
  const headers: Record<string, string> = {}
  if (challenge !== undefined) headers['www-authenticate'] = challenge
  if (retryAfterSeconds === undefined) return headers
  const seconds = String(Math.max(0, Math.ceil(retryAfterSeconds)))
  headers['retry-after'] = seconds
  if (requestLimit === undefined) return headers
  headers['ratelimit-limit'] = String(requestLimit)
  headers['ratelimit-remaining'] = '0'
  headers['ratelimit-reset'] = seconds
  return headers
}

/** What can be said of JSON that is not to be parsed, or breaks off. */
interface Skimmed {
  /** The `id` of the outermost object, if it has one that is no object itself. */
  readonly id: unknown
  /** The keys and indexes that lead to the first place that nests too deep; empty where none does. */
  readonly path: readonly (string | number)[]
}

/** Reads over JSON without building anything of it, so that its depth costs nothing. */
export function skimJson(text: string, maxDepth: number): Skimmed {
  /** Where each open array and object is at: the index or the key. */
  const steps: (string | number)[] = []
  let path: Skimmed['path'] = []
  let id: unknown
  let level = 0
  let last = ''
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (char === '"') {
      const end = endOfString(text, i)
      last = text.slice(i, end)
      i = end - 1
    } else if (char === '{' || char === '[') {
      if (level++ < maxDepth) steps[level - 1] = char === '[' ? 0 : ''
      else if (path.length === 0) path = [...steps]
    } else if (char === '}' || char === ']') {
      if (level > 0) level--
      if (level < maxDepth) steps.length = level
    } else if (level > 0 && level <= maxDepth) {
      const step = steps[level - 1]
      if (char === ',' && typeof step === 'number') steps[level - 1] = step + 1
      else if (char === ':') {
        steps[level - 1] = String(parsed(last)).slice(0, maxKeyLength)
        if (level === 1 && last === '"id"') id = scalarAt(text, i + 1)
      }
    }
  }
  return { id, path }
}

const maxKeyLength = 64

/** The offset behind the string that begins here, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++)
    if (text[i] === '\\') i++
    else if (text[i] === '"') return i + 1
  return text.length
}

/** The string, number or null at an offset; undefined if there is another value, or none that is whole. */
function scalarAt(text: string, start: number): unknown {
  let from = start
  while (text[from] === ' ' || text[from] === '\n' || text[from] === '\r' || text[from] === '\t')
    from++
  if (text[from] === '"') return parsed(text.slice(from, endOfString(text, from)))
  let end = from
  while (end < text.length && text[end] !== ',' && text[end] !== '}') end++
  return end < text.length ? parsed(text.slice(from, end)) : undefined
}

/** A scalar that was skimmed; undefined for anything else. */
function parsed(json: string): unknown {
  if (json.startsWith('{') || json.startsWith('[')) return undefined
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
