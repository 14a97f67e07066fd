import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { type DriverName, openConnection } from './driver.ts'

/** Where a backup comes from and goes to. */
export interface BackupRequest {
  readonly path: string
  readonly target: string
  readonly driver: DriverName | undefined
}

/**
 * Copies a store's file as it is at this moment, while others go on writing it. The copy appears under its name only
 * when it is whole and on the disk; a file already there is replaced.
 *
 * @throws Error if the copy would replace the store itself.
 */
export async function backUp({ path, target, driver }: BackupRequest): Promise<void> {
  if (existsSync(target) && realpathSync(target) === realpathSync(path))
    throw new Error('the copy would replace the store itself')
  const partial = `${target}.partial`
  rmSync(partial, { force: true })
  const db = await openConnection(path, driver)
  try {
    db.prepare('VACUUM INTO ?').run(partial)
    // It carries the credentials of webhooks, as the store does.
    chmodSync(partial, 0o600)
    sync(partial)
    renameSync(partial, target)
  } finally {
    db.close()
    rmSync(partial, { force: true })
  }
}

function sync(path: string): void {
  const file = openSync(path, 'r+')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
