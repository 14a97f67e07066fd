import { createServer } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { onTestFinished } from 'vitest'
import { type Started, startProcess } from '../../cli/corral.ts'

const examples = join(import.meta.dirname, '../../../examples/guides')

/** A program of a guide, and the variables that it runs with. */
export interface Program {
  readonly file: string
  readonly env?: Readonly<Record<string, string>>
}

/**
 * Runs programs of a guide as their readers do, by Node and with the built package, but one after another in one process:
 * most of a run is its start. Gives what each printed.
 * @throws Error with what was written, where one fails or writes to stderr.
 */
export async function runPrograms(programs: readonly Program[]): Promise<readonly string[]> {
  const { code, stdout, stderr } = await startPrograms(programs).ended
  if (code !== 0 || stderr !== '') throw new Error(`Ended with ${code}:\n${stdout}${stderr}`)
  return stdout.split(end).slice(0, -1)
}

/** Starts programs that serve, in one process, and gives the URL of each. */
export async function servePrograms(files: readonly string[]): Promise<readonly string[]> {
  const ports = await Promise.all(files.map(freePort))
  const programs = files.map((file, index) => ({ file, env: { PORT: String(ports[index]) } }))
  const started = startPrograms(programs)
  onTestFinished(async () => {
    started.signal('SIGKILL')
    await started.ended
  })
  const isServed = new RegExp(ports.map((port) => `:${port}\\b[^]*`).join(''))
  await started.seen(isServed)
  return ports.map((port) => `http://127.0.0.1:${port}`)
}

const end = '# end\n'

function startPrograms(programs: readonly Program[]): Started {
  const list = programs.map(({ file, env }, index) => ({
    // A program that comes twice is loaded twice.
    url: `${pathToFileURL(join(examples, file))}?${index}`,
    env,
  }))
  const script = `for (const { url, env } of ${JSON.stringify(list)}) {
    Object.assign(process.env, env)
    await import(url)
    process.stdout.write(${JSON.stringify(end)})
  }`
  const args = ['--input-type=module', '-e', script]
  return startProcess(process.execPath, args, {
    env: { OPENAI_API_KEY: undefined, NODE_OPTIONS: undefined, NODE_TEST_CONTEXT: undefined },
  })
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
