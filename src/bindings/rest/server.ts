import { A2AError, toA2AError } from '../../protocol/errors.ts'
import {
  type Call,
  type Dispatch,
  type EventStream,
  type OperationName,
  operationNames,
  operations,
  type RequestOf,
} from '../../protocol/operations.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import {
  echoExtensions,
  parseBody,
  refusalHeaders,
  refusalStatus,
  requestedVersion,
  supportedVersion,
  toCall,
  unsupportedVersion,
  wantsEvents,
} from '../call.ts'
import type { HttpDialect } from '../dialects/dialect.ts'
import { rest03 } from '../dialects/v03-rest.ts'
import { type ErrorTable, rest10 } from '../dialects/v10.ts'
import type { HttpHandler, HttpReply, HttpRequest } from '../http.ts'
import { decodeQuery, reservedSegments } from '../routes.ts'
import {
  createEventJson,
  EventBody,
  type EventJson,
  type EventWriter,
  encodeFrame,
  type RetryMs,
  streamHeaders,
} from '../sse.ts'

/** What the HTTP+JSON binding needs. */
interface RestBindingOptions {
  readonly dispatch: Dispatch
  /** Which specification's HTTP statuses errors carry; 1.0.1's if absent. */
  readonly errorTable?: ErrorTable
  /** How long a stream may be quiet before a comment keeps it open; 15 000 if absent, 0 for never. */
  readonly heartbeatMs?: number
  readonly clock?: Clock
  readonly retryMs?: RetryMs
}

/** A request with the version it speaks and the operation it means. */
interface Target {
  readonly dialect: HttpDialect
  readonly operation: OperationName
  readonly params: Readonly<Record<string, string>>
}

/**
 * Answers A2A over HTTP+JSON (specification §11): 1.0, and 0.3 under `/v1` or by its version header.
 * A deleted push config is answered with an empty object, in 0.3 with 204.
 */
export function createRestBinding(options: RestBindingOptions): HttpHandler {
  const { dispatch, heartbeatMs = 15_000, clock = systemClock, retryMs } = options
  const v10 = rest10(options.errorTable)
  const routes = { '1.0': createRouter(v10.paths), '0.3': createRouter(rest03.paths) }
  const eventJson = new Map<HttpDialect, (opening: OperationName) => EventJson>(
    [v10, rest03].map((d) => [
      d,
      createEventJson((event, opening) => d.encodeEvent(event, opening)),
    ]),
  )

  return async (request) => {
    const version = requestedVersion(request)
    const path = stripPrefix(request.path)
    const byPath = path === request.path ? '1.0' : '0.3'
    const known = version === '' ? byPath : supportedVersion(version)
    const spoken = known ?? byPath
    const dialect = spoken === '0.3' ? rest03 : v10
    let streaming = false
    try {
      if (known === undefined) throw unsupportedVersion(version)
      if (request.fault) throw request.fault
      // With the header 1.0 the prefix may still be there: the base url of an interface can end in it.
      const match = routes[spoken](request.method, path)
      if (!match) throw new A2AError('methodNotFound', 'No such path')
      if ('allow' in match) return notAllowed(match.allow, dialect)
      streaming = spoken === '0.3' && operations[match.operation].stream
      return await perform({ dialect, ...match }, request)
    } catch (thrown) {
      return failure(toA2AError(thrown), dialect, streaming && wantsEvents(request, version))
    }
  }

  async function perform(target: Target, request: HttpRequest): Promise<HttpReply> {
    const { dialect, operation, params } = target
    const query = decodeQuery(operation, request.query)
    const decoded = dialect.decodeRequest(operation, { body: readBody(request), params, query })
    const call = toCall(request, dialect.name)
    // true: the request is not checked yet; the gate behind the waist parses it before anyone trusts it
    const result = await dispatch(operation, decoded as RequestOf<OperationName>, call)
    // true: the operations table says that this one answers with a stream
    if (operations[operation].stream) return openStream(result as EventStream, { target, call })
    const body = dialect.encodeResult(operation, result)
    if (body === undefined) return { status: 204, headers: {} }
    const headers = echoExtensions(dialect.headers, call, dialect.name)
    return { status: 200, headers, body: JSON.stringify(body) }
  }

  async function openStream(
    events: EventStream,
    { target, call }: { target: Target; call: Call },
  ): Promise<HttpReply> {
    const { dialect, operation } = target
    const writer = createWriter(dialect, eventJson.get(dialect)?.(operation) ?? JSON.stringify)
    const body = new EventBody(events, { writer, heartbeatMs, clock, retryMs })
    // A resumed stream may have nothing to say for long, so its headers do not wait for an event.
    if (call.lastEventId === undefined) await body.opened()
    return { status: 200, headers: echoExtensions(streamHeaders, call, dialect.name), body }
  }
}

function createWriter(dialect: HttpDialect, json: EventJson): EventWriter {
  return {
    write: (batch) => {
      let text = ''
      for (const { seq, event } of batch) {
        if (seq !== undefined) text += `id: ${seq}\n`
        text += `data: ${json(event)}\n\n`
      }
      return text
    },
    fail: (thrown) => failureFrame(toA2AError(thrown), dialect),
  }
}

