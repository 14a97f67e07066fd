import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A file of the benchmark in a process of its own, talked to by messages. */
export interface Child {
  /** Its first message: it is ready, and what it says of itself. */
  readonly ready: Promise<unknown>
  /** Says something and waits for the answer. */
  ask<T>(message: object | string | number): Promise<T>
  /** Ends it and waits for its end. */
  stop(): Promise<void>
}

/** The root of this tree. */
export const here: string = fileURLToPath(new URL('..', import.meta.url))

/** A public entry point of the compiled package. */
export function dist<T>(name: string): Promise<T> {
  return import(new URL(`../dist/${name}/index.js`, import.meta.url).href)
}

/** How a file of the benchmark is started. */
interface StartOptions {
  /** Flags of Node. */
  readonly flags?: readonly string[] | undefined
  /** The tree whose file it is; this one if absent. */
  readonly root?: string | undefined
}

/**
 * V8 takes what happens to be alive at the first collection of a load for long-lived, or not, for as long as the process
 * lasts: of two processes alike one can need 12 % more for a stream. `corral` switches that off too.
 */
const steady = '--no-allocation-site-pretenuring'

/** Starts a file of the benchmark. */
export function start(file: string, args: readonly string[], options: StartOptions = {}): Child {
  const { flags = [], root = here } = options
  // What a child prints must not get into the report on standard output.
  const stdio: ['ignore', 'ignore', 'inherit', 'ipc'] = ['ignore', 'ignore', 'inherit', 'ipc']
  const execArgv = ['--import', 'tsx', steady, ...flags]
  const child = fork(join(root, 'bench', file), args, { cwd: root, stdio, execArgv })
  return {
    ready: next(child),
    ask<T>(message: object | string | number): Promise<T> {
      child.send(message)
      return next(child) as Promise<T> // children of the benchmark say what their file promises
    },
    stop: () => stop(child),
  }
}

/** The next message of a child; its end is an error. */
function next(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: unknown): void => {
      child.off('exit', onExit)
      resolve(message)
    }
    const onExit = (code: number | null): void => {
      child.off('message', onMessage)
      reject(new Error(`A process of the benchmark ended with ${code}`))
    }
    child.once('exit', onExit)
    child.once('message', onMessage)
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  await new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    if (child.connected) child.disconnect()
    else child.kill()
  })
}
