import type { HttpHandler, HttpReply, HttpRequest } from '../../src/bindings/http.ts'
import type {
  Call,
  Dispatch,
  EventStream,
  OperationName,
  Sequenced,
} from '../../src/protocol/operations.ts'
import type { AgentCard, Task } from '../../src/protocol/types.ts'

/** A task as the engine would make it. */
export const task: Task = {
  id: '123e4567-e89b-12d3-a456-426614174000',
  contextId: 'ctx-1',
  status: { state: 'TASK_STATE_COMPLETED', timestamp: '2025-12-11T10:35:00.000Z' },
  artifacts: [{ artifactId: 'response', parts: [{ text: 'Once upon a time...' }] }],
}

/** A card with an interface of each version. */
export const card: AgentCard = {
  name: 'Research Agent',
  description: 'Researches topics and provides summaries',
  supportedInterfaces: [
    { url: 'http://localhost:8000', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: 'http://localhost:8000', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    { url: 'http://localhost:8000', protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
  ],
  provider: { organization: 'Workshop Demo', url: 'https://example.com' },
  version: '1.0.0',
  capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'research', name: 'Research', description: 'Researches', tags: ['research'] }],
}

/** What reached the waist. */
export interface Received {
  readonly name: OperationName
  readonly request: unknown
  readonly call: Call
}

/** A Dispatch that answers from a table and keeps what it was asked. */
export function script(answers: Partial<Record<OperationName, unknown>>): {
  dispatch: Dispatch
  received: Received[]
} {
  const received: Received[] = []
  const dispatch = async (name: OperationName, request: unknown, call: Call): Promise<unknown> => {
    received.push({ name, request, call })
    const answer = answers[name]
    if (answer instanceof Error) throw answer
    return typeof answer === 'function' ? answer(request, call) : answer
  }
  // true: the table holds each operation's own result
  return { dispatch: dispatch as Dispatch, received }
}

/** A stream of the given batches; an Error among them is thrown at its place. */
export function streamOf(...batches: readonly (readonly Sequenced[] | Error)[]): EventStream {
  return (async function* () {
    for (const batch of batches) {
      if (batch instanceof Error) throw batch
      yield batch
    }
  })()
}

/** A request with a JSON body. */
export function post(body: unknown, over: Partial<HttpRequest> = {}): HttpRequest {
  return {
    method: 'POST',
    path: '/',
    query: '',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...over,
  }
}

/** The reply of a handler with its body read: JSON parsed, a stream joined. */
export async function ask(
  handler: HttpHandler,
  request: HttpRequest,
): Promise<HttpReply & { text: string; json: unknown }> {
  const reply = await handler(request)
  const text = await textOf(reply.body)
  return { ...reply, text, json: isJson(reply) && text !== '' ? JSON.parse(text) : undefined }
}

async function textOf(body: HttpReply['body']): Promise<string> {
  if (body === undefined || typeof body === 'string') return body ?? ''
  let text = ''
  for await (const chunk of body) text += chunk
  return text
}

function isJson(reply: HttpReply): boolean {
  return reply.headers['content-type']?.includes('json') ?? false
}
