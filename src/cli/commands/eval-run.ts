import { join } from 'node:path'
import {
  type A2AConfigInput,
  checkGate,
  compareResults,
  type Domain,
  type EvalResults,
  type EvaluationOptions,
  headline,
  loadResults,
  requireOwn,
  runEvaluation,
  spreadOf,
  ValidationError,
} from '../../eval/index.ts'
import { systemClock, toTimestamp } from '../../shared/clock.ts'
import { stderr, stdout } from '../screen.ts'
import { chooseDomain } from './eval-domain.ts'
import { toJudge } from './eval-models.ts'
import { openAgent, type RunFlags, toPrices, toUser } from './eval-options.ts'
import { createEvalLog, createProgress, interruptible } from './eval-output.ts'

/** Runs an evaluation as the flags say. Gives the exit code: 0 it ran, 1 a gate failed. */
export async function runCommand(flags: RunFlags): Promise<number> {
  const domain = await chooseDomain(flags.domain, flags.tau2Data)
  const agent = await openAgent(flags, domain)
  try {
    return await runWith(flags, domain, agent.config)
  } finally {
    await agent.close()
  }
}

async function runWith(flags: RunFlags, domain: Domain, agent: A2AConfigInput): Promise<number> {
  const options = await toOptions(flags, domain, agent)
  const before =
    flags.baseline === undefined ? undefined : requireOwn(await loadResults(flags.baseline))
  const interrupt = interruptible()
  const progress = createProgress(stderr)
  const runs: EvalResults[] = []
  try {
    for (let index = 0; index < flags.repeat; index++) {
      const saveTo = directoryOf(flags, index)
      const seed = flags.seed + index
      const signal = interrupt.signal
      runs.push(
        await runEvaluation({ ...options, seed, saveTo, signal, onProgress: progress.show }),
      )
      progress.end(`Results in ${saveTo}`)
    }
  } finally {
    interrupt.clear()
    await options.user?.close?.()
  }
  return report(flags, runs, before)
}

async function toOptions(
  flags: RunFlags,
  domain: Domain,
  agent: A2AConfigInput,
): Promise<EvaluationOptions> {
  const [user, judge] = [await toUser(flags, domain), await toJudge(flags, domain)]
  const prices = await toPrices(flags.prices)
  const taskIds = selected(domain, flags)
  return {
    agent,
    domain,
    user,
    numTrials: flags.numTrials,
    maxSteps: flags.maxSteps,
    maxErrors: flags.maxErrors,
    maxConcurrency: flags.user === 'human' ? 1 : flags.maxConcurrency,
    maxRetries: flags.maxRetries,
    taskTimeout: flags.taskTimeout,
    strict: flags.strict ?? false,
    resume: flags.resume ?? false,
    log: createEvalLog(stderr, flags.a2aDebug ?? false),
    ...(judge && { judge }),
    ...(prices && { prices }),
    ...(flags.numTasks !== undefined && { numTasks: flags.numTasks }),
    ...(taskIds && { taskIds }),
  }
}

function selected(domain: Domain, flags: RunFlags): readonly string[] | undefined {
  const ids = flags.taskIds?.flatMap((given) => given.split(',')).filter((id) => id !== '')
  if (flags.taskSplitName === undefined) return ids
  const split = domain.splits[flags.taskSplitName]
  if (!split)
    throw new ValidationError(`The domain ${domain.name} has no split ${flags.taskSplitName}`)
  return ids ? ids.filter((id) => split.includes(id)) : split
}

/** Repeated runs stand in numbered directories below the one that was named. */
function directoryOf(flags: RunFlags, index: number): string {
  const name = flags.domain.replace(/[^\w-]+/g, '_')
  const stamp = toTimestamp(systemClock.now()).replace(/[:.]/g, '-')
  const base = flags.saveTo ?? join('eval-results', `${stamp}-${name}`)
  if (flags.resume && flags.saveTo === undefined)
    throw new ValidationError('--resume needs --save-to, the directory of the run')
  return flags.repeat > 1 ? join(base, `run-${index + 1}`) : base
}

function report(
  flags: RunFlags,
  runs: readonly EvalResults[],
  before: EvalResults | undefined,
): number {
  const { failUnder, maxDrop } = flags
  const gate = {
    ...(failUnder !== undefined && { failUnder }),
    ...(maxDrop !== undefined && { maxDrop }),
  }
  const gated = before !== undefined || failUnder !== undefined
  const verdicts = gated ? runs.map((run) => checkGate(run, gate, before)) : []
  const comparisons = before ? runs.map((run) => compareResults(before, run)) : []
  const [first] = runs
  if (flags.json && first) {
    const extra = {
      ...(gated && { gate: verdicts[0] }),
      ...(before && { comparison: comparisons[0] }),
    }
    const several = { runs, spread: spreadOf(runs), gates: verdicts, comparisons }
    stdout.write(`${JSON.stringify(runs.length > 1 ? several : { ...first, ...extra }, null, 2)}\n`)
  } else for (const run of runs) stdout.write(`${toText(run)}\n`)
  if (!flags.json && runs.length > 1) stdout.write(`Spread: ${JSON.stringify(spreadOf(runs))}\n`)
  const reasons = verdicts.flatMap((verdict) => verdict.reasons)
  for (const reason of reasons) stderr.write(`Gate: ${reason}\n`)
  return reasons.length > 0 ? 1 : 0
}

function toText(results: EvalResults): string {
  const rows = headline(results)
  const width = Math.max(...rows.map(([label]) => label.length))
  return rows.map(([label, value]) => `${label.padEnd(width)}  ${value}`).join('\n')
}
