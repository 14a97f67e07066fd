import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { built } from '../support/built.ts'

/** What one run of a command gave. */
interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** What a run of a command is given. */
interface Run {
  readonly args: readonly string[]
  readonly cwd: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
}

/** A process that runs commands, one at a time. It ends with this one, or when a command ends it. */
export class CommandHost {
  #child: Promise<ChildProcess> | undefined
  #isBusy = false

  /** Whether it can run a command now. */
  get isFree(): boolean {
    return !this.#isBusy
  }

  async run(run: Run): Promise<Ran> {
    this.#isBusy = true
    try {
      this.#child ??= this.#start()
      return await runIn(await this.#child, run)
    } finally {
      this.#isBusy = false
    }
  }

  async #start(): Promise<ChildProcess> {
    const script = fileURLToPath(new URL('./host-process.mjs', import.meta.url))
    const stdio = ['ignore', 'pipe', 'pipe', 'ipc'] as const
    const child = fork(script, [built('cli/program.js').href], { stdio: [...stdio], execArgv: [] })
    child.once('exit', () => {
      this.#child = undefined
    })
    await once(child, 'message')
    // Between its runs it holds nobody up.
    child.unref()
    child.channel?.unref()
    return child
  }
}

/** How the end of a run is told: on stdout with its code. */
const end = { stdout: /\0(\d+)\0$/, stderr: /\0$/ }

async function runIn(child: ChildProcess, run: Run): Promise<Ran> {
  const { stdout, stderr } = child
  if (!stdout || !stderr) throw new Error('the host has no pipes')
  child.ref()
  let ended: number | null | undefined
  const text = { stdout: '', stderr: '' }
  await new Promise<void>((resolve) => {
    const leave = (code: number | null): void => {
      ended = code
      resolve()
    }
    const hear = (name: 'stdout' | 'stderr') => (chunk: Buffer) => {
      text[name] += chunk
      if (end.stdout.test(text.stdout) && end.stderr.test(text.stderr)) resolve()
    }
    stdout.removeAllListeners('data').on('data', hear('stdout'))
    stderr.removeAllListeners('data').on('data', hear('stderr'))
    child.removeAllListeners('close').once('close', leave)
    child.send({ ...run, env: { ...run.env } })
  })
  child.unref()
  const code = ended === undefined ? Number(end.stdout.exec(text.stdout)?.[1]) : ended
  return {
    code,
    stdout: text.stdout.replace(end.stdout, ''),
    stderr: text.stderr.replace(end.stderr, ''),
  }
}
