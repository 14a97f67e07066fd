import type { Command } from 'commander'
import { backupSqliteStore, isPostgresUrl } from '../../store/index.ts'
import { addCommand, exits } from '../command.ts'
import { stdout } from '../screen.ts'
import { mustDumpInstead } from '../store-place.ts'

/** Adds `corral backup`. */
export function addBackupCommand(program: Command): void {
  addCommand(program, {
    usage: 'backup <store> <target>',
    description: 'copy a task store as it is at this moment, also while a server uses it',
    examples: ['corral backup .corral/tasks.db backups/tasks.db'],
  }).action(exits(backupCommand))
}

async function backupCommand(
  store: string,
  target: string,
  { json }: { readonly json?: boolean },
): Promise<number> {
  if (isPostgresUrl(store)) mustDumpInstead(store, target)
  await backupSqliteStore(store, target)
  stdout.write(
    json ? `${JSON.stringify({ store, target })}\n` : `${store} is copied to ${target}\n`,
  )
  return 0
}
