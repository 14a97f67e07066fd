import type { AuthInfo, McpHttpHandler, McpServerFactory } from '@modelcontextprotocol/server'
import type { AuthContext, Call } from '../../protocol/call.ts'
import { A2AError, errorRow, toA2AError } from '../../protocol/errors.ts'
import { mustBeInTenant, mustHaveScope } from '../../protocol/scopes.ts'
import { readUrl } from '../../shared/url.ts'
import type { HttpHandler, HttpReply, HttpRequest } from '../http.ts'
import { refusalHeaders } from '../refusal.ts'
import { answerQuestion, type McpOffer, type McpQuestion, questionSchema } from './offer.ts'
import { toResultSchema } from './result.ts'

/** What is offered to MCP clients. */
interface McpBindingOptions {
  /** Each agent or team becomes a tool; asked for anew by each connection or request. */
  readonly offers: () => readonly McpOffer[] | Promise<readonly McpOffer[]>
  /** Who calls over HTTP; anyone if absent. @throws A2AError `unauthenticated`. */
  readonly identify?: (call: Call) => AuthContext | Promise<AuthContext>
  /** Web pages of other origins that may call over HTTP; none if absent. */
  readonly allowedOrigins?: readonly string[]
  /** Who calls over stdio, where nobody can present credentials: whoever started the process. */
  readonly auth?: Call['auth']
}

/** An MCP server on the plain HTTP pair. */
interface McpBinding {
  /** Answers one path, whichever it is mounted at. */
  readonly handle: HttpHandler
  close(): Promise<void>
}

/**
 * Offers agents as tools over MCP's streamable HTTP. Whoever is not known is refused before MCP is spoken, as its
 * specification demands. `@modelcontextprotocol/server`, an optional peer, is loaded at the first request.
 */
export function createMcpBinding(options: McpBindingOptions): McpBinding {
  let loading: Promise<McpHttpHandler> | undefined
  const load = async (): Promise<McpHttpHandler> => {
    const { createMcpHandler } = await loadServer()
    // A stream is the only answer whose reader can be seen to leave; it also keeps slow calls alive.
    return createMcpHandler(createFactory(options), { responseMode: 'sse' })
  }
  return {
    async handle(request) {
      if (request.fault) return refuseFault(request.fault)
      if (!isAllowedOrigin(request, options.allowedOrigins ?? []))
        return refuse(403, 'This origin may not call')
      const call = await identified(request, options.identify)
      if (call instanceof A2AError) return refuseFault(call)
      try {
        loading ??= load()
        const { fetch } = await loading
        return await toReply(await fetch(toRequest(request), { authInfo: toAuthInfo(call) }))
      } catch (thrown) {
        loading = undefined
        const known = thrown instanceof A2AError
        return refuse(known ? 501 : 500, known ? thrown.message : 'Internal error')
      }
    },
    async close() {
      const handler = await loading?.catch(() => undefined)
      await handler?.close()
    },
  }
}

/** Offers agents as tools over this process's stdin and stdout, until the client leaves or `close` is called. */
export async function serveMcpStdio(
  options: McpBindingOptions,
): Promise<{ close(): Promise<void> }> {
  await loadServer()
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio')
  return serveStdio(createFactory(options))
}

/** The call of a request whose caller is known, or why the caller is refused. */
async function identified(
  request: HttpRequest,
  identify: McpBindingOptions['identify'],
): Promise<Call | A2AError> {
  const { headers, query, client, body } = request
  const call: Call = { headers, query, dialect: '1.0', ...(client && { client }) }
  try {
    const auth = await identify?.(call)
    if (!auth) return call
    if ((auth.scopes || auth.tenants) && callsTool(body)) mustBeAllowed(auth)
    return { ...call, auth }
  } catch (thrown) {
    return toA2AError(thrown)
  }
}

/** What every tool needs, so that its lack is HTTP's matter and no tool's result. */
function mustBeAllowed(auth: AuthContext): void {
  mustHaveScope(auth, 'tasks:write')
  mustBeInTenant(auth, '')
}

