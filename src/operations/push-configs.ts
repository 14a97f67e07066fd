import { A2AError } from '../protocol/errors.ts'
import type {
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  TaskPushNotificationConfig,
} from '../protocol/types.ts'
import { newId } from '../shared/ids.ts'
import type { Scope } from '../store/store.ts'
import type { CheckedCall } from './gate.ts'
import type { PushConfigs, Service } from './service.ts'

/** Registers a webhook for what happens from now on; the same id again replaces it (specification §3.1.7). */
export async function createPushConfig(
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
export async function getPushConfig(
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
export async function listPushConfigs(
  service: Service,
  request: ListTaskPushNotificationConfigsRequest,
  call: CheckedCall,
): Promise<ListTaskPushNotificationConfigsResponse> {
  const { webhooks } = await mustFind(service, request, call)
  const records = await webhooks.list(request.taskId)
  return { configs: records.map(({ config }) => config), nextPageToken: '' }
}

/** Removes a webhook for good; one that is not there is as good as removed (specification §3.1.10). */
export async function deletePushConfig(
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
  if (!webhooks)
    throw new A2AError('pushNotificationNotSupported', 'This agent has no pushNotifications')
  const scope = engine.scopeOf(request.tenant, call.auth)
  await engine.get(request.taskId, scope)
  return { webhooks, scope }
}
