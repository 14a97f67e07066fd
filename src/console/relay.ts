import { encodeWebhook, rpcDialects } from '../bindings/dialects/rpc-dialects.ts'
import { rest10 } from '../bindings/dialects/v10.ts'
import type { HttpReply, HttpRequest } from '../bindings/http.ts'
import { encodeFrame, streamHeaders } from '../bindings/sse.ts'
import { createHttp } from '../client/node.ts'
import { createGuard, type GuardOptions } from '../network/guard.ts'
import { A2AError, toA2AError } from '../protocol/errors.ts'
import {
  type EventStream,
  isOperationName,
  mustHaveScope,
  type OperationName,
} from '../protocol/operations.ts'
import { parseRequest } from '../protocol/schema.ts'
import { textOf } from '../protocol/task.ts'
import type { Json, JsonObject, Message, StreamResponse, Task } from '../protocol/types.ts'
import { isLoopbackAuthority, originAuthority } from '../server/access/origins.ts'
import type { ConsoleHost, ConsoleSettings, ReceivedDelivery } from '../server/options.ts'
import { isAsyncIterable } from '../shared/async.ts'
import { toTimestamp } from '../shared/clock.ts'
import { readUrl } from '../shared/text.ts'
import type { LogRecord } from '../store/store.ts'
import type {
  ReceivedBody,
  RelayAnswer,
  TrialReceiver,
  WireAnswer,
  WireDialect,
  WireFrame,
} from './api.ts'
import { type ApiCall, type ApiHandler, bodyOf, findTask, ok } from './call.ts'
import { checkAgent, clientOf, describeAgent, type ForeignAgent, type Way } from './check.ts'

/** Which agents elsewhere the console may ask. */
export interface RelayOptions extends Pick<GuardOptions, 'lookup'> {
  /**
   * Hosts (`agents.internal`, `10.0.0.7:8080`) and ranges (`10.0.0.0/8`) inside your network that the console may reach
   * beside public addresses; a server that only this machine reaches may reach this machine anyway.
   */
  readonly allow?: readonly string[]
}

/** So many requests are under way at once; a stream is one until it ends. */
const maxAtOnce = 50

/**
 * Makes the handler of `relay`: asks an agent elsewhere through this server, since its own page may ask no other origin.
 * Nothing of it is stored. Where others reach the server, it is for operators.
 */
export function createAgentRelay(
  host: ConsoleHost,
  { allow = [], lookup }: RelayOptions,
): { readonly handle: ApiHandler; close(): Promise<void> } {
  const { clock } = host
  const given = { allow, ...(lookup && { lookup }) }
  const ways = {
    here: createWay({ ...given, allowLoopback: true }, clock),
    elsewhere: createWay(given, clock),
  }
  const isFronted = hasProxy(host.options)
  let running = 0

  async function answer(
    call: ApiCall,
    agent: ForeignAgent,
    left: AbortController,
  ): Promise<HttpReply> {
    const body = bodyOf(call)
    if (body.kind === 'card') return ok(await describeAgent(agent))
    if (body.kind === 'check') return ok(await checkAgent(agent))
    if (body.kind !== 'call')
      throw new A2AError('invalidParams', 'kind must be card, check or call')
    const result = await callAgent(agent, body)
    if (!isAsyncIterable(result))
      return ok<RelayAnswer>({ result: JSON.parse(JSON.stringify(result ?? null)) })
    running++
    const stream = result as EventStream // an operation's only iterable
    const frames = new RelayedFrames(stream, left, () => running--)
    return { status: 200, headers: streamHeaders, body: frames }
  }

  return {
    async handle(call) {
      const { viewer, request } = call
      const isLocal = call.isLocal && !isFronted
      if (!isLocal) mustHaveScope(viewer.auth, 'operator')
      if (running >= maxAtOnce)
        throw new A2AError('unavailable', 'Too many agents are being asked; try again soon')
      running++
      try {
        const way = isLocal ? ways.here : ways.elsewhere
        const left = new AbortController()
        const signal = AbortSignal.any([left.signal, ...(request.signal ? [request.signal] : [])])
        const agent = { ...way, ...addressOf(bodyOf(call)), clock, signal }
        way.guard.check(agent.url, 'url')
        return await answer(call, agent, left)
      } finally {
        running--
      }
    },
    async close() {
      for (const { http, guard } of Object.values(ways)) {
        await http.close()
        await guard.close()
      }
    },
  }
}

