import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { freePort } from '../../test/support/port.ts'

/** The two that are compared. */
export const sides = ['corral', 'peer'] as const
export type Side = (typeof sides)[number]

/** A folder in which both were installed as their users do. */
export interface Place {
  readonly folder: string
  /** Where a side was installed. */
  home(side: Side): string
}

/** A server of one side, in a process of its own. */
export interface Running {
  readonly side: Side
  readonly url: string
  /** Where HTTP+JSON answers. */
  readonly rest: string
  /** Ends it at once, as `kill -9` does. */
  kill(): Promise<void>
}

const running = new Set<ChildProcess>()

/** Starts the server of a side, with these variables, on a port that was free. */
export async function start(
  place: Place,
  side: Side,
  env: Readonly<Record<string, string>> = {},
): Promise<Running> {
  const port = env.PORT ?? String(await freePort())
  const child = spawn(process.execPath, [`${side}.mjs`], {
    cwd: place.home(side),
    env: { ...process.env, ...env, PORT: port },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  await listening(child)
  const url = `http://127.0.0.1:${port}`
  return {
    side,
    url,
    rest: side === 'peer' ? `${url}/rest` : url,
    async kill() {
      if (!running.delete(child)) return
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** Ends all that still runs. */
export function killAll(): void {
  for (const child of running) child.kill('SIGKILL')
}

/** A path below the place that nothing else uses. */
export function fresh(place: Place, name: string): string {
  return join(place.folder, `${crypto.randomUUID()}-${name}`)
}

/** Waits until a server says that it listens. */
function listening(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = ''
    const hear = (chunk: Buffer): void => {
      output += chunk
      if (output.includes('listens at')) resolve()
    }
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
    child.once('exit', () => reject(new Error(`The server did not start:\n${output}`)))
  })
}
