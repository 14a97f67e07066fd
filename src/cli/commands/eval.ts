import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command } from 'commander'
import type { A2AConfigInput } from '../../eval/agent/under-test.ts'
import { type CheckReport, checkDomain, parseCalls, runCalls } from '../../eval/domain/check.ts'
import { builtInDomains, findDomain, findDomainOf } from '../../eval/domain/load.ts'
import { presentName } from '../../eval/domain/replay.ts'
import {
  checkGate,
  compareResults,
  createEvaluator,
  type Domain,
  type EvalResults,
  type EvaluationOptions,
  loadResults,
  rescore,
  runEvaluation,
  toHtml,
  toJUnit,
  toMarkdown,
  ValidationError,
} from '../../eval/index.ts'
import { headline, outcomeOf, percent } from '../../eval/report.ts'
import { spreadOf } from '../../eval/results/compare.ts'
import { requireOwn } from '../../eval/results/results.ts'
import { saveResults } from '../../eval/run/journal.ts'
import type { Progress } from '../../eval/run/plan.ts'
import { listEvaluations } from '../../eval/serve.ts'
import { bearerTokens, createServer, runServer } from '../../server/index.ts'
import { systemClock, toTimestamp } from '../../shared/clock.ts'
import type { Logger } from '../../shared/log.ts'
import { readUrl, toPrintableLine } from '../../shared/text.ts'
import { addCommand, allowUnauthenticated, collect, exits, readSecret, toPort } from '../command.ts'
import { CliError, hintFor } from '../errors.ts'
import { type Screen, stderr, stdout } from '../screen.ts'
import { toColumns } from '../transcript.ts'
import {
  addJudgeOptions,
  addRunOptions,
  type JudgeFlags,
  openAgent,
  type RunFlags,
  share,
  tau2Data,
  toJudge,
  toPrices,
  toUser,
} from './eval-options.ts'

/** Adds `corral eval run|rescore|report|compare|call|check|serve|list`. Exit codes: 0 done, 1 a gate failed, 2 could not run or measured nothing. */
export function addEvalCommand(program: Command): void {
  const command = program.command('eval').description('measure how well an A2A agent does its job')
  const add = (usage: string, description: string, ...examples: string[]): Command =>
    addCommand(command, { usage, description, examples })
  addRunOptions(
    add(
      'run [url]',
      'evaluate the agent at a URL',
      'corral eval run http://localhost:3000',
      'corral eval run http://localhost:3000 --baseline last-week --max-drop 0.05',
    ),
  ).action(guarded(runCommand))
  addJudgeOptions(
    add(
      'rescore <results>',
      'score recorded results again, without calling the agent',
      'corral eval rescore eval-results/last --save-to eval-results/again',
    ),
  )
    .option('--domain <name|directory>', "the domain; the recording's own if absent")
    .option('--tau2-data <directory>', tau2Data)
    .option('--prices <file>', 'price table, JSON')
    .option('--save-to <directory>', 'where the results with the new scores go')
    .action(guarded(rescoreCommand))
  add('report <results>', 'write reports', 'corral eval report eval-results/last --html page.html')
    .option('--html <file>', 'one self-contained page')
    .option('--markdown <file>', 'Markdown')
    .option('--junit <file>', 'JUnit XML')
    .action(guarded(reportCommand))
  add(
    'compare <before> <after>',
    'compare two runs; fails where the pass rate fell',
    'corral eval compare last-week today --max-drop 0.05',
  )
    .option('--max-drop <share>', 'how far the pass rate may fall', share, 0)
    .action(guarded(compareCommand))
  addDomainCommands(add)
  add('serve', 'offer evaluations over A2A', 'corral eval serve --port 7300')
    .option('--port <n>', 'port; 0 takes any free one', toPort, 7300)
    .option('--host <name>', 'interface', '127.0.0.1')
    .option(
      '--caller <user=token>',
      'let this user in by a bearer token, also env:NAME or file:PATH; repeatable, then all others are rejected',
      collect,
    )
    .option('--allow-unauthenticated', allowUnauthenticated)
    .option('--dir <directory>', 'where evaluations are kept', 'eval-results')
    .option('--domain <directories...>', 'further domains')
    .option('--allow-endpoint <prefixes...>', 'only agents whose URL begins so, private ones too')
    .action(guarded(serveCommand))
  add('list', 'list domains and finished evaluations', 'corral eval list --dir eval-results')
    .option('--dir <directory>', 'where evaluations are kept', 'eval-results')
    .action(guarded(listCommand))
}

