import { spawnSync } from 'node:child_process'
import { main, type Started, type StartOptions, startProcess } from './corral.ts'

/** What gives a process a pseudo-terminal, by the first of these that is installed. */
const drivers: Readonly<Record<string, (command: readonly string[]) => readonly string[]>> = {
  // A shell that stays as the parent would take the terminal's Ctrl-C too, and its exit code would be the answer.
  script: (command) => ['-qfec', `exec ${command.map(quoted).join(' ')}`, '/dev/null'],
  python3: (command) => [
    '-c',
    'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))',
    ...command,
  ],
}

const driver = Object.keys(drivers).find((name) => {
  return spawnSync(name, ['--version'], { stdio: 'ignore' }).error === undefined
})

/** Whether this machine can make a pseudo-terminal; says so where it cannot. */
export const hasTerminal: boolean = driver !== undefined
if (!hasTerminal) console.warn('No pseudo-terminal: neither script nor python3 is installed')

/** How wide and how high a terminal is. */
export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

/** Starts the command in a real pseudo-terminal, as before a person; what it writes to either stream is the terminal's output. */
export function startInTerminal(
  args: readonly string[],
  options: StartOptions & { readonly size?: TerminalSize } = {},
): Started {
  const { columns, rows } = options.size ?? { columns: 80, rows: 24 }
  const resize = `stty cols ${columns} rows ${rows}; exec "$@"`
  const command = ['sh', '-c', resize, 'sh', process.execPath, main, ...args]
  const toArguments = drivers[driver ?? '']
  if (!driver || !toArguments) throw new Error('There is no pseudo-terminal')
  // Where tests run in a pipeline, the command would take the terminal for the pipeline's.
  const env = { CI: undefined, ...options.env }
  return startProcess(driver, toArguments(command), { ...options, env })
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