function callsTool(body: string): boolean {
  try {
    return [JSON.parse(body)].flat().some((one) => one?.method === 'tools/call')
  } catch {
    return false
  }
}

/** What the library hands on to the factory: the call. */
function toAuthInfo(call: Call): AuthInfo {
  return { token: '', clientId: '', scopes: [], extra: { call } }
}

function createFactory(options: McpBindingOptions): McpServerFactory {
  return async ({ requestInfo, authInfo }) => {
    const { McpServer, fromJsonSchema } = await loadServer()
    const server = new McpServer({ name: 'corral', version: '1.0.0' })
    // true: `toAuthInfo` put it there, with every request of HTTP
    const given = (authInfo?.extra?.call ?? {}) as Call
    const call = requestInfo || authInfo ? given : overStdio(options)
    const inputSchema = fromJsonSchema<McpQuestion>(questionSchema)
    for (const offer of await options.offers()) {
      const { id, name: title, description } = offer
      const outputSchema = fromJsonSchema(toResultSchema(offer.outputSchema))
      const about = { title, description, inputSchema, outputSchema }
      server.registerTool(toName(id), about, (question, mcp) =>
        answerQuestion(offer, question, { call, mcp }),
      )
    }
    return server
  }
}

/** The call of whoever started the process. */
function overStdio({ auth }: McpBindingOptions): Call {
  return { headers: {}, dialect: '1.0', ...(auth && { auth }) }
}

async function loadServer(): Promise<typeof import('@modelcontextprotocol/server')> {
  try {
    return await import('@modelcontextprotocol/server')
  } catch (cause) {
    throw new A2AError('unsupportedOperation', 'MCP needs @modelcontextprotocol/server', { cause })
  }
}

function toName(id: string): string {
  return id.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64)
}

// A page that was lured to resolve a name of its own to this machine still sends its own origin (DNS rebinding).
function isAllowedOrigin({ headers }: HttpRequest, allowed: readonly string[]): boolean {
  const { origin, host } = headers
  if (origin === undefined || allowed.includes(origin)) return true
  const url = readUrl(origin)
  return url !== undefined && url.host === host && isLocal(url.hostname)
}

function isLocal(name: string): boolean {
  return name === 'localhost' || name === '127.0.0.1' || name === '[::1]'
}

// The signal is not handed on: answers are streams, and leaving one is heard without it.
function toRequest({ method, path, query, headers, body }: HttpRequest): Request {
  const given = Object.entries(headers).filter((entry): entry is [string, string] =>
    Boolean(entry[1]),
  )
  const url = `http://localhost${path}${query === '' ? '' : `?${query}`}`
  const hasBody = method !== 'GET' && method !== 'HEAD'
  return new Request(url, {
    method,
    headers: given,
    ...(hasBody && { body }),
  })
}

async function toReply(response: Response): Promise<HttpReply> {
  const headers = Object.fromEntries(response.headers)
  const { status, body } = response
  const streams = headers['content-type']?.startsWith('text/event-stream') ?? false
  if (!body || !streams) return { status, headers, body: await response.text() }
  return { status, headers, body: chunksOf(body) }
}

// Written by hand: a generator that waits for its next chunk would not hear that its reader has left.
function chunksOf(body: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  const reader = body.getReader()
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      const { done, value } = await reader.read()
      return done ? { done, value: undefined } : { done: false, value }
    },
    async return() {
      await reader.cancel()
      return { done: true, value: undefined }
    },
  }
  return { [Symbol.asyncIterator]: () => iterator }
}

/** Why a body was not read: HTTP itself refuses it, or it is no request. */
function refuseFault(fault: A2AError): HttpReply {
  const reply = refuse(errorRow(fault.code).http, fault.message)
  return { ...reply, headers: { ...reply.headers, ...refusalHeaders(fault) } }
}

function refuse(status: number, message: string): HttpReply {
  const error = { jsonrpc: '2.0', id: null, error: { code: -32600, message } }
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(error) }
}