const limits = {
  connectMs: 10_000,
  requestMs: 120_000,
  idleMs: 120_000,
  maxResponseBytes: 8 * 1024 * 1024,
  maxStreamBytes: 64 * 1024 * 1024,
}

function createWay(options: GuardOptions, clock: ConsoleHost['clock']): Way {
  const guard = createGuard({ ...options, allowHttp: true })
  return { guard, http: createHttp({ ...limits, rules: guard.rules, clock }) }
}

/** Whether others reach a server that is bound to this machine: through a proxy in front of it. */
function hasProxy({ publicUrl, trustedProxies = [] }: ConsoleSettings): boolean {
  const named = publicUrl === undefined ? undefined : originAuthority(publicUrl)
  return trustedProxies.length > 0 || (named !== undefined && !isLoopbackAuthority(named))
}

async function callAgent(
  agent: ForeignAgent,
  body: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const { operation, request, lastEventId } = body
  if (typeof operation !== 'string' || !isOperationName(operation))
    throw new A2AError('invalidParams', 'operation must be the name of an A2A operation')
  const name: OperationName = operation
  const last = Number(lastEventId)
  return clientOf(agent).dispatch(name, parseRequest(name, request ?? {}), {
    ...(agent.signal && { signal: agent.signal }),
    ...(lastEventId !== undefined && Number.isInteger(last) && { lastEventId: last }),
  })
}

/**
 * The frames of a stream, to be read once. A generator alone would say that it is over neither where its reader left
 * before the first frame nor while it waits for the next one.
 */
class RelayedFrames implements AsyncIterableIterator<string> {
  readonly #stream: EventStream
  readonly #left: AbortController
  readonly #frames: AsyncGenerator<string>
  #over: (() => void) | undefined
  #isBegun = false

  constructor(stream: EventStream, left: AbortController, over: () => void) {
    this.#left = left
    this.#stream = stream
    this.#frames = framesOf(stream)
    this.#over = over
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<string>> {
    this.#isBegun = true
    const next = await this.#frames.next()
    if (next.done) this.#end()
    return next
  }

  /** The reader has left: the place is free at once, and the agent is asked no more. */
  async return(): Promise<IteratorResult<string>> {
    this.#end()
    if (!this.#isBegun) await this.#stream[Symbol.asyncIterator]().return?.()
    return this.#frames.return(undefined)
  }

  #end(): void {
    this.#over?.()
    this.#over = undefined
    this.#left.abort()
  }
}

/** Events as the page reads them; what breaks the stream off is its last frame. */
async function* framesOf(stream: EventStream): AsyncGenerator<string> {
  try {
    for await (const batch of stream)
      for (const { seq, event } of batch) {
        const id = seq === undefined ? {} : { id: String(seq) }
        yield encodeFrame({ data: JSON.stringify(event), ...id })
      }
  } catch (thrown) {
    const { code, message } = toA2AError(thrown)
    yield encodeFrame({ event: 'error', data: JSON.stringify({ error: { code, message } }) })
  }
}

function addressOf({
  url,
  authorization,
}: Readonly<Record<string, unknown>>): Pick<ForeignAgent, 'url' | 'headers'> {
  if (typeof url !== 'string' || url === '')
    throw new A2AError('invalidParams', 'url must be the URL of an agent or of its card')
  if (authorization !== undefined && typeof authorization !== 'string')
    throw new A2AError('invalidParams', 'authorization must be the text of a header')
  return { url, headers: authorization ? { authorization } : {} }
}

/** What a wire needs to know of an exchange. */
interface WireContext {
  /** The agent's own URL. */
  readonly base: string
  readonly agent: string
  readonly task: Task
  readonly credentials: Readonly<Record<string, string>>
}

const maxRecords = 2_000
const json = { 'content-type': 'application/json' }

/** How one wire writes a message of the user and an event; undefined where it says nothing of it. */
interface Wire {
  request(message: Message): WireFrame | undefined
  answer(event: StreamResponse, seq: number): WireFrame | undefined
}

/** Every wire by its name. One without its row does not compile. */
const wires: Readonly<Record<WireDialect, (around: WireContext) => Wire>> = {
  '1.0': rpc('1.0', '/'),
  '0.3': rpc('0.3', '/'),
  '1.0-rc': rpc('1.0-rc', '/v1/rpc'),
  ranch: rpc('ranch', '/rpc'),
  rest: toRest,
  openai: toOpenAI,
  webhook: toWebhook,
}

function rpc(
  name: '1.0' | '0.3' | '1.0-rc' | 'ranch',
  path: string,
): (around: WireContext) => Wire {
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

/** As it goes over the wire: members that are undefined do not. */
function toJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null))
}

