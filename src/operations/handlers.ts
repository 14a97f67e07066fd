import { withoutSecrets } from '../agents/guards/secrets.ts'
import { taskNotCancelable } from '../engine/errors.ts'
import type { SendResult } from '../engine/queued-messages.ts'
import { toShownEntry } from '../engine/watch.ts'
import { mediaTypeOf, takesPart } from '../protocol/card.ts'
import { A2AError, hasCode } from '../protocol/errors.ts'
import { traceExtension, whyExtension } from '../protocol/extensions.ts'
import { explainError, failureOf } from '../protocol/failure.ts'
import {
  type EventStream,
  isOperator,
  mayExplain,
  reachesAgent,
  type Sequenced,
} from '../protocol/operations.ts'
import type {
  AgentCard,
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  JsonObject,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  Part,
  SendMessageConfiguration,
  SendMessageRequest,
  SendMessageResponse,
  SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig,
} from '../protocol/types.ts'
import { newId } from '../shared/ids.ts'
import { explainStored, toReadError } from '../store/documents.ts'
import type { Scope, TaskCursor } from '../store/store.ts'
import type { CheckedCall, OperationHandlers, PushConfigs, Service } from './gate.ts'

/** What each operation does for an agent whose tasks the engine keeps. */
export const handlers: OperationHandlers = {
  SendMessage: sendMessage,
  SendStreamingMessage: sendStreamingMessage,
  GetTask: getTask,
  ListTasks: listTasks,
  CancelTask: cancelTask,
  SubscribeToTask: subscribeToTask,
  CreateTaskPushNotificationConfig: createPushConfig,
  GetTaskPushNotificationConfig: getPushConfig,
  ListTaskPushNotificationConfigs: listPushConfigs,
  DeleteTaskPushNotificationConfig: deletePushConfig,
  GetExtendedAgentCard: getExtendedAgentCard,
}

/** Sends a message and waits for its answer, or for the task to come into being (specification §3.1.1). */
async function sendMessage(
  service: Service,
  request: SendMessageRequest,
  call: CheckedCall,
): Promise<SendMessageResponse> {
  const check = mustBeSendable(service, request)
  if (check) await check
  const { engine } = service
  const meant = call.givenTaskId === undefined ? request : await meantTask(service, request, call)
  const sending = send(service, meant, call)
  const sent = sending instanceof Promise ? await sending : sending
  const { returnImmediately, historyLength } = request.configuration ?? noConfiguration
  const inTime = returnImmediately ? undefined : await answerInTime(sent, call, service)
  // When the wait is over the task is told as it is; the work goes on.
  const answer = inTime ?? { task: await sent.task() }
  if ('message' in answer) return answer
  if (wantsTrace(call))
    return { task: await withTrace(engine, trimHistory(answer.task, historyLength), call) }
  return historyLength === undefined ? answer : { task: trimHistory(answer.task, historyLength) }
}

const noConfiguration: SendMessageConfiguration = {}

/** Sends a message and streams what becomes of it (specification §3.1.2). */
async function sendStreamingMessage(
  service: Service,
  request: SendMessageRequest,
  call: CheckedCall,
): Promise<EventStream> {
  const check = mustBeSendable(service, request)
  if (check) await check
  const meant = call.givenTaskId === undefined ? request : await meantTask(service, request, call)
  const sending = send(service, meant, call)
  const sent = sending instanceof Promise ? await sending : sending
  const historyLength = request.configuration?.historyLength
  const events = sent.events({ trace: wantsTrace(call), explains: mayExplain(call) })
  return historyLength === undefined ? events : trimStream(events, historyLength)
}

/** Sends a message, together with its webhook where its task exists already. */
function send(
  service: Service,
  request: SendMessageRequest,
  call: CheckedCall,
): SendResult | Promise<SendResult> {
  return continuesWithWebhook(request)
    ? sendWithWebhook(service, request, call)
    : service.engine.send(request, call)
}

/** What can be said against a message before any agent sees it. */
export function mustBeSendable(
  service: Service,
  request: SendMessageRequest,
): Promise<void> | undefined {
  const { agent } = service
  const { parts } = request.message
  if (agent.inputModes) mustAccept(agent.inputModes, parts)
  const input = agent.checksInput ? agent.checkInput(parts) : undefined
  const webhook = request.configuration?.taskPushNotificationConfig
  if (!webhook) return input
  return input ? input.then(() => mustDeliver(service, webhook)) : mustDeliver(service, webhook)
}

