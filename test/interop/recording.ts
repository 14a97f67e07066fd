import type { ClientReply, HttpSend } from '../../src/bindings/http.ts'
import { createJsonRpcDispatch } from '../../src/bindings/jsonrpc/client.ts'
import { createRestDispatch } from '../../src/bindings/rest/client.ts'
import { createHttp } from '../../src/client/node.ts'
import {
  type Dispatch,
  type EventStream,
  type OperationName,
  operations,
  type RequestOf,
} from '../../src/protocol/operations.ts'
import type { StreamResponse } from '../../src/protocol/types.ts'

/** A binding and version of a peer. */
export type RecordedWire = 'JSONRPC 1.0' | 'HTTP+JSON 1.0' | 'JSONRPC 0.3' | 'HTTP+JSON 0.3'

/** An answer as a peer gave it. */
export interface Recorded {
  readonly wire: RecordedWire | 'card'
  /** What was asked for; none where a card was fetched. */
  readonly operation?: OperationName
  readonly type: string
  readonly body: string
}

/** A Dispatch over a wire. */
export function open(wire: RecordedWire, url: string, send: HttpSend): Dispatch {
  const version = wire.endsWith('1.0') ? '1.0' : '0.3'
  return wire.startsWith('JSONRPC')
    ? createJsonRpcDispatch({ url, send, dialect: version })
    : createRestDispatch({ url, send, version })
}

/** Has a conversation with a peer in which every operation is asked for, and keeps its answers. */
export async function record(wire: RecordedWire, url: string): Promise<readonly Recorded[]> {
  const kept: Recorded[] = []
  const http = createHttp()
  let operation: OperationName = 'SendMessage'
  const dispatch = open(wire, url, async (request) => {
    const asked = operation // another may be asked for while this one is answered
    const reply = await http.send(request)
    const body = await reply.text()
    const type = reply.headers['content-type'] ?? ''
    if (reply.status < 300) kept.push({ wire, operation: asked, type, body })
    return replyOf(reply.status, type, body)
  })
  const ask = async <N extends OperationName>(name: N, request: RequestOf<N>): Promise<unknown> => {
    operation = name
    const result = await dispatch(name, request, {})
    return operations[name].stream ? all(result as EventStream) : result // the row says so
  }
  await ask('SendMessage', message('talk'))
  await ask('SendMessage', message('hello'))
  await ask('SendStreamingMessage', message('hello'))
  const begun = await ask('SendMessage', {
    ...message('wait'),
    configuration: { returnImmediately: true },
  })
  const { id } = (begun as { task: { id: string } }).task // it waits, so it is a task
  await ask('GetTask', { id })
  if (wire.endsWith('1.0')) await ask('ListTasks', { includeArtifacts: true })
  const hook = { taskId: id, id: 'hook', url: 'http://127.0.0.1:9999/hook', token: 'k' }
  await ask('CreateTaskPushNotificationConfig', hook)
  await ask('GetTaskPushNotificationConfig', { taskId: id, id: 'hook' })
  await ask('ListTaskPushNotificationConfigs', { taskId: id })
  await ask('DeleteTaskPushNotificationConfig', { taskId: id, id: 'hook' })
  const watching = ask('SubscribeToTask', { id })
  await ask('CancelTask', { id })
  await watching
  await http.close()
  return kept
}

/** A card as it is served. */
export async function recordCard(url: string, version?: string): Promise<Recorded> {
  const response = await fetch(`${url}/.well-known/agent-card.json`, {
    headers: version === undefined ? {} : { 'a2a-version': version },
  })
  return { wire: 'card', type: 'application/json', body: await response.text() }
}

/** Answers with what was recorded, whatever is asked, under the id of the request. */
export function replay({ wire, type, body }: Recorded): HttpSend {
  return async (request) => {
    if (!wire.startsWith('JSONRPC')) return replyOf(200, type, body)
    const { id } = JSON.parse(request.body ?? '')
    // Beside `jsonrpc`, before or after it: other members of this name are those of tasks.
    const envelope = /("jsonrpc":"2\.0","id":)\d+|("id":)\d+(?=,"jsonrpc")/g
    const answered = body.replace(envelope, (_, after = '', before = '') => after + before + id)
    return replyOf(200, type, answered)
  }
}

function replyOf(status: number, type: string, body: string): ClientReply {
  return {
    status,
    headers: { 'content-type': type },
    text: async () => body,
    async *chunks() {
      yield new TextEncoder().encode(body)
    },
  }
}

/** All events of a stream. */
export async function all(stream: EventStream): Promise<readonly StreamResponse[]> {
  const events: StreamResponse[] = []
  for await (const batch of stream) for (const { event } of batch) events.push(event)
  return events
}

function message(text: string): RequestOf<'SendMessage'> {
  return { message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] } }
}