function answer(seq: number, body: unknown): WireFrame {
  const headers = { 'content-type': 'text/event-stream' }
  return { seq, direction: 'answer', title: 'event', headers, body: toJson(body) }
}

function toRest({ base, credentials }: WireContext): Wire {
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

function toOpenAI({ base, agent, credentials }: WireContext): Wire {
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
function toWebhook({ agent, task }: WireContext): Wire {
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

/** So many frames are shown, and so many records read for them. */
const maxFrames = 200

/** Makes the handler of `tasks/ID/wire`: the exchange of a task as each wire would write it. */
export function createWireHandler(host: ConsoleHost): (call: ApiCall) => Promise<WireAnswer> {
  const { store, mounts, auth } = host
  return async (call) => {
    const dialect = dialectOf(call.query.get('dialect') ?? '1.0')
    const stored = await findTask(host, call)
    const { id, scope } = stored.head
    const records = await store.records(id, 0, maxRecords)
    const base = mounts.get(scope.agent)?.identity.base(call.request.base) ?? host.url()
    const around: WireContext = {
      base,
      agent: scope.agent,
      task: stored.task,
      credentials: auth.open ? {} : { authorization: '…' },
    }
    const frames = wireFramesOf(records, wires[dialect](around))
    const more = Math.max(0, frames.length - maxFrames) + Math.max(0, stored.version - maxRecords)
    return { dialect, frames: frames.slice(0, maxFrames), more }
  }
}

function dialectOf(name: string): WireDialect {
  const known = Object.keys(wires) as WireDialect[] // the keys of a Record<WireDialect>
  const found = known.find((one) => one === name)
  if (found) return found
  throw new A2AError('invalidParams', `dialect must be one of ${known.join(', ')}`)
}

function wireFramesOf(records: readonly LogRecord[], wire: Wire): readonly WireFrame[] {
  return records.flatMap((record) => {
    if (record.kind === 'message') return wire.request(record.message) ?? []
    return record.kind === 'event' ? (wire.answer(record.event, record.seq) ?? []) : []
  })
}

/** Addresses to try webhooks with: what is sent there is shown to the caller that made it, and to no other. */
interface Receivers {
  create(call: ApiCall): TrialReceiver
  show(call: ApiCall): TrialReceiver
  /** Takes in what any sender that knows the id of a receiver sends to it. */
  post(id: string, request: HttpRequest): HttpReply
  /** The same from a webhook of this server; undefined for an address that is none of these. */
  receive(delivery: ReceivedDelivery): number | undefined
  isReceiver(url: string): boolean
}

interface KeptReceiver {
  readonly id: string
  readonly owner: string
  readonly expires: number
  readonly bodies: ReceivedBody[]
  bytes: number
}

const maxReceiversEach = 10
const maxReceivers = 200
const lifeMs = 3_600_000

/** Makes the receivers of a console; none at first. */
export function createReceivers({ clock, url }: ConsoleHost): Receivers {
  const kept = new Map<string, KeptReceiver>()

  const find = (id: string): KeptReceiver | undefined => {
    for (const one of kept.values()) if (one.expires <= clock.now()) kept.delete(one.id)
    return kept.get(id)
  }
  const urlOf = (id: string): string => url() + pathOf(id)
  const idIn = (address: string): string => {
    const start = address.startsWith('/') ? pathOf('') : urlOf('')
    return address.startsWith(start) ? address.slice(start.length) : ''
  }
  const toReceiver = ({ id, expires, bodies }: KeptReceiver): TrialReceiver => ({
    id,
    url: urlOf(id),
    expiresAt: toTimestamp(expires),
    bodies,
  })

  const take = (receiver: KeptReceiver, headers: HttpRequest['headers'], body: string): number =>
    keepBody(receiver, { at: toTimestamp(clock.now()), headers: shownHeaders(headers), body })

  return {
    create({ viewer }) {
      const owner = viewer.auth.userId
      find('')
      const own = [...kept.values()].filter((one) => one.owner === owner)
      // The oldest of one's own gives way; others' never do.
      if (own.length >= maxReceiversEach) kept.delete(own[0]?.id ?? '')
      else if (kept.size >= maxReceivers)
        throw new A2AError('unavailable', 'There are too many receivers; try again later')
      const id = randomId()
      const fresh: KeptReceiver = { id, owner, expires: clock.now() + lifeMs, bodies: [], bytes: 0 }
      kept.set(id, fresh)
      return toReceiver(fresh)
    },
    show({ id, viewer }) {
      const found = find(id)
      if (found && found.owner === viewer.auth.userId) return toReceiver(found)
      throw new A2AError('taskNotFound', 'There is no such receiver; it may have expired')
    },
    post(id, { headers, body, bytes, fault }) {
      const found = find(id)
      const text = bytes ? Buffer.from(bytes).toString('utf8') : body
      const status = found ? (fault ? 413 : take(found, headers, text)) : 404
      return { status, headers: { 'cache-control': 'no-store' } }
    },
    receive({ url: address, headers, body }) {
      const id = idIn(address)
      if (id === '') return undefined
      const found = find(id)
      return found ? take(found, headers, body) : 404
    },
    isReceiver: (address) => find(idIn(address)) !== undefined,
  }
}

function pathOf(id: string): string {
  return `/console/api/receiver/${id}`
}

/** How much a receiver keeps, for how long, and how many there are. */
const maxBytes = 1024 * 1024

const maxBodies = 50

/** Keeps what was sent, within the bounds of a receiver; gives the status to answer with. */
function keepBody(receiver: KeptReceiver, received: ReceivedBody): number {
  const bytes = Buffer.byteLength(received.body)
  if (bytes > maxBytes) return 413
  receiver.bodies.unshift(received)
  receiver.bytes += bytes
  while (receiver.bodies.length > maxBodies || receiver.bytes > maxBytes)
    receiver.bytes -= Buffer.byteLength(receiver.bodies.pop()?.body ?? '')
  return 204
}

const secret = new Set(['authorization', 'x-a2a-notification-token'])
const plain = new Set(['content-type', 'user-agent', 'x-a2a-event-id', 'x-a2a-signature'])

/** What tells something of a webhook; that there was a credential, but not which. */
function shownHeaders(headers: HttpRequest['headers']): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => {
      if (value === undefined) return []
      if (secret.has(name)) return [[name, '…']]
      return plain.has(name) ? [[name, value]] : []
    }),
  )
}

/** 192 random bits: it cannot be found by trying. */
function randomId(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString('base64url')
}