/** Refuses parts of media types that the agent does not take (specification §3.1.1). */
function mustAccept(modes: readonly string[], parts: readonly Part[]): void {
  for (const [index, part] of parts.entries()) {
    if (takesPart(modes, part)) continue
    const mediaType = mediaTypeOf(part) ?? ''
    const said = `message.parts[${index}]: ${mediaType} is not taken`
    throw new A2AError('contentTypeNotSupported', said, { metadata: { mediaType } })
  }
}

async function mustDeliver(
  { agent, webhooks }: Service,
  webhook: TaskPushNotificationConfig,
): Promise<void> {
  const card = await agent.card()
  if (card.capabilities.pushNotifications !== true || !webhooks) throw noPushNotifications()
  webhooks.check(webhook, 'configuration.taskPushNotificationConfig')
}

/** The error of an agent without webhooks. */
export function noPushNotifications(): A2AError {
  return new A2AError('pushNotificationNotSupported', 'This agent has no pushNotifications')
}

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

/** The answer; undefined if it is not there when the wait is over. */
function answerInTime(
  { answer }: SendResult,
  { waitMs, signal }: CheckedCall,
  { clock, blockingTimeoutMs }: Service,
): Promise<SendMessageResponse | undefined> {
  return answer.within({ ms: waitMs ?? blockingTimeoutMs, clock, signal })
}

/** A task as it is now (specification §3.1.3). */
async function getTask(
  { engine }: Service,
  request: GetTaskRequest,
  call: CheckedCall,
): Promise<Task> {
  const scope = engine.scopeOf(request.tenant, call.auth)
  if (!wantsTrace(call)) return find(scope)
  try {
    return await withTrace(engine, await find(await seenScope(engine, scope, request, call)), call)
  } catch (thrown) {
    if (!mayExplain(call)) throw thrown
    const error = toReadError(thrown)
    const agent = await otherAgentOf(engine, scope, request.id, call)
    const place = { id: request.id, agent }
    const why = JSON.stringify(explainError(error, failureOf(error, withoutSecrets), place))
    throw new A2AError(error.code, error.message, {
      ...error.details,
      metadata: { ...error.details.metadata, why },
    })
  }

  async function find(own: Scope): Promise<Task> {
    const id = await knownTaskId((given) => engine.get(given, own), request.id, call)
    return trimHistory(await engine.get(id, own), request.historyLength)
  }
}

/** The scope of the task that is asked for: an operator who asks for the trace sees the tasks of all. */
async function seenScope(
  engine: Service['engine'],
  own: Scope,
  { id }: GetTaskRequest,
  call: CheckedCall,
): Promise<Scope> {
  if (!isOperator(call)) return own
  const { head } = (await engine.store.get(id, undefined, { light: true })) ?? {}
  if (head?.scope.agent !== own.agent) return own
  engine.logger.info({ operator: call.auth.userId, taskId: id }, 'An operator looked')
  return head.scope
}

/** Which other agent of this server has the task, for a caller who may use that agent. */
async function otherAgentOf(
  { store }: Service['engine'],
  own: Scope,
  id: string,
  { auth }: CheckedCall,
): Promise<string | undefined> {
  const stored = await store.get(id, undefined, { light: true }).catch(() => undefined)
  const agent = stored?.head.scope.agent
  return agent !== undefined && agent !== own.agent && reachesAgent(auth, agent) ? agent : undefined
}

/** The caller's tasks, newest status first (specification §3.1.4). */
async function listTasks(
  { engine }: Service,
  request: ListTasksRequest,
  call: CheckedCall,
): Promise<ListTasksResponse> {
  const { contextId, status, statusTimestampAfter, historyLength } = request
  const pageSize = request.pageSize ?? pageSizeIfAbsent
  const state = status === 'TASK_STATE_UNSPECIFIED' ? undefined : status
  const page = await engine.list({
    scope: engine.scopeOf(request.tenant, call.auth),
    limit: pageSize,
    maxBytes: maxPageBytes,
    artifacts: request.includeArtifacts ?? false,
    ...(contextId && { contextId }),
    ...(state && { state }),
    ...(statusTimestampAfter && { timestampAfter: statusTimestampAfter }),
    ...(request.pageToken && { cursor: fromPageToken(request.pageToken) }),
  })
  return {
    tasks: page.tasks.map(({ task }) =>
      withArtifacts(trimHistory(task, historyLength), request.includeArtifacts ?? false),
    ),
    nextPageToken: page.next ? toPageToken(page.next) : '',
    pageSize,
    totalSize: page.total,
  }
}

const pageSizeIfAbsent = 50

/** About so many bytes are in one page; its token leads to what follows. */
const maxPageBytes = 8 * 1024 * 1024

