/**
 * The terminal of somebody who follows a page: commands run one after another, each in a group of processes of its own,
 * and folder and variables stay as the command before left them.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** What became of a command. */
export interface Ran {
  /** Its exit code; null where it had to be killed. */
  readonly status: number | null
  /** What it printed to both streams, in the order of a terminal. */
  readonly output: string
}

/** A command that goes on. */
export interface Running {
  /** The number of its group of processes. */
  readonly group: number
  readonly output: string
  readonly hasEnded: boolean
  readonly ended: Promise<Ran>
}

/** A terminal. */
export interface Shell {
  /** Where it stands now. */
  folder(): string
  /** Starts a command. */
  start(command: string): Running
  /** Runs a command to its end, or kills it after this time. */
  run(command: string, maxMs: number): Promise<Ran>
  /** Ends all that still runs, as Ctrl-C does, and by force what does not go within this time. */
  stop(maxMs: number): Promise<void>
  /** Kills all that still runs, at once. */
  kill(): void
}

/** What a shell is made of. */
export interface ShellOptions {
  readonly folder: string
  /** Where it keeps folder and variables between commands. */
  readonly stateFolder: string
  readonly env: Readonly<Record<string, string>>
}

/** Arguments: the state's folder, the command. Read-only variables are the shell's own and cannot be set again. */
const script = `
exec 2>&1 </dev/null
cd "$(cat "$1/folder")"
. "$1/variables" 2>/dev/null
eval "$2"
set -- "$1" $?
declare -p | grep -v '^declare -[a-zA-Z]*r' >"$1/variables"
pwd >"$1/folder"
exit $2`

/** Opens a shell. */
export function openShell({ folder, stateFolder, env }: ShellOptions): Shell {
  mkdirSync(stateFolder, { recursive: true })
  writeFileSync(join(stateFolder, 'folder'), folder)
  writeFileSync(join(stateFolder, 'variables'), '')
  const groups = new Set<number>()

  const start = (command: string): Running => {
    const child = spawn('bash', ['-c', script, 'bash', stateFolder, command], {
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    if (child.pid !== undefined) groups.add(child.pid)
    return watch(child)
  }

  const kill = (): void => {
    for (const group of groups) signal(group, 'SIGKILL')
    groups.clear()
  }

  return {
    folder: () => readFileSync(join(stateFolder, 'folder'), 'utf8').trim(),
    start,
    async run(command, maxMs) {
      const { ended } = start(command)
      const timer = new AbortController()
      const late = delay(maxMs, undefined, { signal: timer.signal }).then(kill, () => {})
      const ran = await Promise.race([ended, late.then(() => ended)])
      timer.abort()
      return ran
    },
    async stop(maxMs) {
      for (const group of groups) signal(group, 'SIGINT')
      const until = Date.now() + maxMs
      while ([...groups].some(isAlive) && Date.now() < until) await delay(20)
      kill()
    },
    kill,
  }
}

function watch(child: ChildProcess): Running {
  let output = ''
  let hasEnded = false
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const ended = new Promise<Ran>((resolve) =>
    child.once('exit', async (status) => {
      // What it left behind in the background may hold its output open.
      await Promise.race([closed, delay(500, undefined, { ref: false })])
      hasEnded = true
      resolve({ status, output })
    }),
  )
  return {
    group: child.pid ?? 0,
    get output() {
      return output
    },
    get hasEnded() {
      return hasEnded
    },
    ended,
  }
}

function signal(group: number, name: NodeJS.Signals): void {
  try {
    process.kill(-group, name)
  } catch {
    // All of it has ended.
  }
}

function isAlive(group: number): boolean {
  try {
    return process.kill(-group, 0)
  } catch {
    return false
  }
}
