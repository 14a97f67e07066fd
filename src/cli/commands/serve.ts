import type { Command } from 'commander'
import { addCommand, exits } from '../command.ts'
import { addServeOptions, type ServeFlags, serveUntilStopped } from '../serving.ts'

/** Adds `corral serve`. */
export function addServeCommand(program: Command): void {
  const command = addCommand(program, {
    usage: 'serve <file>',
    description:
      'serve the teams and agents of a file: the first team at the root, all of them under /agents/{id}',
    examples: [
      'corral serve team.toml',
      'corral serve team.toml --port 8080 --watch',
      'corral serve team.toml --store /var/lib/corral/tasks.db --log-level warn',
    ],
  })
  addServeOptions(command)
    .option('--store <memory|path>', 'where tasks are kept (default: .corral/tasks.db)')
    .option('--team <id>', "the team or agent at the root (default: the file's first team)")
    .option('--watch', 'take over changes of the file and of its modules')
    .action(exits((file: string, flags: ServeFlags) => serveUntilStopped(file, flags)))
}
