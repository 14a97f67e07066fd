import { receiveEvent } from '../bindings/client-wire.ts'
import { v10 } from '../bindings/dialects/v10.ts'
import type { HttpHandler, HttpReply, HttpRequest } from '../bindings/http.ts'
import type { AuthenticationInfo, StreamResponse } from '../protocol/types.ts'
import { isSameSecret } from '../shared/ids.ts'
import { checkOptions, type OptionTable } from '../shared/options.ts'

/** How a receiver of webhooks knows its callers and what it does with events. */
export interface WebhookReceiverOptions {
  /** The `token` of the push config, which comes back as `X-A2A-Notification-Token`. */
  readonly token?: string
  /** The `authentication` of the push config, which comes back as `Authorization`. */
  readonly authentication?: AuthenticationInfo
  /** Whether events of this task are awaited; events of others are refused. */
  expects(taskId: string): boolean | Promise<boolean>
  /** Called once per event. A throw answers 500, and the sender tries again. */
  onEvent(event: StreamResponse): void | Promise<void>
  /** False answers 429: bring the limiter of your choice. */
  allow?(taskId: string): boolean | Promise<boolean>
  /** How many event ids are remembered; 10,000 if absent. */
  readonly remember?: number
}

const receiverOptions: OptionTable<WebhookReceiverOptions> = {
  token: 'string',
  authentication: 'object',
  expects: 'function!',
  onEvent: 'function!',
  allow: 'function',
  remember: 'number',
}

/**
 * Makes the receiving end of webhooks (§4.3.3), as a handler for any HTTP server. It checks the credentials, refuses
 * tasks that nobody awaits, and handles an event once however often it is delivered, where the sender numbers its
 * events (`X-A2A-Event-Id`). Bodies of 1.0 and of 0.3 are understood.
 *
 * @throws TypeError without token and authentication: a receiver that believes everyone is never meant.
 */
export function createWebhookReceiver(options: WebhookReceiverOptions): HttpHandler {
  checkOptions('createWebhookReceiver', options, receiverOptions)
  if (!options.token && !options.authentication)
    throw new TypeError('A webhook receiver needs a token or authentication')
  const handled = createMemory(options.remember ?? 10_000)
  return async (request) => {
    if (request.method !== 'POST') return answer(405, { allow: 'POST' })
    if (!(await isAuthentic(request, options))) return answer(401)
    const event = read(request)
    const taskId = event && taskIdOf(event)
    if (!taskId) return answer(400)
    if (!(await options.expects(taskId))) return answer(404)
    if (options.allow && !(await options.allow(taskId))) return answer(429)
    return handled.once(request.headers['x-a2a-event-id'], () => options.onEvent(event))
  }
}

function answer(status: number, headers: Readonly<Record<string, string>> = {}): HttpReply {
  return { status, headers }
}

function read({ body, fault }: HttpRequest): StreamResponse | undefined {
  if (fault) return undefined
  try {
    return receiveEvent(v10, JSON.parse(body))
  } catch {
    return undefined // whatever is wrong with it, it is no event
  }
}

function taskIdOf(event: StreamResponse): string | undefined {
  if ('task' in event) return event.task.id
  if ('message' in event) return event.message.taskId
  return 'statusUpdate' in event ? event.statusUpdate.taskId : event.artifactUpdate.taskId
}

async function isAuthentic(
  { headers }: HttpRequest,
  { token, authentication }: WebhookReceiverOptions,
): Promise<boolean> {
  const { scheme, credentials = '' } = authentication ?? { scheme: '' }
  const [given = '', ...rest] = (headers.authorization ?? '').split(' ')
  const bySecret =
    authentication !== undefined &&
    given.toLowerCase() === scheme.toLowerCase() &&
    (await isSameSecret(rest.join(' '), credentials))
  const byToken =
    token !== undefined && (await isSameSecret(headers['x-a2a-notification-token'] ?? '', token))
  return bySecret || byToken
}

/** Remembers which events were handled. A second delivery waits for the first and shares its outcome. */
function createMemory(limit: number): {
  once(id: string | undefined, work: () => void | Promise<void>): Promise<HttpReply>
} {
  const outcomes = new Map<string, Promise<HttpReply>>()
  return {
    once(id, work) {
      if (!id) return attempt(work)
      const known = outcomes.get(id)
      if (known) return known
      const outcome = attempt(work).then((reply) => {
        if (reply.status !== 204) outcomes.delete(id) // to be delivered again
        return reply
      })
      outcomes.set(id, outcome)
      for (const oldest of outcomes.keys()) if (outcomes.size > limit) outcomes.delete(oldest)
      return outcome
    },
  }
}

async function attempt(work: () => void | Promise<void>): Promise<HttpReply> {
  try {
    await work()
    return answer(204)
  } catch {
    return answer(500) // the sender is told that it failed, not why
  }
}
