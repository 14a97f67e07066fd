import { type CheckReport, checkDomain } from '../../eval/index.ts'
import { toPrintableLine } from '../../shared/text.ts'
import { stdout } from '../screen.ts'
import { toColumns } from '../text.ts'
import { chooseDomain } from './eval-domain.ts'

/** The flags of `corral eval check`. */
interface CheckFlags {
  readonly tau2Data?: string
  readonly json?: boolean
}

/** Lints a domain. Gives the exit code: 0 nothing is wrong, 1 something is. */
export async function checkCommand(name: string, flags: CheckFlags): Promise<number> {
  const domain = await chooseDomain(name, flags.tau2Data)
  const report = await checkDomain(domain)
  const manifest = 'manifest' in domain ? { manifest: domain.manifest } : {}
  const text = flags.json ? JSON.stringify({ ...report, ...manifest }, null, 2) : toText(report)
  stdout.write(`${text}\n`)
  return report.findings.some(({ level }) => level === 'error') ? 1 : 0
}

function toText({ domain, tasks, oracle, idle, findings }: CheckReport): string {
  const rows = findings.map(({ level, kind, task_id, message }) => [
    level,
    kind,
    task_id ?? '',
    firstLine(message),
  ])
  const head = ['level', 'kind', 'task', 'message']
  const errors = findings.filter(({ level }) => level === 'error').length
  return [
    ...(rows.length > 0 ? [toColumns([head, ...rows]), ''] : []),
    `${toPrintableLine(domain)}: ${tasks} tasks, ${errors} errors, ${findings.length - errors} warnings`,
    `The golden actions pass ${oracle.passed} of ${oracle.of}, doing nothing ${idle.passed}.`,
  ].join('\n')
}

function firstLine(message: string): string {
  return message.split('\n', 1).join()
}