/** Runs an action to its exit code; whatever it throws is why it could not run, the agent's own errors included. */
function guarded<A extends readonly unknown[]>(
  action: (...args: A) => Promise<number>,
): (...args: A) => Promise<void> {
  return exits((...args: A) =>
    action(...args).catch((cause) => {
      const hint = evalHint(cause)
      throw new CliError(cause instanceof Error ? cause.message : String(cause), {
        cause,
        ...(hint !== undefined && { hint }),
      })
    }),
  )
}

/** The flags of other commands, as an evaluation calls them. */
const flagNames: readonly (readonly [usual: string, own: string])[] = [
  ['--no-verify-ssl', '--agent-a2a-no-verify-ssl'],
  ['--bearer-token, --api-key or --oauth-client-id', '--agent-a2a-auth-token'],
  ['--timeout', '--agent-a2a-timeout'],
]

/** What to do about an error; where there is no card, about the reason. */
function evalHint(error: unknown): string | undefined {
  const isDiscovery = error instanceof Error && error.name === 'A2ADiscoveryError'
  const { hint } = hintFor((isDiscovery ? error.cause : undefined) ?? error) ?? {}
  return flagNames.reduce((words, [usual, own]) => words?.replace(usual, own), hint)
}

/** Runs an evaluation as the flags say. Gives the exit code: 0 it ran, 1 a gate failed, 2 nothing was measured. */
async function runCommand(url: string | undefined, given: RunFlags): Promise<number> {
  const flags = withUrl(url, given)
  const domain = await chooseDomain(flags.domain, flags.tau2Data)
  const agent = await openAgent(flags, domain)
  try {
    return await runWith(flags, domain, agent.config)
  } finally {
    await agent.close()
  }
}

/** The agent may be named by an argument instead of `--agent-a2a-endpoint`. */
function withUrl(url: string | undefined, flags: RunFlags): RunFlags {
  if (url === undefined) return flags
  if (flags.agent !== 'a2a_agent')
    throw new ValidationError(`--agent ${flags.agent} needs no URL: it is an agent of ours`)
  if (flags.agentA2aEndpoint !== undefined)
    throw new ValidationError('The agent is named twice: by the URL and by --agent-a2a-endpoint')
  return { ...flags, agentA2aEndpoint: url }
}

/** The domain that a flag or an argument names; a name that it had once is understood, with a note. */
function chooseDomain(name: string, tau2Data?: string): Promise<Domain> {
  noteName(name)
  return findDomain(name, { directory: tau2Data })
}

