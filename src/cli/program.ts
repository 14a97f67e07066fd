import { inspect } from 'node:util'
import { Command, CommanderError } from 'commander'
import { toPrintable, toPrintableLine } from '../shared/text.ts'
import { leaveWithReader, stderr, stdout } from './screen.ts'

/** Adds a command to the program. */
type AddCommand = (program: Command) => void

interface Entry {
  readonly words: string
  load(): Promise<AddCommand>
}

/** The commands. A command's module, and all that it stands on, is loaded when it runs. */
const commands: Readonly<Record<string, Entry>> = {
  serve: {
    words: 'serve the teams and agents of a file',
    load: async () => (await import('./commands/serve.ts')).addServeCommand,
  },
  demo: {
    words: 'serve two teams to try, offline and without keys',
    load: async () => (await import('./commands/demo.ts')).addDemoCommand,
  },
  console: {
    words: 'show the console of a server, or serve one for an agent',
    load: async () => (await import('./commands/console.ts')).addConsoleCommand,
  },
  init: {
    words: 'write a file to begin with',
    load: async () => (await import('./commands/init.ts')).addInitCommand,
  },
  validate: {
    words: 'check a file, with line and column of every problem',
    load: async () => (await import('./commands/validate.ts')).addValidateCommand,
  },
  card: {
    words: 'show the card of an agent',
    load: async () => (await import('./commands/send.ts')).addCardCommand,
  },
  send: {
    words: 'send a message to an agent and show the answer',
    load: async () => (await import('./commands/send.ts')).addSendCommand,
  },
  chat: {
    words: 'talk with an agent',
    load: async () => (await import('./commands/chat.ts')).addChatCommand,
  },
  task: {
    words: 'look at tasks, follow and cancel them, say why they failed',
    load: async () => (await import('./commands/task.ts')).addTaskCommand,
  },
  mcp: {
    words: 'offer the teams and agents of a file as MCP tools over stdio',
    load: async () => (await import('./commands/serve.ts')).addMcpCommand,
  },
  eval: {
    words: 'measure how well an A2A agent does its job',
    load: async () => (await import('./commands/eval.ts')).addEvalCommand,
  },
  store: {
    words: 'look into a task store, prune it, migrate it, copy it',
    load: async () => (await import('./commands/store.ts')).addStoreCommand,
  },
  cluster: {
    words: 'look at the replicas that share a PostgreSQL database',
    load: async () => (await import('./commands/cluster.ts')).addClusterCommand,
  },
  backup: {
    words: 'copy a task store, also while a server uses it',
    load: async () => (await import('./commands/store.ts')).addBackupCommand,
  },
  webhooks: {
    words: 'list and redrive webhook deliveries that were given up',
    load: async () => (await import('./commands/webhooks.ts')).addWebhooksCommand,
  },
}

const examples = `
Examples:
  corral demo                                  a team to try, at http://localhost:3000
  corral chat http://localhost:3000            talk with it
  corral serve team.toml --watch               serve your own, and take over changes

Exit codes: 0 done, 1 what was asked for failed, 2 it could not be tried.`

/** Runs the command that the arguments name, to its exit code. */
export async function run(args: readonly string[]): Promise<number> {
  if (args.includes('--no-color')) process.env.NO_COLOR = '1'
  leaveWithReader()
  tellUncaught()
  hushExperiments()
  const program = new Command('corral')
    .description('Gather agents into teams, serve them over A2A, call and measure any A2A agent.')
    .option('-V, --version', 'show the version')
    .addHelpText('after', examples)
    .showHelpAfterError('Run it with --help to see how it is used.')
    .configureOutput({ writeOut: stdout.write, writeErr: stderr.write })
    .exitOverride()
  try {
    await addCommands(program, args)
    if (args.length === 0) program.outputHelp()
    else await program.parseAsync(args, { from: 'user' })
    return Number(process.exitCode ?? 0)
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const { exitCodeOf, reportError } = await import('./errors.ts')
    reportError(error, { json: args.includes('--json'), debug: args.includes('--debug') })
    return exitCodeOf(error)
  }
}

/** Only the command that is asked for; all of them by name where none is, for the help and for suggestions. */
async function addCommands(program: Command, args: readonly string[]): Promise<void> {
  const [first = '', second = ''] = args.filter((arg) => !arg.startsWith('-'))
  const entry = Object.hasOwn(commands, first) ? commands[first] : undefined
  const asked = first === 'help' && Object.hasOwn(commands, second) ? commands[second] : entry
  if (asked) return (await asked.load())(program)
  for (const [name, { words }] of Object.entries(commands)) program.command(name).description(words)
}

/** What nobody caught ends the process as Node would end it; its words may be a stranger's like any others. */
function tellUncaught(): void {
  process.on('uncaughtException', (thrown) => {
    stderr.write(`${inspect(thrown)}\n`)
    process.exit(1)
  })
}

/** Node 22 tells at every start that its SQLite is an experiment, which nobody at a terminal can do anything about. */
function hushExperiments(): void {
  const [print] = process.listeners('warning')
  process.removeAllListeners('warning')
  process.on('warning', (warning) => {
    if (warning.name !== 'ExperimentalWarning') print?.(toPrintableWarning(warning))
  })
}

function toPrintableWarning(warning: Error): Error {
  const { message, stack = '' } = warning
  const words = {
    message: { value: toPrintableLine(message) },
    stack: { value: toPrintable(stack) },
  }
  return Object.create(warning, words)
}
