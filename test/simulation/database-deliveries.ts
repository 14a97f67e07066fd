import type { PushConfigRecord, Write, WriteResult } from '../../src/store/store.ts'
import { type Database, isLiving, notify } from './database.ts'

/** Who delivers a webhook stands under this. */
export function deliveryKey(taskId: string, id: string): string {
  return `${taskId.length}:${taskId}${id}`
}

/** Moves a cursor, unless another replica delivers; what has seen all of its task is nobody's. */
export async function writeCursor(
  { memory, deliverers }: Database,
  me: number,
  write: Extract<Write, { type: 'cursor' }>,
): Promise<WriteResult> {
  const key = deliveryKey(write.taskId, write.id)
  const deliverer = deliverers.get(key)
  const version = (await memory.get(write.taskId))?.version ?? 0
  if (deliverer !== undefined && deliverer !== me) return { conflict: version }
  const [result = { conflict: 0 }] = await memory.commit([write])
  if (!('version' in result)) return result
  if (write.cursor >= version) deliverers.delete(key)
  else deliverers.set(key, me)
  return result
}

/** Webhooks that are behind and that no other living replica has become this one's. */
export async function claimDeliveries(
  database: Database,
  me: number,
  taskId: string | undefined,
): Promise<readonly PushConfigRecord[]> {
  const { memory, deliverers } = database
  const mine: PushConfigRecord[] = []
  for (const config of await memory.claimDeliveries(taskId)) {
    const key = deliveryKey(config.taskId, config.id)
    const deliverer = deliverers.get(key)
    const isDead = deliverer === undefined || !isLiving(database, deliverer)
    const isLeft = isDead && !(deliverer && database.bugs.has('deliveries-of-the-dead'))
    if (deliverer !== me && !isLeft) continue
    deliverers.set(key, me)
    mine.push(config)
  }
  return mine
}

/** Tells the other living replicas that deliver a task's webhooks. */
export async function wakeDeliveries(
  database: Database,
  me: number,
  taskId: string,
): Promise<void> {
  for (const { id } of await database.memory.pushConfigs(taskId)) {
    const deliverer = database.deliverers.get(deliveryKey(taskId, id))
    if (deliverer !== undefined && deliverer !== me)
      notify(database, deliverer, { kind: 'deliveries', taskId })
  }
}

/** Tells the replica that runs a task of a change of its webhooks. */
export function wakeRunner(database: Database, me: number, taskId: string): void {
  const replica = database.rows.get(taskId)?.replica
  if (replica !== undefined && replica !== me)
    notify(database, replica, { kind: 'deliveries', taskId })
}
