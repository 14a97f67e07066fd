/**
 * What a run writes while it goes on. The first line of its journal, `journal.jsonl`, is `{"kind":"run", "id",
 * "timestamp", "config_hash"}`, every further one `{"kind":"simulation", "simulation": {…}}`, appended and synced as
 * simulations end. A kill can only cost the last line; a line that is cut off is dropped at the next opening. Beside it
 * `metrics.jsonl` has a line per request.
 */

import { createWriteStream } from 'node:fs'
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { finished as streamFinished } from 'node:stream/promises'
import type { AgentCard } from '../../protocol/types.ts'
import type { Logger } from '../../shared/log.ts'
import { checkArgument } from '../../shared/options.ts'
import { lockFile } from '../../store/sqlite/open.ts'
import { isJsonObject, messageOf, tryParse, ValidationError } from '../base.ts'
import { type Domain, type EvalTask, spoken } from '../domain/domain.ts'
import { historyOf } from '../domain/replay.ts'
import {
  type LoopLag,
  type PriceTable,
  type ProtocolMetrics,
  toDict,
  toMetricsDocument,
  toMetricsLine,
} from '../metrics.ts'
import { toHtml, toJUnit, toMarkdown } from '../report.ts'
import { summariseRun } from '../results/compare.ts'
import {
  type EvalInfo,
  type EvalResults,
  parseResults,
  type RecordedResults,
  type TaskBaseline,
} from '../results/results.ts'
import type { Simulation } from '../results/simulation.ts'
import { scoreConversation } from '../scorers/built-in.ts'
import type { Scorer } from '../scorers/scorer.ts'
import type { AttemptedJob, EvaluationPlan } from './plan.ts'
import { greeting, type SimulationContext } from './simulate.ts'

/** A journal open for appending. */
export interface Journal {
  readonly head: JournalHead
  /** What earlier sittings of the run finished. */
  readonly finished: readonly Simulation[]
  append(simulation: Simulation): Promise<void>
  close(): Promise<void>
}

interface JournalHead {
  readonly id: string
  readonly timestamp: string
  readonly config_hash: string
}

/**
 * Opens a journal for as long as no other process writes to it. The operating system releases the lock of a process that
 * dies.
 *
 * @throws ValidationError where another run writes into this folder.
 */
export async function lockedJournal(
  path: string,
  openFile: () => Promise<Journal>,
): Promise<Journal> {
  const lock = await lockFile(path).catch((cause) => {
    const message = `Another run writes into ${dirname(path)} (${messageOf(cause)}): wait for it, or save elsewhere`
    throw new ValidationError(message, { cause })
  })
  try {
    const journal = await openFile()
    const close = (): Promise<void> => journal.close().finally(() => lock.close())
    return { ...journal, close }
  } catch (error) {
    lock.close()
    throw error
  }
}

/** Begins a journal. The file must not exist. */
export async function createJournal(path: string, head: JournalHead): Promise<Journal> {
  const file = await open(path, 'ax').catch((cause) => {
    if (cause.code !== 'EEXIST') throw cause
    throw new ValidationError('There are results here already: resume them or save elsewhere')
  })
  await file.appendFile(`${JSON.stringify({ kind: 'run', ...head })}\n`)
  return appendTo(file, head, [])
}

function appendTo(file: FileHandle, head: JournalHead, finished: readonly Simulation[]): Journal {
  let last: Promise<void> = Promise.resolve()
  return {
    head,
    finished,
    append(simulation) {
      const line = `${JSON.stringify({ kind: 'simulation', simulation })}\n`
      last = last.then(async () => {
        await file.appendFile(line)
        await file.datasync()
      })
      return last
    },
    async close() {
      await last.catch(() => {}) // whoever appended has heard of it
      await file.close()
    },
  }
}

/**
 * Goes on with a journal.
 *
 * @throws ValidationError where it belongs to a run with another configuration.
 */
