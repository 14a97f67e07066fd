import { soon } from '../../shared/async.ts'
import type { Logger } from '../../shared/log.ts'
import { databaseReason } from './faults.ts'
import { insist, type Patience } from './insist.ts'
import type { Names } from './names.ts'
import type { Readers } from './readers.ts'

/** What wakes others that deliver webhooks. */
interface WakeParts extends Patience {
  readonly names: Names
  readonly readers: Readers
  readonly logger: Logger
  /** The number of this process's registration. */
  replica(): number
}

/** Wakes the other replicas that deliver a task's webhooks; those of one tick with one statement. */
export function createWake(parts: WakeParts): (taskId: string) => void {
  const { schema, channel } = parts.names
  const text = `SELECT pg_notify('${channel}_' || replica, json_build_object('deliveries', task_id)::text)
    FROM (SELECT DISTINCT task_id, replica FROM ${schema}.push
      WHERE task_id = ANY($1) AND replica <> $2 AND replica <> 0) others`
  let pending = new Set<string>()

  function flush(): void {
    const values = [[...pending], parts.replica()]
    pending = new Set()
    insist(parts, () => parts.readers.run({ name: 'wake', text, values })).catch(
      (error: unknown) => {
        const reason = databaseReason(error)
        parts.logger.warn({ reason }, 'Other replicas could not be told of deliveries')
      },
    )
  }

  return (taskId) => {
    if (pending.size === 0) soon(flush)
    pending.add(taskId)
  }
}
