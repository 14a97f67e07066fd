import { renameSync, rmSync } from 'node:fs'
import { type DriverName, openConnection } from './driver.ts'

/** Where a backup comes from and goes to. */
export interface BackupRequest {
  readonly path: string
  readonly target: string
  readonly driver: DriverName | undefined
}

/**
 * Copies a store's file as it is at this moment, while others go on writing it. The copy appears under its name only
 * when it is whole; a file already there is replaced.
 */
export async function backUp({ path, target, driver }: BackupRequest): Promise<void> {
  const partial = `${target}.partial`
  rmSync(partial, { force: true })
  const db = await openConnection(path, driver)
  try {
    db.prepare('VACUUM INTO ?').run(partial)
    renameSync(partial, target)
  } finally {
    db.close()
    rmSync(partial, { force: true })
  }
}
