import { createServer } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Ended, type Started, type StartOptions, startProcess } from '../../cli/corral.ts'

const examples = join(import.meta.dirname, '../../../examples/guides')

/** Starts a program of a guide as its reader does: by Node, with the built package. */
export function startProgram(file: string, options: StartOptions = {}): Started {
  const started = startProcess(process.execPath, [join(examples, file)], options)
  onTestFinished(async () => {
    started.signal('SIGKILL')
    await started.ended
  })
  return started
}

/** Runs a program of a guide to its end. */
export function runProgram(
  file: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  return startProgram(file, { env: { OPENAI_API_KEY: undefined, ...env } }).ended
}

/** Starts a program that serves, and gives its URL. */
export async function serveProgram(file: string): Promise<string> {
  const started = startProgram(file, { env: { PORT: String(await freePort()) } })
  const [url] = await started.seen(/http:\/\/127\.0\.0\.1:\d+/)
  return url
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
