import type { EventStream } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import type {
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  ListTasksResponse,
  SubscribeToTaskRequest,
  Task,
} from '../protocol/types.ts'
import type { Scope } from '../store/store.ts'
import type { CheckedCall } from './gate.ts'
import { trimHistory } from './history.ts'
import { knownTaskId } from './known-task.ts'
import { fromPageToken, toPageToken } from './page-token.ts'
import type { Service } from './service.ts'
import { wantsTrace, withTrace } from './trace.ts'

const pageSizeIfAbsent = 50

/** About so many bytes are in one page; its token leads to what follows. */
const maxPageBytes = 8 * 1024 * 1024

/** A task as it is now (specification §3.1.3). */
export async function getTask(
  { engine }: Service,
  request: GetTaskRequest,
  call: CheckedCall,
): Promise<Task> {
  const scope = engine.scopeOf(request.tenant, call.auth)
  const id = await knownTaskId((given) => engine.get(given, scope), request.id, call)
  const task = trimHistory(await engine.get(id, scope), request.historyLength)
  return wantsTrace(call) ? withTrace(engine, task) : task
}

/** The caller's tasks, newest status first (specification §3.1.4). */
export async function listTasks(
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

/** Cancels a task (specification §3.1.5). */
export async function cancelTask(
  { engine }: Service,
  request: CancelTaskRequest,
  call: CheckedCall,
): Promise<Task> {
  const scope = engine.scopeOf(request.tenant, call.auth)
  const id = await knownTaskId((given) => engine.get(given, scope), request.id, call)
  if (call.dialect === '0.3' || call.dialect === '0.3-rest')
    await mustBeCancelable(engine, id, scope)
  const task = await engine.cancel(id, scope)
  return wantsTrace(call) ? withTrace(engine, task) : task
}

/** In 1.0 a canceled task can be canceled again; in 0.3 it has ended like any other. */
async function mustBeCancelable(
  engine: Service['engine'],
  id: string,
  scope: Scope,
): Promise<void> {
  const { status } = await engine.get(id, scope)
  if (status.state === 'TASK_STATE_CANCELED')
    throw new A2AError('taskNotCancelable', `Task ${id} is ${status.state}`, {
      metadata: { taskId: id },
    })
}

/** Watches a task from here on, or from `Last-Event-ID` (specification §3.1.6). */
export async function subscribeToTask(
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
      ...(call.lastEventId !== undefined && { lastEventId: call.lastEventId }),
    },
  )
}

/** The key is absent unless asked for, and present, if empty, when asked for. */
function withArtifacts(task: Task, include: boolean): Task {
  if (include) return task.artifacts ? task : { ...task, artifacts: [] }
  const { artifacts: _, ...rest } = task
  return rest
}
