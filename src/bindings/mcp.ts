import type {
  AuthInfo,
  CallToolResult,
  ContentBlock,
  McpHttpHandler,
  McpServerFactory,
  ServerContext,
  StandardSchemaWithJSON,
} from '@modelcontextprotocol/server'
import { A2AError, errorRow, toA2AError } from '../protocol/errors.ts'
import {
  type AuthContext,
  anonymous,
  type Call,
  type Dispatch,
  mustHaveScope,
  reachesAgent,
  tenantFor,
  tenantHeader,
} from '../protocol/operations.ts'
import {
  answerParts,
  createFold,
  type Fold,
  isInterrupted,
  isTerminal,
  textOf,
  userMessage,
} from '../protocol/task.ts'
import type { Json, JsonObject, Message, Part, StreamResponse, Task } from '../protocol/types.ts'
import { digestOf } from '../shared/ids.ts'
import { hasMoreMembers, isFields } from '../shared/json.ts'
import { readUrl } from '../shared/text.ts'
import { ask, readAll } from './ask.ts'
import { refusalHeaders } from './call.ts'
import type { HttpHandler, HttpReply, HttpRequest } from './http.ts'

/** An agent or team offered as an MCP tool. */
export interface McpOffer {
  /** Becomes the tool's name. */
  readonly id: string
  readonly name: string
  readonly description: string
  /** The JSON Schema of its answers, where they are data. */
  readonly outputSchema?: JsonObject | undefined
  readonly dispatch: Dispatch
}

/** What a caller says to an offered agent. */
interface McpQuestion {
  readonly message: string
  /** An earlier result's, to go on with that conversation. */
  readonly context_id?: string
  /** An earlier result's, to answer what it asked. */
  readonly task_id?: string
}

/** The JSON Schema of a question. */
const questionSchema = {
  type: 'object',
  properties: {
    message: { type: 'string', minLength: 1, description: 'What to ask or tell the agent' },
    context_id: {
      type: 'string',
      description: 'context_id of an earlier result, to go on with it',
    },
    task_id: { type: 'string', description: 'task_id of a result that asked something' },
  },
  required: ['message'],
} as const