export async function reopenJournal(path: string, config_hash: string): Promise<Journal> {
  const text = await readFile(path, 'utf8').catch((cause) => {
    throw new ValidationError('There is no run to resume here', { cause })
  })
  const { head, finished } = readJournal(text)
  if (head.config_hash !== config_hash)
    throw new ValidationError('The results to resume were made with another configuration')
  const lines = [
    { kind: 'run', ...head },
    ...finished.map((simulation) => ({ kind: 'simulation', simulation })),
  ]
  await writeWhole(path, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`)
  return appendTo(await open(path, 'a'), head, finished)
}

function readJournal(text: string): { head: JournalHead; finished: readonly Simulation[] } {
  const [first, ...rest] = text.split('\n').map(tryParse)
  if (!isJsonObject(first) || first.kind !== 'run')
    throw new ValidationError('The journal to resume has no beginning')
  const finished: readonly unknown[] = rest.flatMap((line) =>
    isJsonObject(line) && isJsonObject(line.simulation) ? [line.simulation] : [],
  )
  const { id, timestamp, config_hash } = first
  const head = { id: String(id), timestamp: String(timestamp), config_hash: String(config_hash) }
  // Only we write these lines, and a line that parses is a whole one.
  return { head, finished: finished as readonly Simulation[] }
}

/** Writes a file so that readers see the old one or the new one, never half of it. */
async function writeWhole(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`
  await writeFile(temporary, text, { flush: true })
  await rename(temporary, path)
}

/** The run's requests as JSON Lines, written as they happen. */
export interface MetricsLog {
  /** Without a job the record is one of the discovery. */
  write(record: ProtocolMetrics, job?: AttemptedJob): void
  close(): Promise<void>
}

/** Appends to `metrics.jsonl` in the run's directory; writes nothing where there is none. */
export function createMetricsLog(directory: string | undefined): MetricsLog {
  if (directory === undefined) return { write: () => {}, close: async () => {} }
  const stream = createWriteStream(join(directory, 'metrics.jsonl'), { flags: 'a' })
  return {
    write: (record, job) => {
      const place = job && { trial: job.trial, attempt: job.attempt }
      const task_id = job ? job.task.id : null
      stream.write(toMetricsLine({ ...record, ...place, task_id }))
    },
    async close() {
      stream.end()
      await streamFinished(stream)
    },
  }
}

/** The document of a finished run. */
export async function toResults(
  run: SimulationContext,
  { id, timestamp }: JournalHead,
  measured: Pick<EvalResults, 'simulations' | 'baseline'> & { readonly harness_lag: LoopLag },
): Promise<EvalResults> {
  const { endpoint, prices } = run
  const { baseline, harness_lag } = measured
  const simulations = withSharedContexts(measured.simulations, run.log)
  const discovery_metrics = endpoint.discoveryMetrics().map(toDict)
  return {
    format: 'corral-eval/1',
    id,
    timestamp,
    info: toInfo(run, await endpoint.discover()),
    tasks: run.tasks.map(withoutScript),
    simulations,
    baseline,
    discovery_metrics,
    harness_lag,
    summary: summariseRun({ simulations, baseline, discovery_metrics }, prices),
  }
}

/** A context belongs to one simulation: an agent that gives it to two may have mixed their conversations. */
function withSharedContexts(all: readonly Simulation[], log: Logger): readonly Simulation[] {
  const sharing = new Map<string, string[]>()
  for (const { context_id: id, ...one } of all) {
    if (id === undefined) continue
    const names = sharing.get(id)
    if (names) names.push(nameOf(one))
    else sharing.set(id, [nameOf(one)])
  }
  for (const [context, simulations] of sharing)
    if (simulations.length > 1)
      log.warn({ context, simulations }, 'the agent used one context for several simulations')
  return all.map((one) => {
    const names = sharing.get(one.context_id ?? '') ?? []
    if (names.length < 2) return one
    const others = names.slice(0, maxNamed + 1).filter((name) => name !== nameOf(one))
    const more = names.length - 1 > maxNamed ? ', …' : ''
    const named = others.slice(0, maxNamed).join(', ') + more
    const warning = `The agent used the context ${one.context_id} for ${named} too: what was said may be mixed`
    return { ...one, warnings: [...one.warnings, warning] }
  })
}

/** So many other simulations of a context are named. */
const maxNamed = 3

function nameOf({ task_id, trial }: Pick<Simulation, 'task_id' | 'trial'>): string {
  return `${task_id} #${trial + 1}`
}

function toInfo(plan: EvaluationPlan, card: AgentCard): EvalInfo {
  const { domain, user, config } = plan
  return {
    num_trials: plan.numTrials,
    max_steps: plan.maxSteps,
    max_errors: plan.maxErrors,
    seed: plan.seed,
    strict: plan.strict,
    user_info: {
      implementation: user.kind,
      llm: user.model ?? null,
      ...(user.args && { llm_args: user.args }),
    },
    agent_info: {
      implementation: 'a2a_agent',
      endpoint: config.endpoint,
      name: card.name,
      version: card.version,
    },
    environment_info: {
      domain_name: domain.name,
      policy: domain.policy,
      ...(domain.manifest && { manifest: domain.manifest }),
    },
    config_hash: plan.hash,
  }
}

/** A script is how the user was played, not what the task is; it stays in the domain. */
function withoutScript({ user_script: _, ...task }: EvalTask): EvalTask {
  return task
}

/**
 * Tells what an agent gets that does nothing while the user ends the call in good order: the floor beside every score.
 * No agent is called and no judge is asked. Null where a task's world does not open.
 */
export async function doNothingBaseline(
  domain: Domain,
  tasks: readonly EvalTask[],
  scorers: readonly Scorer[] = [],
): Promise<readonly TaskBaseline[]> {
  const rewards: TaskBaseline[] = []
  for (const task of tasks) {
    const reward = await idleReward(domain, task, scorers).catch(() => null)
    rewards.push({ task_id: task.id, reward })
  }
  return rewards
}

async function idleReward(
  domain: Domain,
  task: EvalTask,
  scorers: readonly Scorer[],
): Promise<number | null> {
  const messages = [...historyOf(task), spoken('assistant', greeting), spoken('user', '###STOP###')]
  const signal = new AbortController().signal
  const ended = { messages, termination: 'user_stop', signal } as const
  return (await scoreConversation({ domain, task, scorers, ...ended })).reward
}

/** Writes a run's results, metrics and reports; each file appears whole or not at all. Metrics have a cost by `prices`. */
export async function saveResults(
  directory: string,
  results: EvalResults,
  prices?: PriceTable,
): Promise<void> {
  await mkdir(directory, { recursive: true })
  const price = prices?.agent
  const metrics = [
    ...results.simulations.map((one) => toMetricsDocument(one.task_id, allRecords(one), price)),
    toMetricsDocument(null, results.discovery_metrics, price),
  ]
  const files: Readonly<Record<string, string>> = {
    'metrics.json': `${JSON.stringify(metrics, null, 2)}\n`,
    'report.html': toHtml(results),
    'report.md': toMarkdown(results),
    'junit.xml': toJUnit(results),
    // Last: where it is, the others are.
    'results.json': `${JSON.stringify(results, null, 2)}\n`,
  }
  for (const [name, text] of Object.entries(files)) await writeWhole(join(directory, name), text)
}

/** The requests of all attempts at a simulation, each with its trial and attempt. */
function allRecords(simulation: Simulation): readonly ProtocolMetrics[] {
  const { trial, protocol_metrics, retried_metrics = [] } = simulation
  return [...retried_metrics, protocol_metrics].flatMap((records, index) =>
    records.map((record) => ({ ...record, trial, attempt: index + 1 })),
  )
}

/** Reads recorded results, of Corral or of tau2, from the file or from the directory that holds `results.json`. */
export async function loadResults(path: string): Promise<RecordedResults> {
  checkArgument('loadResults', 'the path', path, 'string')
  const file = path.endsWith('.json') ? path : join(path, 'results.json')
  const document: unknown = await readJson(file)
  if (!isJsonObject(document) || !Array.isArray(document.simulation_index))
    return parseResults(document)
  const folder = join(dirname(file), 'simulations')
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()
  const simulations = await Promise.all(names.map((name) => readJson(join(folder, name))))
  return parseResults({ ...document, simulations })
}

async function readJson(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    const message = `There are no results in ${file}; name what "corral eval run" wrote`
    throw new ValidationError(message, { cause })
  })
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ValidationError(`${file} is not JSON; name what "corral eval run" wrote`, { cause })
  }
}