function failureFrame(error: A2AError, dialect: HttpDialect): string {
  return encodeFrame({ event: 'error', data: JSON.stringify(dialect.encodeError(error).body) })
}

function stripPrefix(path: string): string {
  return path.startsWith('/v1/') ? path.slice(3) : path
}

// A GET has no body, whatever came with it; `:cancel` and `:subscribe` may come with a content type and none.
function readBody(request: HttpRequest): unknown {
  return request.body === '' || request.method === 'GET' ? undefined : parseBody(request)
}

/** An error as an answer, or as the only event of a stream; HTTP's own refusals stay such. */
function failure(error: A2AError, dialect: HttpDialect, asEvent = false): HttpReply {
  if (asEvent && refusalStatus(error) === 200)
    return { status: 200, headers: streamHeaders, body: failureFrame(error, dialect) }
  const { status, body } = dialect.encodeError(error)
  return {
    status,
    headers: { ...dialect.headers, ...refusalHeaders(error) },
    body: JSON.stringify(body),
  }
}

function notAllowed(allow: readonly string[], dialect: HttpDialect): HttpReply {
  const error = new A2AError('methodNotFound', 'Method not allowed')
  const reply = failure(error, dialect)
  return { ...reply, status: 405, headers: { ...reply.headers, allow: allow.join(', ') } }
}

/** What a path and verb mean. */
type RouteMatch =
  | { readonly operation: OperationName; readonly params: Readonly<Record<string, string>> }
  /** The path exists, the verb does not. */
  | { readonly allow: readonly string[] }

interface Pattern {
  readonly operation: OperationName
  readonly verbs: readonly string[]
  readonly segments: readonly Segment[]
}

/** A literal, or a parameter with what follows it (`{id}:cancel`). */
type Segment = { readonly literal: string } | { readonly name: string; readonly suffix: string }

/** Finds the operation behind a verb and a path with no version prefix; the tenant is one more segment in front. */
type Router = (verb: string, path: string) => RouteMatch | undefined

/** The routes of the operations table, with other verbs and paths where a version differs. */
function createRouter(paths: Readonly<Partial<Record<OperationName, string>>> = {}): Router {
  const patterns = operationNames.map((name) => toPattern(name, paths[name]))
  // A suffix is the narrower pattern: `/tasks/{id}:cancel` must be tried before `/tasks/{id}`.
  const ordered = patterns.toSorted((a, b) => suffixLength(b) - suffixLength(a))
  return (verb, path) => {
    const segments = path.split('/').slice(1)
    if (segments.at(-1) === '' && segments.length > 1) segments.pop()
    return find(ordered, verb, segments) ?? findForTenant(ordered, verb, segments)
  }
}

function findForTenant(
  patterns: readonly Pattern[],
  verb: string,
  segments: readonly string[],
): RouteMatch | undefined {
  const [first, ...rest] = segments
  if (first === undefined || rest.length === 0) return undefined
  const tenant = decode(first)
  if (tenant === undefined || tenant === '' || reservedSegments.has(tenant)) return undefined
  const match = find(patterns, verb, rest)
  if (!match || 'allow' in match) return match
  return { operation: match.operation, params: { ...match.params, tenant } }
}

function find(
  patterns: readonly Pattern[],
  verb: string,
  segments: readonly string[],
): RouteMatch | undefined {
  const allow: string[] = []
  let narrowest = -1
  for (const pattern of patterns) {
    const params = matchSegments(pattern.segments, segments)
    if (!params) continue
    // Once a suffix has matched, the wider pattern without it no longer means this path.
    const suffix = suffixLength(pattern)
    if (suffix < narrowest) break
    narrowest = suffix
    if (pattern.verbs.includes(verb)) return { operation: pattern.operation, params }
    allow.push(...pattern.verbs)
  }
  return allow.length > 0 ? { allow } : undefined
}

function matchSegments(
  pattern: readonly Segment[],
  segments: readonly string[],
): Record<string, string> | undefined {
  if (pattern.length !== segments.length) return undefined
  const params: Record<string, string> = {}
  for (const [i, expected] of pattern.entries()) {
    const actual = segments[i] ?? ''
    if ('literal' in expected) {
      if (decode(actual) !== expected.literal) return undefined
      continue
    }
    if (!actual.endsWith(expected.suffix)) return undefined
    const value = decode(actual.slice(0, actual.length - expected.suffix.length))
    if (!value) return undefined
    params[expected.name] = value
  }
  return params
}

function toPattern(operation: OperationName, path: string | undefined): Pattern {
  const { rest } = operations[operation]
  const template = path ?? rest.path
  return { operation, verbs: rest.verbs, segments: template.split('/').slice(1).map(toSegment) }
}

function toSegment(text: string): Segment {
  const match = /^\{(\w+)\}(.*)$/.exec(text)
  return match?.[1] === undefined ? { literal: text } : { name: match[1], suffix: match[2] ?? '' }
}

function suffixLength(pattern: Pattern): number {
  return pattern.segments.reduce((sum, s) => sum + ('name' in s ? s.suffix.length : 0), 0)
}

// A segment that is not valid percent-encoding names nothing.
function decode(segment: string): string | undefined {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
