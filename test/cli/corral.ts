import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { createDeferred } from '../../src/shared/async.ts'
import { loadConfig, serveConfig } from '../../src/team/index.ts'
import { built } from '../support/built.ts'
import { CommandHost } from './host.ts'

/** The built command; `npm test` builds it first. */
export const main: string = fileURLToPath(built('cli/main.js'))

/** What became of a process. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A process that runs. */
export interface Started {
  /** Waits until its output, stdout and stderr together, matches. */
  seen(pattern: RegExp): Promise<RegExpMatchArray>
  write(text: string): void
  end(): void
  signal(name: NodeJS.Signals): void
  /** What it has written so far, to both streams. */
  readonly output: string
  readonly ended: Promise<Ended>
}

/** How a process is started. */
export interface StartOptions {
  readonly cwd?: string
  /** Beside the test's own; undefined takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** A directory that is gone after the test. */
export function temporary(): string {
  const directory = mkdtempSync(join(tmpdir(), 'corral-cli-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

const host = new CommandHost()
/** Commands that have shown to end by themselves, in a process of their own. */
const ended = new Set<string>()
/** Those that wait for a person or start programs always have a process of their own. */
const apart = new Set(['', '--version', 'chat', 'console', 'demo', 'eval', 'init', 'login'])

/**
 * Runs the command to its end: each for the first time in a process of its own, then in one that has it loaded and ends
 * with the test file.
 */
export async function corral(args: readonly string[], options: StartOptions = {}): Promise<Ended> {
  const command = args.includes('--help') ? '--help' : nameOf(args)
  const { NODE_OPTIONS: ofProcess } = options.env ?? {}
  if (ended.has(command) && host.isFree && ofProcess === undefined) {
    const env = { ...process.env, ...options.env }
    return host.run({ args, cwd: options.cwd, env })
  }
  const started = start(args, options)
  started.end()
  const result = await started.ended
  if (!apart.has(args[0] ?? '') || command === '--help') ended.add(command)
  return result
}

function nameOf([first = '', second = '']: readonly string[]): string {
  return /^[a-z-]+$/.test(second) ? `${first} ${second}` : first
}

/** Starts the command. */
export function start(args: readonly string[], options: StartOptions = {}): Started {
  return startProcess(process.execPath, [main, ...args], options)
}

/** Starts any process; it ends with the test. */
export function startProcess(
  file: string,
  args: readonly string[],
  { cwd, env }: StartOptions = {},
): Started {
  const child = spawn(file, args, { cwd, env: { ...process.env, ...env } })
  let isRunning = true
  onTestFinished(async () => {
    // Its output may stay open for longer, where it has started others.
    if (isRunning && child.kill('SIGKILL')) await once(child, 'exit')
  })
  const output = { stdout: '', stderr: '', all: '' }
  const listeners = new Set<() => void>()
  const hear = (name: 'stdout' | 'stderr') => (chunk: Buffer) => {
    output[name] += chunk
    output.all += chunk
    for (const listener of listeners) listener()
  }
  child.stdout.on('data', hear('stdout'))
  child.stderr.on('data', hear('stderr'))
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code) => {
      isRunning = false
      resolve({ code, stdout: output.stdout, stderr: output.stderr })
      for (const listener of listeners) listener()
    })
  })
  return {
    seen: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const match = output.all.match(pattern)
          if (!match && isRunning) return
          listeners.delete(look)
          if (match) resolve(match)
          else reject(new Error(`Ended without ${pattern}:\n${output.all}`))
        }
        listeners.add(look)
        look()
      }),
    write: (text) => void child.stdin.write(text),
    end: () => void child.stdin.end(),
    signal: (name) => void child.kill(name),
    get output() {
      return output.all
    },
    ended,
  }
}

/** A server that was started, and its address. */
export interface Served extends Started {
  readonly url: string
}

/** Serves a file, in memory and on a free port unless the arguments say otherwise. */
export async function serve(args: readonly string[], options: StartOptions = {}): Promise<Served> {
  const store = args.includes('--store') ? [] : ['--store', 'memory']
  const port = args.includes('--port') ? [] : ['--port', '0']
  const started = start([...args, ...store, ...port, '--json'], options)
  const [line] = await started.seen(/^\{"url".*\}$/m)
  return { ...started, url: JSON.parse(line).url }
}

/** Serves a file in this process, where the test is not about serving; gives its address. */
export async function serveHere(path: string): Promise<string> {
  const config = await loadConfig(path, {})
  const serving = await serveConfig(config, { path, env: {}, port: 0, store: 'memory' })
  onTestFinished(serving.close)
  return serving.listening.url
}

/** A door that a waiting agent stands before until the test opens it. */
export interface Door {
  readonly url: string
  /** Resolves when somebody waits. */
  readonly reached: Promise<void>
  open(): void
}

/** Makes a door. */
export async function createDoor(): Promise<Door> {
  const waiting = createDeferred<void>()
  const opening = createDeferred<void>()
  const server = createServer(async (_request, response) => {
    waiting.resolve()
    await opening.promise
    response.end('the door')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    opening.resolve()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo // a listening TCP server has one
  return {
    url: `http://127.0.0.1:${port}/`,
    reached: waiting.promise,
    open: () => opening.resolve(),
  }
}
