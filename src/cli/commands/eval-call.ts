import { readFile } from 'node:fs/promises'
import { parseCalls, runCalls } from '../../eval/index.ts'
import { stdout } from '../screen.ts'
import { chooseDomain } from './eval-domain.ts'

/** The flags of `corral eval call`. */
interface CallFlags {
  readonly calls: string
  readonly task?: string
  readonly tau2Data?: string
  readonly json?: boolean
}

/** Executes a list of calls in a domain's world and prints what they gave. */
export async function callCommand(name: string, flags: CallFlags): Promise<number> {
  const domain = await chooseDomain(name, flags.tau2Data)
  const calls = parseCalls(await readFile(flags.calls, 'utf8'))
  const report = await runCalls(domain, calls, flags.task)
  if (flags.json) {
    stdout.write(`${JSON.stringify(report, null, 2)}\n`)
    return 0
  }
  for (const [index, { content }] of report.outputs.entries())
    stdout.write(`${calls[index]?.name}: ${content}\n`)
  stdout.write(`agent ${report.agent_hash}\n`)
  if (report.user_hash !== null) stdout.write(`user  ${report.user_hash}\n`)
  return 0
}
