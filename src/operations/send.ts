import type { Sent } from '../engine/engine.ts'
import type { EventStream } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import type {
  Part,
  SendMessageRequest,
  SendMessageResponse,
  TaskPushNotificationConfig,
} from '../protocol/types.ts'
import { withSignal } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'
import type { CheckedCall } from './gate.ts'
import { trimHistory } from './history.ts'
import type { Service } from './service.ts'

/** Sends a message and waits for its answer, or for the task to come into being (specification §3.1.1). */
export async function sendMessage(
  service: Service,
  request: SendMessageRequest,
  call: CheckedCall,
): Promise<SendMessageResponse> {
  const sent = await begin(service, request, call)
  const { returnImmediately, historyLength } = request.configuration ?? {}
  const answer = returnImmediately
    ? { task: await sent.task() }
    : await waitFor(sent, call, service)
  return 'task' in answer ? { task: trimHistory(answer.task, historyLength) } : answer
}

/** Sends a message and streams what becomes of it (specification §3.1.2). */
export async function sendStreamingMessage(
  service: Service,
  request: SendMessageRequest,
  call: CheckedCall,
): Promise<EventStream> {
  const sent = await begin(service, request, call)
  return sent.events()
}

async function begin(
  service: Service,
  request: SendMessageRequest,
  call: CheckedCall,
): Promise<Sent> {
  const webhook = request.configuration?.taskPushNotificationConfig
  if (webhook) await mustDeliver(service, webhook)
  const modes = service.inputModes()
  if (modes) mustAccept(modes, request.message.parts)
  return service.engine.send(request, call)
}

async function mustDeliver(service: Service, webhook: TaskPushNotificationConfig): Promise<void> {
  const card = await service.card()
  if (card.capabilities.pushNotifications !== true)
    throw new A2AError('pushNotificationNotSupported', 'This agent has no pushNotifications')
  service.webhooks.check(webhook, 'configuration.taskPushNotificationConfig')
}

/** The answer, or the task as it is when the wait is over: the work goes on either way. */
async function waitFor(
  sent: Sent,
  call: CheckedCall,
  { clock, blockingTimeoutMs }: Service,
): Promise<SendMessageResponse> {
  const outcome = await withSignal(
    withDeadline(sent.outcome, call.waitMs ?? blockingTimeoutMs, clock),
    call.signal,
  )
  return outcome ?? { task: await sent.task() }
}

function withDeadline<T>(work: Promise<T>, ms: number, clock: Clock): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const callOff = clock.after(ms, () => resolve(undefined))
    work.then(
      (value) => {
        callOff()
        resolve(value)
      },
      (error) => {
        callOff()
        reject(error)
      },
    )
  })
}

/** Refuses parts of media types that the agent does not take (specification §3.1.1). */
function mustAccept(modes: readonly string[], parts: readonly Part[]): void {
  for (const [index, part] of parts.entries()) {
    const type = mediaTypeOf(part)
    if (type !== undefined && !modes.some((mode) => covers(mode, type)))
      throw new A2AError(
        'contentTypeNotSupported',
        `message.parts[${index}]: ${type} is not taken`,
        {
          metadata: { mediaType: type },
        },
      )
  }
}

function mediaTypeOf(part: Part): string | undefined {
  const declared = part.mediaType?.split(';', 1)[0]?.trim().toLowerCase()
  if (declared) return declared
  if ('text' in part) return 'text/plain'
  return 'data' in part ? 'application/json' : undefined
}

function covers(mode: string, type: string): boolean {
  if (mode === '*/*' || mode === '*' || mode === type) return true
  return mode.endsWith('/*') && type.startsWith(mode.slice(0, -1))
}
