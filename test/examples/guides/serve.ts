import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import { loadConfig } from '../../../src/app/config/load.ts'
import type { ServerConfig } from '../../../src/app/config/server.ts'
import { serveConfig } from '../../../src/app/serve.ts'
import { type Ended, type StartOptions, startProcess } from '../../cli/corral.ts'

const examples = join(import.meta.dirname, '../../../examples/guides')

/** Programs of guides run the built package, so they need none of what tests load to run the source. */
const asReader = { NODE_OPTIONS: undefined }

/** The file of a guide's example. */
export function exampleFile(name: string): string {
  return join(examples, name)
}

/** Starts a program of a guide at a free port, as its reader does: by Node, with the built package. Gives its URL. */
export async function serveExample(name: string, options: StartOptions = {}): Promise<string> {
  const port = String(await freePort())
  const env = { ...asReader, ...options.env, PORT: port }
  const started = startProcess(process.execPath, [exampleFile(name)], { ...options, env })
  onTestFinished(async () => {
    started.signal('SIGKILL')
    await started.ended
  })
  const [url] = await started.seen(new RegExp(`http://localhost:${port}`))
  return url
}

/** Runs a program of a guide to its end. */
export function runExample(
  name: string,
  { args = [], ...options }: StartOptions & { readonly args?: readonly string[] } = {},
): Promise<Ended> {
  const env = { ...asReader, ...options.env }
  const started = startProcess(process.execPath, [exampleFile(name), ...args], { ...options, env })
  started.end()
  return started.ended
}

/** A folder that is gone after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'corral-guide-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

let imports = 0

/** Runs a program of a guide in this process, which is quicker; gives the lines that it prints. */
export async function runHere(
  name: string,
  { env = {}, cwd }: StartOptions = {},
): Promise<readonly string[]> {
  const lines: string[] = []
  const folder = process.cwd()
  if (cwd !== undefined) process.chdir(cwd)
  const log = vi.spyOn(console, 'log').mockImplementation((...words) => {
    lines.push(words.join(' ').trimEnd())
  })
  for (const [key, value] of Object.entries(env)) vi.stubEnv(key, value)
  try {
    await importExample(name)
    return lines
  } finally {
    process.chdir(folder)
    vi.unstubAllEnvs()
    log.mockRestore()
  }
}

/** What a module of a guide exports; anew each time, so that it reads the environment of now. */
export function importExample<Exports>(name: string): Promise<Exports> {
  return import(`${exampleFile(name)}?${++imports}`)
}

/** Serves a file of a guide in this process, in memory; gives its URL. */
export async function serveFile(
  name: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const path = exampleFile(name)
  const options = { path, env, port: 0, store: 'memory', logger: false } as const
  const { listening, close } = await serveConfig(await loadConfig(path, env), options)
  onTestFinished(close)
  return listening.url
}

/** The `[server]` table of a guide's file. */
export async function serverTable(
  name: string,
  env: Readonly<Record<string, string>> = {},
): Promise<ServerConfig> {
  const { server } = await loadConfig(exampleFile(name), env)
  return server
}

/** A port that nobody listens at. */
export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
