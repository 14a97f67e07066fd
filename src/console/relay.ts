import type { HttpReply } from '../bindings/http.ts'
import { encodeFrame, streamHeaders } from '../bindings/sse.ts'
import { createHttp } from '../client/node.ts'
import { createGuard, type GuardOptions } from '../network/guard.ts'
import type { EventStream } from '../protocol/call.ts'
import { A2AError, toA2AError } from '../protocol/errors.ts'
import { isOperationName, type OperationName } from '../protocol/operations.ts'
import { parseRequest } from '../protocol/schema.ts'
import { mustHaveScope } from '../protocol/scopes.ts'
import type { ConsoleHost, ConsoleSettings } from '../server/console.ts'
import { isLoopbackAuthority, originAuthority } from '../server/hosts.ts'
import { isAsyncIterable } from '../shared/async.ts'
import type { RelayAnswer } from './api.ts'
import { type ApiCall, type ApiHandler, bodyOf, ok } from './call.ts'
import { checkAgent } from './check.ts'
import { clientOf, type ForeignAgent, type Way } from './foreign-agent.ts'
import { describeAgent } from './foreign-card.ts'

/** Which agents elsewhere the console may ask. */
export interface RelayOptions extends Pick<GuardOptions, 'lookup'> {
  /**
   * Hosts (`agents.internal`, `10.0.0.7:8080`) and ranges (`10.0.0.0/8`) inside your network that the console may reach
   * beside public addresses; a server that only this machine reaches may reach this machine anyway.
   */
  readonly allow?: readonly string[]
}

const loopback = ['localhost', '127.0.0.0/8', '::1/128']

/** So many requests are under way at once; a stream is one until it ends. */
const maxAtOnce = 50

const limits = {
  connectMs: 10_000,
  requestMs: 120_000,
  idleMs: 120_000,
  maxResponseBytes: 8 * 1024 * 1024,
  maxStreamBytes: 64 * 1024 * 1024,
}

/**
 * Makes the handler of `relay`: asks an agent elsewhere through this server, since its own page may ask no other origin.
 * Nothing of it is stored. Where others reach the server, it is for operators.
 */
export function createAgentRelay(
  host: ConsoleHost,
  { allow = [], ...given }: RelayOptions,
): { readonly handle: ApiHandler; close(): Promise<void> } {
  const { clock } = host
  const ways = {
    here: createWay({ ...given, allow: [...allow, ...loopback] }, clock),
    elsewhere: createWay({ ...given, allow }, clock),
  }
  const isFronted = hasProxy(host.options)
  let running = 0

  async function answer(call: ApiCall, agent: ForeignAgent): Promise<HttpReply> {
    const body = bodyOf(call)
    if (body.kind === 'card') return ok(await describeAgent(agent))
    if (body.kind === 'check') return ok(await checkAgent(agent))
    if (body.kind !== 'call')
      throw new A2AError('invalidParams', 'kind must be card, check or call')
    const result = await callAgent(agent, body)
    if (!isAsyncIterable(result))
      return ok<RelayAnswer>({ result: JSON.parse(JSON.stringify(result ?? null)) })
    running++
    const frames = framesOf(result as EventStream, () => running--) // an operation's only iterable
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
        const { signal } = request
        const agent = { ...way, ...addressOf(bodyOf(call)), clock, ...(signal && { signal }) }
        way.guard.check(agent.url, 'url')
        return await answer(call, agent)
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

/** Whether others reach a server that is bound to this machine: through a proxy in front of it. */
function hasProxy({ publicUrl, trustedProxies = [] }: ConsoleSettings): boolean {
  const named = publicUrl === undefined ? undefined : originAuthority(publicUrl)
  return trustedProxies.length > 0 || (named !== undefined && !isLoopbackAuthority(named))
}

function createWay({ allow = [], lookup }: RelayOptions, clock: ConsoleHost['clock']): Way {
  const guard = createGuard({ allow, allowHttp: true, ...(lookup && { lookup }) })
  return { guard, http: createHttp({ ...limits, rules: guard.rules, clock }) }
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

/** Events as the page reads them; what breaks the stream off is its last frame. */
async function* framesOf(stream: EventStream, over: () => void): AsyncGenerator<string> {
  try {
    for await (const batch of stream)
      for (const { seq, event } of batch) {
        const id = seq === undefined ? {} : { id: String(seq) }
        yield encodeFrame({ data: JSON.stringify(event), ...id })
      }
  } catch (thrown) {
    const { code, message } = toA2AError(thrown)
    yield encodeFrame({ event: 'error', data: JSON.stringify({ error: { code, message } }) })
  } finally {
    over()
  }
}
