import { A2AError } from '../protocol/errors.ts'
import type {
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  TaskPushNotificationConfig,
} from '../protocol/types.ts'
import { newId } from '../shared/ids.ts'
import type { CheckedCall } from './gate.ts'
import type { Service } from './service.ts'

/** Registers a webhook for what happens from now on; the same id again replaces it (specification §3.1.7). */
export async function createPushConfig(
  service: Service,
  request: TaskPushNotificationConfig,
  call: CheckedCall,
): Promise<TaskPushNotificationConfig> {
  const { tenant, ...rest } = request
  const taskId = request.taskId ?? ''
  const scope = await mustFind(service, { taskId, tenant }, call)
  service.webhooks.check(request, '')
  const id = request.id || newId()
  const config = { ...rest, id, taskId }
  const stored = await service.store.get(taskId)
  const cursor = stored?.version ?? 0
  const dialect = call.dialect ?? '1.0'
  const { events } = request
  const { agent } = scope
  const record = { taskId, id, config, dialect, cursor, agent, ...(events && { events }) }
  await service.write([{ type: 'pushConfig', record }])
  service.webhooks.watch(taskId)
  return config
}

/** One webhook of a task (specification §3.1.8). Without an id, as 0.3 allows, its first. */
export async function getPushConfig(
  service: Service,
  request: GetTaskPushNotificationConfigRequest,
  call: CheckedCall,
): Promise<TaskPushNotificationConfig> {
  await mustFind(service, request, call)
  const records = await service.store.pushConfigs(request.taskId)
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
  await mustFind(service, request, call)
  const records = await service.store.pushConfigs(request.taskId)
  return { configs: records.map(({ config }) => config), nextPageToken: '' }
}

/** Removes a webhook for good; one that is not there is as good as removed (specification §3.1.10). */
export async function deletePushConfig(
  service: Service,
  request: DeleteTaskPushNotificationConfigRequest,
  call: CheckedCall,
): Promise<null> {
  await mustFind(service, request, call)
  const { taskId, id } = request
  service.webhooks.forget(taskId, id)
  await service.write([{ type: 'deletePushConfig', taskId, id }])
  // An event that was stored in between may have woken it once more, while it was still there.
  service.webhooks.forget(taskId, id)
  return null
}

/** The scope of the task, if it is the caller's. */
async function mustFind(
  { engine }: Service,
  request: { readonly taskId: string; readonly tenant?: string | undefined },
  call: CheckedCall,
): Promise<ReturnType<typeof engine.scopeOf>> {
  const scope = engine.scopeOf(request.tenant, call.auth)
  await engine.get(request.taskId, scope)
  return scope
}