/** What is offered to MCP clients. */
interface McpBindingOptions {
  /** Each agent or team becomes a tool; asked for anew by each connection or request. */
  readonly offers: () => readonly McpOffer[] | Promise<readonly McpOffer[]>
  /** Who calls over HTTP; anyone if absent. @throws A2AError `unauthenticated`. */
  readonly identify?: (call: Call) => AuthContext | Promise<AuthContext>
  /** Who asks for anything but a tool's answer, such as the list of tools; `identify` if absent. */
  readonly visit?: (call: Call) => AuthContext | Promise<AuthContext>
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
      const asked = readAsked(request.body)
      const call = await identified(request, callsTool(asked), options)
      if (call instanceof A2AError) return refuseFault(call)
      if (hasMoreMembers(asked, maxMembers))
        return refuse(
          400,
          `A request must have at most ${maxMembers} members, nested ones included`,
        )
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

/** Members of a request, nested ones included. The library takes a hundred times as long to check one as JSON to read it. */
const maxMembers = 1_000

/** The parsed body; undefined where it is not JSON, which the library reports itself. */
function readAsked(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** The call of a request whose caller is known, or why the caller is refused. */
async function identified(
  request: HttpRequest,
  isCall: boolean,
  { identify, visit = identify }: McpBindingOptions,
): Promise<Call | A2AError> {
  const { headers, query, client } = request
  const call: Call = { headers, query, dialect: '1.0', ...(client && { client }) }
  try {
    const auth = await (isCall ? identify : visit)?.(call)
    if (!auth) return call
    if (isCall && (auth.scopes || auth.tenants)) mustBeAllowed(auth, headers)
    return { ...call, auth }
  } catch (thrown) {
    return toA2AError(thrown)
  }
}

/** What every tool needs, so that its lack is HTTP's matter and no tool's result. */
function mustBeAllowed(auth: AuthContext, headers: HttpRequest['headers']): void {
  mustHaveScope(auth, 'tasks:write')
  tenantFor(auth, headers[tenantHeader] ?? '')
}

function callsTool(asked: unknown): boolean {
  return [asked].flat().some((one) => isFields(one) && one.method === 'tools/call')
}

/** What the library hands on to the factory: the call. */
function toAuthInfo(call: Call): AuthInfo {
  return { token: '', clientId: '', scopes: [], extra: { call } }
}

function createFactory(options: McpBindingOptions): McpServerFactory {
  let compiled: CompiledSchemas | undefined
  return async ({ requestInfo, authInfo }) => {
    const { McpServer, fromJsonSchema } = await loadServer()
    compiled ??= new CompiledSchemas(fromJsonSchema)
    const { inputSchema } = compiled
    const server = new McpServer({ name: 'corral', version: '1.0.0' })
    // true: `toAuthInfo` put it there, with every request of HTTP
    const given = (authInfo?.extra?.call ?? {}) as Call
    const call = requestInfo || authInfo ? given : overStdio(options)
    const { auth = anonymous } = call
    const offers = (await options.offers()).filter(({ id }) => reachesAgent(auth, id))
    const names = await toNames(offers)
    for (const [index, offer] of offers.entries()) {
      const { id, name: title, description } = offer
      const outputSchema = compiled.outputOf(offer)
      const about = { title, description, inputSchema, outputSchema }
      server.registerTool(names[index] ?? toName(id), about, (question, mcp) =>
        answerQuestion(offer, question, { call, mcp }),
      )
    }
    return server
  }
}

type FromJsonSchema = typeof import('@modelcontextprotocol/server')['fromJsonSchema']

/**
 * The compiled schemas of all tools. A server is created for every request, and would otherwise compile them each time, which
 * takes a millisecond or more per agent.
 */
class CompiledSchemas {
  readonly inputSchema: StandardSchemaWithJSON<McpQuestion, McpQuestion>
  readonly #compile: FromJsonSchema
  readonly #plain: StandardSchemaWithJSON
  readonly #outputs = new WeakMap<JsonObject, StandardSchemaWithJSON>()

  constructor(compile: FromJsonSchema) {
    this.#compile = compile
    this.inputSchema = compile<McpQuestion>(questionSchema)
    this.#plain = compile(resultSchema)
  }

  outputOf({ outputSchema }: McpOffer): StandardSchemaWithJSON {
    if (!outputSchema) return this.#plain
    const known = this.#outputs.get(outputSchema)
    if (known) return known
    const made = this.#compile(toResultSchema(outputSchema))
    this.#outputs.set(outputSchema, made)
    return made
  }
}

/** Asks an offered agent and gives its answer as a tool's result. Whatever goes wrong is told in the result. */
async function answerQuestion(
  offer: McpOffer,
  question: McpQuestion,
  context: { readonly call: Call; readonly mcp: ServerContext },
): Promise<CallToolResult> {
  const { context_id: contextId, task_id: taskId } = question
  const message = userMessage(question.message, {
    ...(contextId && { contextId }),
    ...(taskId && { taskId }),
  })
  const reader = createResultReader()
  const report = progressOf(context.mcp)
  const { signal } = context.mcp.mcpReq
  try {
    const stream = await ask(offer.dispatch, { message }, { ...context.call, signal })
    await readAll(stream, signal, (event) => {
      reader.take(event)
      report?.(event)
    })
    return reader.result()
  } catch (thrown) {
    signal.throwIfAborted()
    return failure(toA2AError(thrown).message)
  }
}

/** Tells a client that asked for progress what the agent says on the way and each piece of its answer; else undefined. */
function progressOf({ mcpReq }: ServerContext): ((event: StreamResponse) => void) | undefined {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return undefined
  let progress = 0
  return (event) => {
    const message = textOf(newsIn(event))
    if (message === '') return
    progress += 1
    const params = { progressToken, progress, message }
    // A client that has gone does not hear of progress; its signal ends the work.
    void mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
  }
}

function newsIn(event: StreamResponse): readonly Part[] {
  if ('artifactUpdate' in event) return event.artifactUpdate.artifact.parts
  if (!('statusUpdate' in event)) return []
  const { state, message } = event.statusUpdate.status
  return state === 'TASK_STATE_WORKING' && message ? message.parts : []
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

/**
 * The names of tools, each its own. Where two ids would have one name, an id that is no name itself gets its digest
 * behind it, so that the name stays the same whatever else is offered with it.
 */
async function toNames(offers: readonly McpOffer[]): Promise<readonly string[]> {
  const plain = offers.map(({ id }) => toName(id))
  return Promise.all(
    offers.map(async ({ id }, index) => {
      const name = toName(id)
      const isOwn = name === id || plain.every((other, i) => other !== name || i === index)
      return isOwn ? name : `${name.slice(0, 55)}_${(await digestOf(id)).slice(0, 8)}`
    }),
  )
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
  // The HTTP server decides whether the connection stays open.
  const { connection: _, ...headers } = Object.fromEntries(response.headers)
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

const resultSchema = {
  type: 'object',
  properties: {
    answer: {
      type: 'string',
      description: 'What the agent says; its question where the state is TASK_STATE_INPUT_REQUIRED',
    },
    data: { type: 'array', description: 'The structured data of the answer, if it has any' },
    state: { type: 'string', description: 'The state of the task, such as TASK_STATE_COMPLETED' },
    context_id: { type: 'string', description: 'Names the conversation, to go on with it' },
    task_id: { type: 'string', description: 'Names the task, to answer what it asked' },
  },
  required: ['answer', 'state'],
} as const

/** The JSON Schema of a result's structured content, with that of the agent's data where it is known. */
function toResultSchema(data: JsonObject): JsonObject {
  // What a schema refers to within itself would not be found where it stands within another.
  if (JSON.stringify(data).includes('"$ref"')) return resultSchema
  const { $schema: _, ...items } = data
  const { properties } = resultSchema
  return {
    ...resultSchema,
    properties: { ...properties, data: { ...properties.data, items } },
  }
}

/** Gathers an agent's events into one result. */
interface ResultReader {
  take(event: StreamResponse): void
  result(): CallToolResult
}

/** An empty reader. */
function createResultReader(): ResultReader {
  let fold: Fold | undefined
  let lone: Message | undefined
  return {
    take(event) {
      if ('message' in event) lone = event.message
      else if ('task' in event) fold = createFold(event.task)
      else {
        fold ??= createFold(taskOf(event))
        fold.apply(event)
      }
    },
    result() {
      if (lone) return fromMessage(lone)
      fold?.compact()
      return fold ? fromTask(fold.snapshot()) : failure('The agent has not answered')
    },
  }
}

/** A result that says what went wrong. */
function failure(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

function taskOf(event: Exclude<StreamResponse, { task: Task } | { message: Message }>): Task {
  const update = 'statusUpdate' in event ? event.statusUpdate : event.artifactUpdate
  const { taskId: id, contextId } = update
  return { id, contextId, status: { state: 'TASK_STATE_WORKING' } }
}

function fromMessage({ parts, contextId }: Message): CallToolResult {
  return {
    content: parts.map(toBlock),
    structuredContent: {
      ...toAnswer(parts),
      state: 'TASK_STATE_COMPLETED',
      ...(contextId !== undefined && { context_id: contextId }),
    },
  }
}

function fromTask(task: Task): CallToolResult {
  const { state } = task.status
  const parts = saidIn(task)
  return {
    content: [...parts.map(toBlock), ...(isInterrupted(state) ? [howToAnswer(task)] : [])],
    structuredContent: {
      ...toAnswer(parts),
      state,
      context_id: task.contextId,
      task_id: task.id,
    },
    ...(isTerminal(state) && state !== 'TASK_STATE_COMPLETED' && { isError: true }),
  }
}

/** A completed task says its answer; any other its last words: the question, or why it ended. */
function saidIn(task: Task): readonly Part[] {
  const { state, message } = task.status
  const isAnswer = state === 'TASK_STATE_COMPLETED' || !message?.parts.length
  return isAnswer ? answerParts(task) : message.parts
}

/** Many clients show a model nothing but the content, so the ids stand there too. */
function howToAnswer({ id, contextId }: Task): ContentBlock {
  const ids = `task_id ${JSON.stringify(id)} and context_id ${JSON.stringify(contextId)}`
  return { type: 'text', text: `To answer, call this tool again with ${ids}.` }
}

function toAnswer(parts: readonly Part[]): { answer: string; data?: readonly Json[] } {
  const data = parts.flatMap((part) => ('data' in part ? [part.data] : []))
  return { answer: textOf(parts), ...(data.length > 0 && { data }) }
}

function toBlock(part: Part): ContentBlock {
  if ('text' in part) return { type: 'text', text: part.text }
  if ('data' in part) return { type: 'text', text: JSON.stringify(part.data) }
  const mimeType = part.mediaType ?? 'application/octet-stream'
  const name = part.filename ?? 'file'
  if ('url' in part) return { type: 'resource_link', uri: part.url, name, mimeType }
  if (mimeType.startsWith('image/')) return { type: 'image', data: part.raw, mimeType }
  if (mimeType.startsWith('audio/')) return { type: 'audio', data: part.raw, mimeType }
  const uri = `attachment:///${encodeURIComponent(name)}`
  return { type: 'resource', resource: { uri, mimeType, blob: part.raw } }
}
