import { existsSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { A2AError } from '../../protocol/errors.ts'
import type { DeadLetter } from '../store.ts'
import { openConnection } from './driver.ts'
import { reasonOf, toFault } from './faults.ts'
import { lookAt } from './look.ts'
import { createPushQueries } from './queries.ts'
import { startThread } from './thread.ts'

/**
 * Copies a store's file as it is at this moment, also while a server writes it. The copy appears under its name only
 * when it is whole; a file already there is replaced.
 *
 * @throws A2AError `unavailable` that names the file and the reason.
 */
export async function backupSqliteStore(path: string, target: string): Promise<void> {
  mustBeStore(path)
  if (!existsSync(dirname(target)))
    throw new A2AError('unavailable', `There is no directory ${dirname(target)}`)
  if (existsSync(target) && realpathSync(target) === realpathSync(path))
    throw new A2AError('unavailable', `${target} is the task store itself`)
  const first = await startThread({ type: 'backup', path, target, driver: undefined }).first
  if ('fault' in first)
    throw new A2AError(
      'unavailable',
      `Cannot back up the task store ${path}: ${reasonOf(first.fault)}`,
    )
}

/**
 * Lists the webhook deliveries that were given up, newest first, also while a server writes the file.
 * @throws A2AError `unavailable` that names the file and the reason.
 */
export async function readDeadLetters(path: string): Promise<readonly DeadLetter[]> {
  mustBeStore(path)
  const db = await openConnection(path)
  try {
    db.exec('PRAGMA query_only = ON')
    return createPushQueries(db).deadLetters()
  } finally {
    db.close()
  }
}

/**
 * Opening a file that is not there would make one, and opening another program's could change it.
 * @throws A2AError `unavailable` that names the file.
 */
export function mustBeStore(path: string): void {
  if (!existsSync(path) || !statSync(path).isFile())
    throw new A2AError('unavailable', `There is no task store ${path}`)
  try {
    if (lookAt(path).isNew) throw new Error('the file is empty')
  } catch (error) {
    throw new A2AError('unavailable', `${path} is no task store: ${reasonOf(toFault(error))}`, {
      cause: error,
    })
  }
}
