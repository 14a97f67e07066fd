import { writeFile } from 'node:fs/promises'
import type { Command } from 'commander'
import {
  builtInDomains,
  checkGate,
  compareResults,
  findDomainOf,
  listEvaluations,
  loadResults,
  percent,
  requireOwn,
  rescore,
  saveResults,
  toHtml,
  toJUnit,
  toMarkdown,
} from '../../eval/index.ts'
import { toPrintableLine } from '../../shared/text.ts'
import { addCommand, allowUnauthenticated, exits, toPort } from '../command.ts'
import { CliError } from '../errors.ts'
import { stderr, stdout } from '../screen.ts'
import { callCommand } from './eval-call.ts'
import { checkCommand } from './eval-check.ts'
import { noteName } from './eval-domain.ts'
import { addJudgeOptions, type JudgeFlags, toJudge } from './eval-models.ts'
import { addRunOptions, share, tau2Data, toPrices } from './eval-options.ts'
import { runCommand } from './eval-run.ts'
import { serveCommand } from './eval-serve.ts'

/** Adds `corral eval run|rescore|report|compare|call|check|serve|list`. Exit codes: 0 done, 1 a gate failed, 2 could not run. */
export function addEvalCommand(program: Command): void {
  const command = program.command('eval').description('measure how well an A2A agent does its job')
  const add = (usage: string, description: string, ...examples: string[]): Command =>
    addCommand(command, { usage, description, examples })
  addRunOptions(
    add(
      'run',
      'evaluate an agent',
      'corral eval run --agent-a2a-endpoint http://localhost:3000',
      'corral eval run --agent-a2a-endpoint http://localhost:3000 --baseline last-week --max-drop 0.05',
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
  add('serve', 'offer evaluations over A2A', 'corral eval serve --port 7300')
    .option('--port <n>', 'port; 0 takes any free one', toPort, 7300)
    .option('--host <name>', 'interface', '127.0.0.1')
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
      throw new CliError(cause instanceof Error ? cause.message : String(cause), { cause })
    }),
  )
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
  if (flags.saveTo !== undefined && report.results) await saveResults(flags.saveTo, report.results)
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
