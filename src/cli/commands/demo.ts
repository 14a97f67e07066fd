import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { addCommand, exits } from '../command.ts'
import { addServeOptions, type ServeFlags, serveUntilStopped } from './serve.ts'

/** The team of the demo: a file of the package. */
const team = fileURLToPath(new URL('../../../examples/fantasy/corral.toml', import.meta.url))

/** Adds `corral demo`. */
export function addDemoCommand(program: Command): void {
  const command = addCommand(program, {
    usage: 'demo',
    description: 'serve a story writing team, offline and without keys',
    examples: ['corral demo', 'corral demo --port 8080 --store memory'],
  })
  addServeOptions(command)
    .option('--store <memory|path|url>', 'where tasks are kept', '.corral/demo.db')
    .action(exits((flags: ServeFlags) => serveUntilStopped(team, flags)))
}
