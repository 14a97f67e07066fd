import { rpcDialects } from '../bindings/dialects/select.ts'
import { rest10 } from '../bindings/dialects/v10/rest.ts'
import { encodeWebhook } from '../bindings/dialects/webhook.ts'
import { A2AError } from '../protocol/errors.ts'
import { textOf } from '../protocol/task.ts'
import type { Json, JsonObject, Message, StreamResponse, Task } from '../protocol/types.ts'
import type { ConsoleHost } from '../server/console.ts'
import { readUrl } from '../shared/url.ts'
import type { LogRecord } from '../store/store.ts'
import type { WireAnswer, WireDialect, WireFrame } from './api.ts'
import { type ApiHandler, findTask, ok } from './call.ts'

/** So many frames are shown, and so many records read for them. */
const maxFrames = 200
const maxRecords = 2_000

/** Makes the handler of `tasks/ID/wire`: the exchange of a task as each wire would write it. */
export function createWireHandler(host: ConsoleHost): ApiHandler {
  const { store, mounts, auth } = host
  return async (call) => {
    const dialect = dialectOf(call.query.get('dialect') ?? '1.0')
    const stored = await findTask(host, call)
    const { id, scope } = stored.head
    const records = await store.records(id, 0, maxRecords)
    const base = mounts.get(scope.agent)?.identity.base(call.request.base) ?? host.url()
    const around: Around = {
      base,
      agent: scope.agent,
      task: stored.task,
      credentials: auth.open ? {} : { authorization: '…' },
    }
    const frames = framesOf(records, wires[dialect](around))
    const more = Math.max(0, frames.length - maxFrames) + Math.max(0, stored.version - maxRecords)
    return ok<WireAnswer>({ dialect, frames: frames.slice(0, maxFrames), more })
  }
}

/** What a wire needs to know of an exchange. */
interface Around {
  /** The agent's own URL. */
  readonly base: string
  readonly agent: string
  readonly task: Task
  readonly credentials: Readonly<Record<string, string>>
}

/** How one wire writes a message of the user and an event; undefined where it says nothing of it. */
interface Wire {
  request(message: Message): WireFrame | undefined
  answer(event: StreamResponse, seq: number): WireFrame | undefined
}

const json = { 'content-type': 'application/json' }

/** Every wire by its name. One without its row does not compile. */
const wires: Readonly<Record<WireDialect, (around: Around) => Wire>> = {
  '1.0': rpc('1.0', '/'),
  '0.3': rpc('0.3', '/'),
  '1.0-rc': rpc('1.0-rc', '/v1/rpc'),
  ranch: rpc('ranch', '/rpc'),
  rest: toRest,
  openai: toOpenAI,
  webhook: toWebhook,
}

function dialectOf(name: string): WireDialect {
  const known = Object.keys(wires) as WireDialect[] // the keys of a Record<WireDialect>
  const found = known.find((one) => one === name)
  if (found) return found
  throw new A2AError('invalidParams', `dialect must be one of ${known.join(', ')}`)
}

function framesOf(records: readonly LogRecord[], wire: Wire): readonly WireFrame[] {
  return records.flatMap((record) => {
    if (record.kind === 'message') return wire.request(record.message) ?? []
    return record.kind === 'event' ? (wire.answer(record.event, record.seq) ?? []) : []
  })
}

function rpc(name: '1.0' | '0.3' | '1.0-rc' | 'ranch', path: string): (around: Around) => Wire {
  const dialect = rpcDialects[name]
  const version = name === '1.0' || name === '0.3' ? { 'a2a-version': name } : {}
  return ({ base, credentials }) => ({
    request(message) {
      const call = dialect.encodeRequest('SendStreamingMessage', { message })
      if (!call) return undefined
      const body = toJson({ jsonrpc: '2.0', id: 1, ...call })
      return {
        direction: 'request',
        title: `POST ${base}${path}`,
        headers: { ...json, ...version, ...credentials },
        body,
      }
    },
    answer: (event, seq) =>
      answer(seq, {
        jsonrpc: '2.0',
        id: 1,
        result: dialect.encodeEvent(event, 'SendStreamingMessage'),
      }),
  })
}

function toRest({ base, credentials }: Around): Wire {
  const dialect = rest10()
  return {
    request: (message) => ({
      direction: 'request',
      title: `POST ${base}/message:stream`,
      headers: { 'content-type': dialect.contentType, 'a2a-version': '1.0', ...credentials },
      body: toJson(dialect.encodeRequest('SendStreamingMessage', { message })),
    }),
    answer: (event, seq) => answer(seq, dialect.encodeEvent(event, 'SendStreamingMessage')),
  }
}

function toOpenAI({ base, agent, credentials }: Around): Wire {
  const origin = readUrl(base)?.origin ?? base
  return {
    request: (message) => ({
      direction: 'request',
      title: `POST ${origin}/v1/chat/completions`,
      headers: { ...json, ...credentials },
      body: toJson({
        model: agent,
        stream: true,
        messages: [{ role: 'user', content: textOf(message.parts) }],
      }),
    }),
    answer(event, seq) {
      const delta = deltaOf(event)
      if (!delta) return undefined
      return answer(seq, { object: 'chat.completion.chunk', model: agent, choices: [delta] })
    },
  }
}

function deltaOf(event: StreamResponse): JsonObject | undefined {
  if ('artifactUpdate' in event) {
    const content = textOf(event.artifactUpdate.artifact.parts)
    return { index: 0, delta: { content }, finish_reason: null }
  }
  if (!('statusUpdate' in event)) return undefined
  const { state, message } = event.statusUpdate.status
  if (state === 'TASK_STATE_WORKING' || state === 'TASK_STATE_SUBMITTED') return undefined
  const content = message ? textOf(message.parts) : ''
  return { index: 0, delta: content ? { content } : {}, finish_reason: 'stop' }
}

/** What a webhook of the task gets; the request of the user is none of its business. */
function toWebhook({ agent, task }: Around): Wire {
  return {
    request: () => undefined,
    answer(event, seq) {
      const { contentType, body } = encodeWebhook({ dialect: '1.0', agent }, event, task)
      return {
        seq,
        direction: 'request',
        title: 'POST https://your.host/webhook',
        headers: { 'content-type': contentType, 'x-a2a-event-id': `${task.id}:${seq}` },
        body: JSON.parse(body),
      }
    },
  }
}

function answer(seq: number, body: unknown): WireFrame {
  const headers = { 'content-type': 'text/event-stream' }
  return { seq, direction: 'answer', title: 'event', headers, body: toJson(body) }
}

/** As it goes over the wire: members that are undefined do not. */
function toJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null))
}
