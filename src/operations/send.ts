import type { SendResult } from '../engine/messages.ts'
import type { EventStream } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import type {
  Part,
  SendMessageConfiguration,
  SendMessageRequest,
  SendMessageResponse,
  TaskPushNotificationConfig,
} from '../protocol/types.ts'
import { newId } from '../shared/ids.ts'
import type { CheckedCall } from './gate.ts'
import { trimHistory, trimStream } from './history.ts'
import { withKnownTask } from './known-task.ts'
import type { Service } from './service.ts'
import { wantsTrace, withTrace } from './trace.ts'

/** Sends a message and waits for its answer, or for the task to come into being (specification §3.1.1). */
export async function sendMessage(
  service: Service,
  request: SendMessageRequest,
  call: CheckedCall,
): Promise<SendMessageResponse> {
  const check = mustBeSendable(service, request)
  if (check) await check
  const { engine } = service
  const meant = call.givenTaskId === undefined ? request : await meantTask(service, request, call)
  const sending = continuesWithWebhook(meant)
    ? sendWithWebhook(service, meant, call)
    : engine.send(meant, call)
  const sent = sending instanceof Promise ? await sending : sending
  const { returnImmediately, historyLength } = request.configuration ?? noConfiguration
  const inTime = returnImmediately ? undefined : await answerInTime(sent, call, service)
  // When the wait is over the task is told as it is; the work goes on.
  const answer = inTime ?? { task: await sent.task() }
  if ('message' in answer) return answer
  if (wantsTrace(call))
    return { task: await withTrace(engine, trimHistory(answer.task, historyLength)) }
  return historyLength === undefined ? answer : { task: trimHistory(answer.task, historyLength) }
}

/** Sends a message and streams what becomes of it (specification §3.1.2). */
export async function sendStreamingMessage(
  service: Service,
  request: SendMessageRequest,
  call: CheckedCall,
): Promise<EventStream> {
  const check = mustBeSendable(service, request)
  if (check) await check
  const { engine } = service
  const meant = call.givenTaskId === undefined ? request : await meantTask(service, request, call)
  const sending = continuesWithWebhook(meant)
    ? sendWithWebhook(service, meant, call)
    : engine.send(meant, call)
  const sent = sending instanceof Promise ? await sending : sending
  const historyLength = request.configuration?.historyLength
  const events = sent.events({ trace: wantsTrace(call) })
  return historyLength === undefined ? events : trimStream(events, historyLength)
}

const noConfiguration: SendMessageConfiguration = {}

function meantTask(
  { engine }: Service,
  request: SendMessageRequest,
  call: CheckedCall,
): Promise<SendMessageRequest> {
  const scope = engine.scopeOf(request.tenant, call.auth)
  return withKnownTask((id) => engine.get(id, scope), request, call)
}

function continuesWithWebhook({ message, configuration }: SendMessageRequest): boolean {
  return configuration?.taskPushNotificationConfig !== undefined && message.taskId !== undefined
}

/** Sends a message to a task that may have too many webhooks for the one which comes with it. */
async function sendWithWebhook(
  { engine, webhooks }: Service,
  request: SendMessageRequest,
  call: CheckedCall,
): Promise<SendResult> {
  const { configuration, message } = request
  const config = configuration?.taskPushNotificationConfig
  if (!webhooks || !config || !message.taskId) return engine.send(request, call)
  // Somebody else's task answers as one that is not there, whatever it has.
  await engine.get(message.taskId, engine.scopeOf(request.tenant, call.auth))
  const named = { ...config, id: config.id || newId() }
  const release = await webhooks.reserve(message.taskId, named.id)
  try {
    const withId = { ...configuration, taskPushNotificationConfig: named }
    const sent = await engine.send({ ...request, configuration: withId }, call)
    await sent.task()
    return sent
  } finally {
    release()
  }
}

/** What can be said against a message before any agent sees it. */
export function mustBeSendable(
  service: Service,
  request: SendMessageRequest,
): Promise<void> | undefined {
  const { agent } = service
  const modes = agent.inputModes()
  if (modes) mustAccept(modes, request.message.parts)
  const input = agent.checkInput(request.message.parts)
  const webhook = request.configuration?.taskPushNotificationConfig
  if (!webhook) return input
  return input ? input.then(() => mustDeliver(service, webhook)) : mustDeliver(service, webhook)
}

async function mustDeliver(
  { agent, webhooks }: Service,
  webhook: TaskPushNotificationConfig,
): Promise<void> {
  const card = await agent.card()
  if (card.capabilities.pushNotifications !== true || !webhooks)
    throw new A2AError('pushNotificationNotSupported', 'This agent has no pushNotifications')
  webhooks.check(webhook, 'configuration.taskPushNotificationConfig')
}

/** The answer; undefined if it is not there when the wait is over. */
function answerInTime(
  { answer }: SendResult,
  { waitMs, signal }: CheckedCall,
  { clock, blockingTimeoutMs }: Service,
): Promise<SendMessageResponse | undefined> {
  return answer.within({ ms: waitMs ?? blockingTimeoutMs, clock, signal })
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
