import { built } from '../support/built.ts'
import { type Ended, startProcess } from './corral.ts'

/** One run of the command. */
export interface Run {
  readonly args: readonly string[]
  readonly cwd?: string
}

/** Runs the built command once for each, one after another in a single process: most of a run is the start of one. */
export async function corralMany(
  runs: readonly Run[],
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<readonly Ended[]> {
  const child = startProcess(process.execPath, ['--input-type=module', '--eval', script], { env })
  child.write(JSON.stringify(runs))
  child.end()
  const { stdout, stderr } = await child.ended
  try {
    return JSON.parse(stdout)
  } catch {
    throw new Error(`No results:\n${stdout}\n${stderr}`)
  }
}

const program = built('cli/program.js')

const script = `
import { text } from 'node:stream/consumers'
const runs = JSON.parse(await text(process.stdin))
const { run } = await import(${JSON.stringify(program.href)})
const write = process.stdout.write.bind(process.stdout)
process.setMaxListeners(0)
process.stdout.setMaxListeners(0)
const results = []
for (const { args, cwd } of runs) {
  if (cwd) process.chdir(cwd)
  const ended = { code: 0, stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'])
    process[name].write = (chunk) => { ended[name] += chunk; return true }
  process.exitCode = 0
  ended.code = await run(args)
  results.push(ended)
}
process.stdout.write = write
write(JSON.stringify(results), () => process.exit(0))
`