/** The key is absent unless asked for, and present, if empty, when asked for. */
function withArtifacts(task: Task, include: boolean): Task {
  if (include) return task.artifacts ? task : { ...task, artifacts: [] }
  const { artifacts: _, ...rest } = task
  return rest
}

/** A cursor as an opaque string: base64url of its timestamp and id. */
function toPageToken({ timestamp, id }: TaskCursor): string {
  const bytes = new TextEncoder().encode(`${timestamp}\n${id}`)
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** @throws A2AError `invalidParams` for what is no page token of ours. */
function fromPageToken(token: string): TaskCursor {
  try {
    const text = atob(token.replaceAll('-', '+').replaceAll('_', '/'))
    const decoded = new TextDecoder().decode(Uint8Array.from(text, (char) => char.charCodeAt(0)))
    const cut = decoded.indexOf('\n')
    if (cut > 0) return { timestamp: decoded.slice(0, cut), id: decoded.slice(cut + 1) }
  } catch {
    // Not base64: said below.
  }
  throw new A2AError('invalidParams', 'pageToken: is not a token of this server', {
    violations: [{ field: 'pageToken', description: 'is not a token of this server' }],
  })
}

/** Cancels a task (specification §3.1.5). */
async function cancelTask(
  { engine }: Service,
  request: CancelTaskRequest,
  call: CheckedCall,
): Promise<Task> {
  const scope = engine.scopeOf(request.tenant, call.auth)
  const id = await knownTaskId((given) => engine.get(given, scope), request.id, call)
  if (call.dialect === '0.3' || call.dialect === '0.3-rest')
    await mustBeCancelable(engine, id, scope)
  const task = await engine.cancel(id, scope)
  return wantsTrace(call) ? withTrace(engine, task, call) : task
}

/** In 1.0 a canceled task can be canceled again; in 0.3 it has ended like any other. */
async function mustBeCancelable(
  engine: Service['engine'],
  id: string,
  scope: Scope,
): Promise<void> {
  const { status } = await engine.get(id, scope)
  if (status.state === 'TASK_STATE_CANCELED') throw taskNotCancelable(id, status.state)
}

/** Watches a task from here on, or from `Last-Event-ID` (specification §3.1.6). */
async function subscribeToTask(
  { engine }: Service,
  request: SubscribeToTaskRequest,
  call: CheckedCall,
): Promise<EventStream> {
  const scope = engine.scopeOf(request.tenant, call.auth)
  return engine.subscribe(
    await knownTaskId((given) => engine.get(given, scope), request.id, call),
    scope,
    {
      trace: wantsTrace(call),
      explains: mayExplain(call),
      ...(call.lastEventId !== undefined && { lastEventId: call.lastEventId }),
    },
  )
}

/** Registers a webhook for what happens from now on; the same id again replaces it (specification §3.1.7). */
async function createPushConfig(
  service: Service,
  request: TaskPushNotificationConfig,
  call: CheckedCall,
): Promise<TaskPushNotificationConfig> {
  const { tenant, ...rest } = request
  const taskId = request.taskId ?? ''
  const { webhooks, scope } = await mustFind(service, { taskId, tenant }, call)
  webhooks.check(request, '')
  const id = request.id || newId()
  const config = { ...rest, id, taskId }
  const dialect = call.dialect ?? '1.0'
  const { events } = request
  const { agent } = scope
  const release = await webhooks.reserve(taskId, id)
  try {
    await webhooks.add({ taskId, id, config, dialect, agent, ...(events && { events }) })
  } finally {
    release()
  }
  return config
}

/** One webhook of a task (specification §3.1.8). Without an id, as 0.3 allows, its first. */
async function getPushConfig(
  service: Service,
  request: GetTaskPushNotificationConfigRequest,
  call: CheckedCall,
): Promise<TaskPushNotificationConfig> {
  const { webhooks } = await mustFind(service, request, call)
  const records = await webhooks.list(request.taskId)
  const found = request.id ? records.find(({ id }) => id === request.id) : records[0]
  if (!found)
    throw new A2AError('taskNotFound', `Push notification config not found: ${request.id}`, {
      metadata: { taskId: request.taskId },
    })
  return found.config
}

/** All webhooks of a task (specification §3.1.9). */
async function listPushConfigs(
  service: Service,
  request: ListTaskPushNotificationConfigsRequest,
  call: CheckedCall,
): Promise<ListTaskPushNotificationConfigsResponse> {
  const { webhooks } = await mustFind(service, request, call)
  const records = await webhooks.list(request.taskId)
  return { configs: records.map(({ config }) => config), nextPageToken: '' }
}

/** Removes a webhook for good; one that is not there is as good as removed (specification §3.1.10). */
async function deletePushConfig(
  service: Service,
  request: DeleteTaskPushNotificationConfigRequest,
  call: CheckedCall,
): Promise<null> {
  const { webhooks } = await mustFind(service, request, call)
  await webhooks.remove(request.taskId, request.id)
  return null
}

/** The webhooks, and the scope of the task if it is the caller's. */
async function mustFind(
  { engine, webhooks }: Service,
  request: { readonly taskId: string; readonly tenant?: string | undefined },
  call: CheckedCall,
): Promise<{ readonly webhooks: PushConfigs; readonly scope: Scope }> {
  if (!webhooks) throw noPushNotifications()
  const scope = engine.scopeOf(request.tenant, call.auth)
  await engine.get(request.taskId, scope)
  return { webhooks, scope }
}

/** The card for callers who have shown who they are (specification §3.1.11, §13.3). */
export async function getExtendedAgentCard(
  { agent }: Service,
  _request: unknown,
  call: CheckedCall,
): Promise<AgentCard> {
  if (!agent.extendedCard)
    throw new A2AError('extendedAgentCardNotConfigured', 'This agent has no extended card')
  if (call.auth.userId === '' && !agent.openExtendedCard)
    throw new A2AError('unauthenticated', 'The extended card is for authenticated callers', {
      challenge: 'Bearer',
    })
  return agent.extendedCard(call.auth, call.base)
}

/** A task of the caller's by its id. @throws A2AError `taskNotFound`. */
export type FindTask = (id: string) => Promise<Task>

/** The id of the task that a request means: as the wire gave it if there is such a task, else the request's own. */
export function knownTaskId(
  find: FindTask,
  id: string,
  { givenTaskId }: CheckedCall,
): string | Promise<string> {
  return givenTaskId === undefined
    ? id
    : exists(find, givenTaskId).then((is) => (is ? givenTaskId : id))
}

/** A send that continues the task which its caller means. */
export async function withKnownTask(
  find: FindTask,
  request: SendMessageRequest,
  call: CheckedCall,
): Promise<SendMessageRequest> {
  const { message } = request
  const taskId = await knownTaskId(find, message.taskId ?? '', call)
  return taskId === message.taskId ? request : { ...request, message: { ...message, taskId } }
}

async function exists(find: FindTask, id: string): Promise<boolean> {
  try {
    await find(id)
    return true
  } catch (error) {
    if (hasCode(error, 'taskNotFound')) return false
    throw error
  }
}

/** Whether the caller has activated the trace extension. */
function wantsTrace({ extensions }: CheckedCall): boolean {
  return extensions.includes(traceExtension)
}

/** A task with its whole trace in the metadata, oldest entry first, and for operators with why things failed. */
async function withTrace(engine: Service['engine'], task: Task, call: CheckedCall): Promise<Task> {
  const explains = mayExplain(call)
  const records = await engine.store.records(task.id, 0)
  const entries: JsonObject[] = records.flatMap((record) =>
    record.kind === 'trace'
      ? [{ seq: record.seq, at: record.at, ...toShownEntry(record, explains) }]
      : [],
  )
  const metadata = { ...task.metadata, [traceExtension]: entries }
  if (!explains) return { ...task, metadata }
  const why = await explainStored(engine.store, task, records)
  return { ...task, metadata: { ...metadata, ...(why.length > 0 && { [whyExtension]: why }) } }
}

/** A task with at most `length` of its latest messages; none leaves the field out (specification §3.2.4). */
export function trimHistory(task: Task, length: number | undefined): Task {
  if (length === undefined || !task.history || task.history.length <= length) return task
  const { history, ...rest } = task
  return length === 0 ? rest : { ...rest, history: history.slice(-length) }
}

/** A stream whose tasks have at most `length` of their latest messages. */
export function trimStream(stream: EventStream, length: number): EventStream {
  return {
    [Symbol.asyncIterator]() {
      const source = stream[Symbol.asyncIterator]()
      return {
        async next() {
          const batch = await source.next()
          return batch.done
            ? batch
            : { done: false, value: batch.value.map((item) => trim(item, length)) }
        },
        async return() {
          await source.return?.()
          return { done: true, value: undefined }
        },
      }
    },
  }
}

function trim(item: Sequenced, length: number): Sequenced {
  if (!('task' in item.event)) return item
  return { ...item, event: { task: trimHistory(item.event.task, length) } }
}
