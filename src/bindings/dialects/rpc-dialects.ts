import type { DialectName } from '../../protocol/operations.ts'
import { isTerminal } from '../../protocol/task.ts'
import type { StreamResponse, Task } from '../../protocol/types.ts'
import type { Dialect } from './dialect.ts'
import { ranch, toRanchTask } from './ranch.ts'
import { toTask03, v03 } from './v03.ts'
import { rc, v10 } from './v10.ts'

/** The dialects of JSON-RPC by name. */
export const rpcDialects: Readonly<Record<RpcDialectName, Dialect>> = {
  '1.0': v10,
  '0.3': v03,
  '1.0-rc': rc,
  ranch,
}

/** A dialect that JSON-RPC can speak. */
export type RpcDialectName = Exclude<DialectName, '0.3-rest'>

/** The webhook that an event is written for. */
interface WebhookAddress {
  /** The wire in which the webhook was registered. */
  readonly dialect: DialectName
  readonly agent: string
}

/**
 * An event as the webhook's own dialect writes it: 1.0 and its release candidate the StreamResponse, 0.3 the
 * whole task, on either binding the one of JSON-RPC, RANCH `{ event, task, timestamp, agentId }`. `task` is the task
 * with this event in it.
 */
export function encodeWebhook(
  { dialect, agent }: WebhookAddress,
  event: StreamResponse,
  task: Task,
): { readonly contentType: string; readonly body: string } {
  if (dialect === '1.0' || dialect === '1.0-rc')
    return { contentType: 'application/a2a+json', body: JSON.stringify(event) }
  const shown = dialect === 'ranch' ? toRanchNotice(event, task, agent) : toTask03(task)
  return { contentType: 'application/json', body: JSON.stringify(shown) }
}

function toRanchNotice(event: StreamResponse, task: Task, agentId: string): object {
  return {
    event: ranchEventName(event, task),
    task: toRanchTask(task),
    timestamp: task.status.timestamp,
    agentId,
  }
}

function ranchEventName(event: StreamResponse, { status }: Task): string {
  if ('artifactUpdate' in event) return 'artifactAdded'
  if (!isTerminal(status.state)) return 'statusChanged'
  if (status.state === 'TASK_STATE_COMPLETED') return 'completed'
  return status.state === 'TASK_STATE_CANCELED' ? 'cancelled' : 'failed'
}