/** Says on stderr what a domain is called today. */
function noteName(name: string): void {
  const present = presentName(name)
  if (present !== name)
    stderr.write(`Note: our ${name} is called ${present}; the one of tau2-bench is tau2:${name}\n`)
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

/** Warnings on stderr, and everything with `--a2a-debug`. Messages never hold credentials. */
function createEvalLog(screen: Screen, debug: boolean): Logger {
  const write =
    (level: string) =>
    (fields: object, message: string): void =>
      screen.write(`${toPrintableLine(`${level} ${message} ${JSON.stringify(fields)}`)}\n`)
  const quiet = (): void => {}
  return {
    debug: debug ? write('debug') : quiet,
    info: debug ? write('info') : quiet,
    warn: write('warn'),
    error: write('error'),
  }
}

/** A signal that an interrupt from the keyboard or the system fires; what was finished stays on disk. */
function interruptible(): { readonly signal: AbortSignal; clear(): void } {
  const controller = new AbortController()
  const stop = (): void => controller.abort(new Error('Interrupted; go on with --resume'))
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  return {
    signal: controller.signal,
    clear() {
      process.off('SIGINT', stop)
      process.off('SIGTERM', stop)
    },
  }
}

/** Shows how far a run is. */
interface ProgressDisplay {
  readonly show: (progress: Progress) => void
  end(words: string): void
}

/** A line per simulation, or, on a terminal, one bar that moves. */
function createProgress(screen: Screen): ProgressDisplay {
  const live = screen.isTTY
  return {
    show(progress) {
      const line = toPrintableLine(describe(progress))
      if (live) screen.rewrite(`${bar(progress)} ${line}`)
      else screen.write(`${line}\n`)
    },
    end: (words) => screen.write(live ? `\n${words}\n` : `${words}\n`),
  }
}

function describe({ done, total, successes, scored, cost, eta, simulation }: Progress): string {
  const score = percent(scored > 0 ? successes / scored : null)
  const money = cost === null ? '' : `, $${cost.toFixed(4)}`
  const left = eta === null ? '' : `, ${eta} s left`
  return `${done}/${total} ${simulation.task_id}: ${outcomeOf(simulation)}; ${score} so far${money}${left}`
}

function bar({ done, total }: Progress): string {
  const filled = Math.round((done / Math.max(1, total)) * 20)
  return `[${'#'.repeat(filled)}${'.'.repeat(20 - filled)}]`
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
  const unmeasured = runs.find(({ summary }) => summary.measured === 0)
  if (unmeasured) {
    const why = unmeasured.simulations[0]?.error ?? 'there was no simulation'
    stderr.write(`${toPrintableLine(`corral: Nothing was measured: ${why}`)}\n`)
    return 2
  }
  return reasons.length > 0 ? 1 : 0
}

function toText(results: EvalResults): string {
  const rows = headline(results)
  const width = Math.max(...rows.map(([label]) => label.length))
  return rows.map(([label, value]) => `${label.padEnd(width)}  ${value}`).join('\n')
}

interface RescoreFlags extends JudgeFlags {
  readonly domain?: string
  readonly tau2Data?: string
  readonly prices?: string
  readonly saveTo?: string
  readonly json?: boolean
}

async function rescoreCommand(path: string, flags: RescoreFlags): Promise<number> {
  const recorded = await loadResults(path)
  if (flags.domain !== undefined && recorded.own) noteName(flags.domain)
  const domain = await findDomainOf(recorded, flags.domain, { directory: flags.tau2Data })
  const [judge, prices] = [await toJudge(flags, domain), await toPrices(flags.prices)]
  const report = await rescore(recorded, {
    domain,
    ...(judge && { judge }),
    ...(prices && { prices }),
  })
  if (flags.saveTo !== undefined && report.results)
    await saveResults(flags.saveTo, report.results, prices)
  const words = `${report.simulations.length} simulations scored again, ${report.changed} rewards changed`
  if (flags.json) stdout.write(`${JSON.stringify(report, null, 2)}\n`)
  else {
    stdout.write(`${words}\n`)
    for (const { task_id, trial, what, recorded: before, now } of report.changes)
      stdout.write(`${toPrintableLine(`${task_id} #${trial + 1}: ${what}: ${before} → ${now}`)}\n`)
  }
  return 0
}

interface ReportFlags {
  readonly html?: string
  readonly markdown?: string
  readonly junit?: string
  readonly json?: boolean
}

async function reportCommand(path: string, flags: ReportFlags): Promise<number> {
  const results = requireOwn(await loadResults(path))
  if (flags.html !== undefined) await writeFile(flags.html, toHtml(results))
  if (flags.junit !== undefined) await writeFile(flags.junit, toJUnit(results))
  if (flags.markdown !== undefined) await writeFile(flags.markdown, toMarkdown(results))
  if (flags.json) stdout.write(`${JSON.stringify(results.summary, null, 2)}\n`)
  const isAsked = flags.html ?? flags.junit ?? flags.markdown ?? flags.json
  if (isAsked === undefined) stdout.write(toMarkdown(results))
  return 0
}

async function compareCommand(
  before: string,
  after: string,
  flags: { readonly maxDrop: number; readonly json?: boolean },
): Promise<number> {
  const [old, fresh] = [requireOwn(await loadResults(before)), requireOwn(await loadResults(after))]
  const comparison = compareResults(old, fresh)
  const gate = checkGate(fresh, { maxDrop: flags.maxDrop }, old)
  if (flags.json) stdout.write(`${JSON.stringify({ ...comparison, gate }, null, 2)}\n`)
  else {
    const noise = comparison.within_noise ? ' (the intervals overlap)' : ''
    stdout.write(`${percent(comparison.before)} → ${percent(comparison.after)}${noise}\n`)
    for (const task of comparison.tasks.filter(({ change }) => change !== 'same'))
      stdout.write(
        `${task.change}: ${toPrintableLine(task.task_id)} ${percent(task.before)} → ${percent(task.after)}\n`,
      )
  }
  for (const reason of gate.reasons) stderr.write(`Gate: ${reason}\n`)
  return gate.passed ? 0 : 1
}

/** Adds the commands that work on a domain, without an agent. */
function addDomainCommands(
  add: (usage: string, description: string, ...examples: string[]) => Command,
): void {
  add(
    'call <domain>',
    "execute calls in a domain's world, without agent or user",
    'corral eval call tau2:mock --calls calls.json --json',
  )
    .requiredOption('--calls <file>', 'list of {"name", "requestor", "arguments"}, JSON')
    .option('--task <id>', "in this task's world, after its set-up")
    .option('--tau2-data <directory>', tau2Data)
    .action(guarded(callCommand))
  add(
    'check <domain>',
    'find mistakes in a domain; exit code 1 if there are any',
    'corral eval check ./my-domain',
    'corral eval check tau2:retail --tau2-data tau2-bench/data',
  )
    .option('--tau2-data <directory>', tau2Data)
    .action(guarded(checkCommand))
}

/** The flags of `corral eval call`. */
interface CallFlags {
  readonly calls: string
  readonly task?: string
  readonly tau2Data?: string
  readonly json?: boolean
}

/** Executes a list of calls in a domain's world and prints what they gave. */
async function callCommand(name: string, flags: CallFlags): Promise<number> {
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

/** The flags of `corral eval check`. */
interface CheckFlags {
  readonly tau2Data?: string
  readonly json?: boolean
}

/** Lints a domain. Gives the exit code: 0 nothing is wrong, 1 something is. */
async function checkCommand(name: string, flags: CheckFlags): Promise<number> {
  const domain = await chooseDomain(name, flags.tau2Data)
  const report = await checkDomain(domain)
  const manifest = 'manifest' in domain ? { manifest: domain.manifest } : {}
  const text = flags.json ? JSON.stringify({ ...report, ...manifest }, null, 2) : checkText(report)
  stdout.write(`${text}\n`)
  return report.findings.some(({ level }) => level === 'error') ? 1 : 0
}

function checkText({ domain, tasks, oracle, idle, findings }: CheckReport): string {
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

/** The flags of `corral eval serve`. */
interface EvalServeFlags {
  readonly port: number
  readonly host: string
  readonly caller?: readonly string[]
  readonly allowUnauthenticated?: boolean
  readonly dir: string
  readonly domain?: readonly string[]
  readonly allowEndpoint?: readonly string[]
  readonly json?: boolean
}

const openRefusal =
  'Anyone who can reach this machine could start evaluations: leave --host out, name those who may by --caller, or allow it by --allow-unauthenticated'

/** Offers evaluations over A2A until a signal ends it. */
async function serveCommand(flags: EvalServeFlags): Promise<number> {
  const further = await Promise.all((flags.domain ?? []).map((name) => chooseDomain(name)))
  const { allowEndpoint } = flags
  const evaluator = createEvaluator({
    archive: flags.dir,
    domains: { ...builtInDomains, ...Object.fromEntries(further.map((one) => [one.name, one])) },
    log: createEvalLog(stderr, false),
    ...(allowEndpoint && { allowEndpoint: endpointFilter(allowEndpoint) }),
  })
  const { port, host, allowUnauthenticated = false } = flags
  const tokens = await readCallers(flags.caller ?? [])
  const auth = { authenticators: [bearerTokens({ tokens })] }
  const server = await createServer({ agents: [evaluator], ...(flags.caller && { auth }) })
  const { url, stopped } = await runServer(server, {
    port,
    host,
    signals: true,
    ...(!allowUnauthenticated && { openRefusal }),
  })
  if (flags.json) stdout.write(`${JSON.stringify({ url })}\n`)
  stderr.write(`Evaluator at ${url}\n`)
  await stopped
  return 0
}

/** The users that `--caller` names, by their tokens. */
async function readCallers(entries: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const tokens = new Map<string, string>()
  for (const entry of entries) {
    const cut = entry.indexOf('=')
    const token = await readSecret(entry.slice(cut + 1))
    if (cut < 1 || !token)
      throw new CliError('--caller needs a user and a token', {
        hint: 'Write it as --caller ann=env:ANN_TOKEN.',
      })
    if (tokens.has(token)) throw new CliError('Two users of --caller have the same token')
    tokens.set(token, entry.slice(0, cut))
  }
  return Object.fromEntries(tokens)
}

/** Same origin, and below the path: a prefix of the text alone would let `https://good.example.evil` in. */
function endpointFilter(prefixes: readonly string[]): (url: string) => boolean {
  const allowed = prefixes.map((prefix) => new URL(prefix))
  return (url) => {
    const asked = readUrl(url)
    return allowed.some(
      ({ origin, pathname }) => asked?.origin === origin && isBelow(asked.pathname, pathname),
    )
  }
}

function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`)
}

async function listCommand(flags: {
  readonly dir: string
  readonly json?: boolean
}): Promise<number> {
  const evaluations = await listEvaluations(flags.dir)
  const domains = Object.values(builtInDomains).map(({ name, tasks }) => ({
    name,
    tasks: tasks.length,
  }))
  if (flags.json) {
    stdout.write(`${JSON.stringify({ domains, evaluations }, null, 2)}\n`)
    return 0
  }
  for (const { name, tasks } of domains) stdout.write(`domain ${name}: ${tasks} tasks\n`)
  for (const one of evaluations)
    stdout.write(
      `${toPrintableLine(`${one.evaluation_id}: ${one.agent} on ${one.domain}, ${percent(one.pass_rate)}`)}\n`,
    )
  return 0
}
