import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { isPostgresUrl } from '../../store/index.ts'
import { addCommand, exits } from '../command.ts'
import { addExamples, beginExample } from '../demo/examples.ts'
import { createStudio } from '../demo/studio.ts'
import { addServeOptions, type ServeFlags, serveUntilStopped } from './serve.ts'

/** The team of the demo: a file of the package. */
const team = fileURLToPath(new URL('../../../examples/fantasy/corral.toml', import.meta.url))

/** Adds `corral demo`. */
export function addDemoCommand(program: Command): void {
  const command = addCommand(program, {
    usage: 'demo',
    description: 'serve a story writing team and a studio to watch, offline and without keys',
    examples: ['corral demo', 'corral demo --port 8080 --store memory'],
  })
  addServeOptions(command)
    .option('--store <memory|path|url>', 'where tasks are kept', '.corral/demo.db')
    .action(exits(demo))
}

/** Examples are for a store that is new: whoever has used the demo finds it as he left it. */
async function demo(flags: ServeFlags): Promise<number> {
  const { store = 'memory' } = flags
  const isNew = store === 'memory' || !(isPostgresUrl(store) || existsSync(store))
  return serveUntilStopped(team, flags, {
    agents: [createStudio()],
    // A card that is being made is taken up again at the next start.
    shutdownMs: 1_000,
    async prepare({ server }) {
      if (isNew) await addExamples(server.store)
    },
    async ready({ server }) {
      if (isNew) await beginExample(server)
    },
  })
}
