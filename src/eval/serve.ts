import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join, resolve, sep } from 'node:path'
import { z } from 'zod'
import type { Agent, AgentEvent, Turn } from '../agents/agent.ts'
import { defineAgent } from '../agents/function.ts'
import { createGuard, type GuardOptions, type Rules } from '../network/guard.ts'
import { A2AError } from '../protocol/errors.ts'
import { dataPart, newArtifact, textOf, textPart } from '../protocol/task.ts'
import type { Json, Message } from '../protocol/types.ts'
import { createDeferred, type Deferred } from '../shared/async.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { SharedBudget } from '../shared/fair-share.ts'
import { newId } from '../shared/ids.ts'
import { findJson } from '../shared/json.ts'
import { type Logger, silent } from '../shared/log.ts'
import { checkOptions, type OptionTable } from '../shared/options.ts'
import { urlFault } from '../shared/text.ts'
import { readUtterances, type ToolCallRequest } from './agent/messages.ts'
import { isJsonObject, parseWith, round, tryParseSaid, ValidationError } from './base.ts'
import type { Domain } from './domain/domain.ts'
import { builtInDomains } from './domain/load.ts'
import { presentName } from './domain/replay.ts'
import { passRate } from './results/compare.ts'
import { type EvalResults, requireOwn } from './results/results.ts'
import { runEvaluation } from './run/evaluate.ts'
import { loadResults } from './run/journal.ts'
import type { EvaluationBounds, EvaluationOptions } from './run/plan.ts'
import { scriptedUser, type UserSimulator } from './users.ts'

/** What an evaluator works with. */
export interface EvaluatorOptions {
  /** Where evaluations are kept, a directory for each. */
  readonly archive: string
  /** The domains that callers may choose, by name; the built-in ones if absent. */
  readonly domains?: Readonly<Record<string, Domain>>
  /** Who plays the user; the scripted one if absent. */
  readonly user?: UserSimulator
  /** Which agents may be evaluated, wherever they lie; if absent, those that `guard` lets through. */
  readonly allowEndpoint?: (url: string) => boolean
  /** Where an agent may lie that a caller names; at public addresses if absent. */
  readonly guard?: Omit<GuardOptions, 'allowHttp'>
  /** Simulations at the same time, in one evaluation; 3 if absent. */
  readonly maxConcurrency?: number
  /** Simulations that one message may start: its tasks times its trials; 1,000 if absent. */
  readonly maxSimulations?: number
  /** The largest `max_steps` that a message may ask for; 1,000 if absent. */
  readonly maxSteps?: number
  /** Evaluations at the same time, one caller half of them; 8 if absent. */
  readonly maxEvaluations?: number
  /** Characters of conversations that are held while evaluations run, of one caller half of them; 200,000,000 if absent. */
  readonly maxCharacters?: number
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Where it tells what it does; nowhere if absent. */
  readonly log?: Logger
}

/** A finished evaluation in a list. */
interface ArchiveEntry {
  readonly evaluation_id: string
  readonly timestamp: string
  readonly domain: string
  readonly agent: string
  readonly pass_rate: number | null
}

const skills = [
  skill('run_evaluation', 'Run an evaluation', 'Measure an A2A agent on a domain', [
    '{"participants": {"agent": "https://agent.example.com"}, "config": {"domain": "kestrel"}}',
  ]),
  skill('list_domains', 'List domains', 'Which domains there are, and their tasks', [
    'list domains',
  ]),
  skill('get_evaluation_results', 'Results', 'The results of an evaluation, or a list of them', [
    'list results',
  ]),
]

function skill(id: string, name: string, description: string, examples: readonly string[]) {
  return { id, name, description, examples, tags: ['evaluation'] }
}

/**
 * Makes an A2A agent of the evaluation itself: asked for one, it runs it, streams how far it is, and ends with the
 * artifact `Result`: a summary in words and `{domain, score, max_score, pass_rate, task_rewards, time_used}`.
 * Callers see the results of their own evaluations alone: serve it with `auth`, else all are one caller.
 */
export function createEvaluator(options: EvaluatorOptions): Agent {
  checkOptions('createEvaluator', options, evaluatorOptions)
  if (options.guard) createGuard(options.guard) // a mistake in it prevents the start
  const { maxEvaluations: max = 8, maxCharacters = 200_000_000 } = options
  const running = new SharedBudget({ max, share: Math.ceil(max / 2) })
  const known: KnownEntries = new Map()
  // A caller may have made the agent, which may answer with megabytes for as many steps as there are.
  const room = new SharedBudget({ max: maxCharacters, share: Math.ceil(maxCharacters / 2) })
  return defineAgent(
    {
      name: 'Corral evaluator',
      id: 'evaluator',
      description: 'Measures A2A agents: runs evaluations, lists domains, and shows results',
      skills,
    },
    (message, turn) => answer({ ...options, running, room, known }, message, turn),
  )
}

const evaluatorOptions: OptionTable<EvaluatorOptions> = {
  archive: 'string!',
  domains: 'object',
  user: 'object',
  allowEndpoint: 'function',
  guard: 'object',
  maxConcurrency: 'number',
  maxSimulations: 'number',
  maxSteps: 'number',
  maxEvaluations: 'number',
  maxCharacters: 'number',
  clock: 'object',
  log: 'object',
}

interface BoundedEvaluator extends EvaluatorOptions {
  /** Counts evaluations. */
  readonly running: SharedBudget
  /** Counts characters of conversations. */
  readonly room: SharedBudget
  readonly known: KnownEntries
}

async function* answer(
  options: BoundedEvaluator,
  message: Message,
  turn: Turn,
): AsyncGenerator<AgentEvent> {
  const request = readRequest(message)
  if (request.skill === 'run_evaluation') yield* run(options, request, turn)
  else yield turn.reply([dataPart(await look(options, request, ownerOf(turn)))])
}

type EvaluatorRequest =
  | ({ readonly skill: 'run_evaluation' } & RunRequest)
  | { readonly skill: 'list_domains' }
  | { readonly skill: 'get_evaluation_results'; readonly evaluation_id?: string | undefined }

interface RunRequest {
  readonly agent_endpoint: string
  readonly domain: string
  readonly num_trials?: number | undefined
  readonly num_tasks?: number | undefined
  readonly task_ids?: readonly string[] | undefined
  readonly max_steps?: number | undefined
}

/**
 * Reads what a message asks for: AgentBeats' `{"participants": {"agent": url}, "config": {…}}`, a tool call
 * `run_evaluation` (or `run_tau2_evaluation`), `list_domains`, `get_evaluation_results`, as data or as JSON in text;
 * or, in words, "list domains" and "list results".
 *
 * @throws ValidationError that says what can be asked.
 */
function readRequest(message: Message): EvaluatorRequest {
  const text = textOf(message.parts)
  const data = message.parts.flatMap((part) => ('data' in part ? [part.data] : []))
  const embedded = findJson(text).map((found) => found.value)
  for (const value of [...data, tryParseSaid(text), ...embedded]) {
    const request = readValue(value)
    if (request) return request
  }
  if (/(\b|_)domains?\b/i.test(text)) return { skill: 'list_domains' }
  if (/(\b|_)(results|evaluations)\b/i.test(text)) return { skill: 'get_evaluation_results' }
  throw new ValidationError(
    'Ask for run_evaluation {"agent_endpoint", "domain"}, list_domains, or get_evaluation_results {"evaluation_id"}',
  )
}

/** How many tasks one request may name; their number is looked at before each of them is. */
const maxTaskIds = 10_000

const positive = z.int().min(1).max(10_000)

const requestShape = {
  domain: z.string().default('kestrel').transform(presentName),
  num_trials: positive.optional(),
  num_tasks: positive.nullish().transform((n) => n ?? undefined),
  task_ids: z
    .custom<readonly unknown[] | null>(
      (ids) => ids === null || (Array.isArray(ids) && ids.length <= maxTaskIds),
      `must be a list of at most ${maxTaskIds} ids`,
    )
    .pipe(z.array(z.union([z.string(), z.number()]).transform(String)).nullable())
    .optional()
    .transform((ids) => ids ?? undefined),
  max_steps: positive.optional(),
}

const agentBeats = z.object({
  participants: z.looseObject({ agent: z.string() }),
  config: z
    .object(requestShape)
    .default({ domain: 'kestrel', num_tasks: undefined, task_ids: undefined }),
})

function readValue(value: unknown): EvaluatorRequest | undefined {
  if (isJsonObject(value) && isJsonObject(value.participants)) {
    const { participants, config } = parseWith(agentBeats, value, 'request')
    return { skill: 'run_evaluation', agent_endpoint: participants.agent, ...config }
  }
  const [first] = readUtterances(value) ?? []
  return first && 'call' in first ? readCall(first.call) : undefined
}

const runArguments = z.object({ agent_endpoint: z.string(), ...requestShape })
const resultArguments = z.object({ evaluation_id: z.string().optional() })

function readCall({ name, arguments: args }: ToolCallRequest): EvaluatorRequest | undefined {
  if (name === 'run_evaluation' || name === 'run_tau2_evaluation')
    return { skill: 'run_evaluation', ...parseWith(runArguments, args, 'request') }
  if (name === 'list_domains') return { skill: 'list_domains' }
  if (name === 'get_evaluation_results')
    return { skill: name, ...parseWith(resultArguments, args, 'request') }
  return undefined
}

async function* run(
  options: BoundedEvaluator,
  request: RunRequest,
  turn: Turn,
): AsyncGenerator<AgentEvent> {
  const { domains = builtInDomains, running, room } = options
  const domain = Object.hasOwn(domains, request.domain) ? domains[request.domain] : undefined
  if (!domain) throw new ValidationError('There is no such domain; ask for list_domains')
  mustBeWithin(options, request, domain)
  const rules = checkAgent(options, request.agent_endpoint)
  const owner = ownerOf(turn)
  const holder = JSON.stringify(owner)
  if (!running.take(holder, 1))
    throw new A2AError('unavailable', 'Too many evaluations run; try again when one has ended', {
      retryAfterSeconds: 60,
    })
  let taken = 0
  const takeRoom = (characters: number): boolean => {
    const isTaken = room.take(holder, characters)
    if (isTaken) taken += characters
    return isTaken
  }
  try {
    const id = newId()
    const path = evaluationPath(options.archive, id)
    await writeOwner(path, owner)
    const agent = { endpoint: request.agent_endpoint }
    const plan = { id, agent, domain, saveTo: path, ...limits(request) }
    yield* evaluate(options, plan, { turn, around: { ...rules, takeRoom } })
  } finally {
    running.give(holder, 1)
    room.give(holder, taken)
  }
}

const defaultMaxSimulations = 1_000

const defaultMaxSteps = 1_000

/** One message may not start work without end. */
function mustBeWithin(
  { maxSimulations = defaultMaxSimulations, maxSteps = defaultMaxSteps }: EvaluatorOptions,
  { task_ids, num_tasks, num_trials = 1, max_steps = 0 }: RunRequest,
  { tasks }: Domain,
): void {
  const chosen = task_ids?.length ?? Math.min(num_tasks ?? tasks.length, tasks.length)
  const asked = chosen * num_trials
  if (asked > maxSimulations)
    throw new ValidationError(
      `${chosen} tasks with ${num_trials} trials are ${asked} simulations, and one request may start ${maxSimulations}: ask for fewer num_tasks or num_trials`,
    )
  if (max_steps > maxSteps)
    throw new ValidationError(`max_steps must be at most ${maxSteps}, not ${max_steps}`)
}

/** Runs an evaluation and says how far it is. */
async function* evaluate(
  options: EvaluatorOptions,
  plan: EvaluationOptions & { readonly domain: Domain },
  { turn, around }: { readonly turn: Turn; readonly around: EvaluationBounds },
): AsyncGenerator<AgentEvent> {
  const { clock = systemClock, user = scriptedUser, maxConcurrency = 3, log = silent } = options
  const started = clock.elapsed()
  const queue = createLineQueue()
  const evaluation: EvaluationOptions = {
    ...plan,
    ...{ user, maxConcurrency, log, clock },
    signal: turn.signal,
    onProgress: ({ done, total, simulation, successes, scored }) =>
      queue.push(
        `${done}/${total} ${simulation.task_id}: ${simulation.termination_reason}, ${successes}/${scored} passed`,
      ),
  }
  const running = runEvaluation(evaluation, around).finally(queue.end)
  running.catch(() => {}) // awaited below, after the progress
  const back = turn.away()
  try {
    yield turn.status('TASK_STATE_WORKING', `Evaluation ${plan.id} on ${plan.domain.name}`)
    for await (const line of queue) yield turn.status('TASK_STATE_WORKING', line)
  } finally {
    // A caller that has left does not free the place of an evaluation that still runs.
    await running.catch(() => {})
    await back()
  }
  const seconds = round((clock.elapsed() - started) / 1000, 3)
  yield turn.artifact(toArtifact(await running, seconds))
  yield turn.status('TASK_STATE_COMPLETED')
}

/**
 * Whoever asks for an evaluation names the agent, so its address is judged as a stranger's word, now and at every
 * connection; where the operator has said which agents may be called, these are called as written.
 */
function checkAgent(
  { allowEndpoint, guard: given }: EvaluatorOptions,
  endpoint: string,
): { readonly rules?: Rules } {
  const fault = urlFault(endpoint)
  if (fault !== undefined) throw new ValidationError(`participants.agent ${fault}`)
  if (allowEndpoint?.(endpoint)) return {}
  if (allowEndpoint) throw new A2AError('forbidden', 'This evaluator may not call that agent')
  const guard = createGuard({ ...given, allowHttp: true })
  guard.check(endpoint, 'participants.agent')
  return { rules: guard.rules }
}

/** How many lines may wait for a slow reader; beyond it the oldest is dropped, since the next says more. */
const bound = 1000

/** Hands lines from a callback to one reader, in order. */
function createLineQueue() {
  const lines: string[] = []
  let ended = false
  let waiting: Deferred<void> | undefined
  const wake = (): void => {
    waiting?.resolve()
    waiting = undefined
  }
  return {
    push(line: string): void {
      if (lines.push(line) > bound) lines.shift()
      wake()
    },
    /** The reader's loop ends after the lines there are. */
    end(): void {
      ended = true
      wake()
    },
    async *[Symbol.asyncIterator](): AsyncGenerator<string> {
      for (;;) {
        for (let line = lines.shift(); line !== undefined; line = lines.shift()) yield line
        if (ended) return
        waiting = createDeferred()
        await waiting.promise
      }
    },
  }
}

interface EvaluationOwner {
  readonly tenant: string
  readonly user: string
}

function ownerOf({ tenant, caller }: Turn): EvaluationOwner {
  return { tenant, user: caller.userId }
}

/** Stands beside the results of a known caller's evaluation; those without it belong to the anonymous caller. */
const ownerFile = 'caller.json'

async function writeOwner(path: string, { tenant, user }: EvaluationOwner): Promise<void> {
  if (tenant === '' && user === '') return
  await mkdir(path, { recursive: true })
  await writeFile(join(path, ownerFile), JSON.stringify({ tenant, user }))
}

const idPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/

/**
 * Gives the directory of an evaluation below the archive. An id that is no plain name, or that leads elsewhere, is
 * refused.
 *
 * @throws ValidationError that does not repeat the id.
 */
export function evaluationPath(archive: string, id: string): string {
  const root = resolve(archive)
  const path = resolve(root, id)
  if (!idPattern.test(id) || !path.startsWith(root + sep))
    throw new ValidationError('The evaluation id is not valid')
  return path
}

function limits({ num_trials, num_tasks, task_ids, max_steps }: RunRequest) {
  return {
    ...(num_trials !== undefined && { numTrials: num_trials }),
    ...(num_tasks !== undefined && { numTasks: num_tasks }),
    ...(task_ids !== undefined && { taskIds: task_ids }),
    ...(max_steps !== undefined && { maxSteps: max_steps }),
  }
}

function toArtifact(results: EvalResults, time_used: number) {
  const rewards = results.simulations.flatMap(({ reward_info: { reward } }) => reward ?? [])
  const score = rewards.reduce((sum, reward) => sum + reward, 0)
  const rate = passRate(results)
  const result = {
    domain: results.info.environment_info.domain_name,
    score,
    max_score: rewards.length,
    /** In percent, as AgentBeats has it. */
    pass_rate: rate === null ? null : round(rate * 100),
    task_rewards: rewardsByTask(results),
    time_used,
    evaluation_id: results.id,
    user: results.info.user_info.implementation,
    do_nothing_rate: results.summary.do_nothing.rate,
  }
  const words = `${result.domain}: ${score} of ${rewards.length}, ${result.pass_rate ?? 'no'} % passed; evaluation ${results.id}`
  return newArtifact('Result', [textPart(words), dataPart(result)])
}

/** Each task's mean reward over its trials; null where it was never scored. */
function rewardsByTask({ simulations }: EvalResults): Record<string, number | null> {
  const byTask = new Map<string, number[]>()
  for (const { task_id, reward_info } of simulations) {
    const rewards = byTask.get(task_id) ?? []
    byTask.set(task_id, reward_info.reward === null ? rewards : [...rewards, reward_info.reward])
  }
  const mean = (rewards: readonly number[]): number | null =>
    rewards.length > 0 ? round(rewards.reduce((a, b) => a + b, 0) / rewards.length, 6) : null
  return Object.fromEntries([...byTask].map(([id, rewards]) => [id, mean(rewards)]))
}

async function look(
  { archive, domains = builtInDomains, known }: BoundedEvaluator,
  request: Exclude<EvaluatorRequest, { skill: 'run_evaluation' }>,
  owner: EvaluationOwner,
): Promise<Json> {
  if (request.skill === 'list_domains')
    return { domains: Object.values(domains).map(describeDomain) }
  const { evaluation_id: id } = request
  if (id === undefined) return { evaluations: toJson(await listOwn(archive, owner, known)) }
  if (!(await isOwn(evaluationPath(archive, id), owner))) throw new ValidationError(noResults)
  return toJson(await readEvaluation(archive, id))
}

/** Whether an evaluation belongs to a caller; what cannot be read belongs to none. */
async function isOwn(path: string, { tenant, user }: EvaluationOwner): Promise<boolean> {
  try {
    const written: unknown = JSON.parse(await readFile(join(path, ownerFile), 'utf8'))
    return isJsonObject(written) && written.tenant === tenant && written.user === user
  } catch (error) {
    const isAbsent = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    return isAbsent && tenant === '' && user === ''
  }
}

/** A caller's evaluations; of the others only the name of the caller is read. */
async function listOwn(
  archive: string,
  owner: EvaluationOwner,
  known: KnownEntries,
): Promise<readonly ArchiveEntry[]> {
  const own: string[] = []
  for (const name of await namesIn(archive))
    if (await isOwn(join(archive, name), owner)) own.push(name)
  return toEntries(archive, own, known)
}

const noResults = 'There are no results of this evaluation'

function describeDomain({ name, tasks, splits }: Domain): Json {
  return {
    name,
    num_tasks: tasks.length,
    task_ids: tasks.map(({ id }) => id),
    splits: Object.keys(splits),
  }
}

function toJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value))
}

/** Lists the finished evaluations of an archive, newest first; what cannot be read is left out. */
export async function listEvaluations(archive: string): Promise<readonly ArchiveEntry[]> {
  return toEntries(archive, await namesIn(archive))
}

async function namesIn(archive: string): Promise<readonly string[]> {
  const names = await readdir(archive, { withFileTypes: true }).catch(() => [])
  return names.filter((one) => one.isDirectory()).map(({ name }) => name)
}

/** Entries that were read before, by their files and the state of these: results may be large. */
type KnownEntries = Map<string, { readonly state: string; readonly entry: ArchiveEntry }>

const maxKnown = 10_000

async function toEntries(
  archive: string,
  names: readonly string[],
  known: KnownEntries = new Map(),
): Promise<readonly ArchiveEntry[]> {
  const entries: ArchiveEntry[] = []
  // One after the other: an archive may have more results than a process may open files, and than fit into memory.
  for (const name of names) {
    const entry = await knownEntry(archive, name, known)
    if (entry) entries.push(entry)
  }
  return entries.sort((a, b) => (a.timestamp < b.timestamp ? 1 : -1))
}

async function knownEntry(
  archive: string,
  name: string,
  known: KnownEntries,
): Promise<ArchiveEntry | undefined> {
  const file = join(archive, name, 'results.json')
  const found = await stat(file).catch(() => undefined)
  if (!found) return undefined
  const state = `${found.mtimeMs} ${found.size}`
  const before = known.get(file)
  if (before?.state === state) return before.entry
  const entry = await toEntry(archive, name)
  if (entry) known.set(file, { state, entry })
  const [oldest] = known.keys()
  if (known.size > maxKnown && oldest !== undefined) known.delete(oldest)
  return entry
}

async function toEntry(archive: string, name: string): Promise<ArchiveEntry | undefined> {
  try {
    const { timestamp, info, ...results } = requireOwn(await loadResults(join(archive, name)))
    return {
      evaluation_id: name,
      timestamp,
      domain: info.environment_info.domain_name,
      agent: info.agent_info.name,
      pass_rate: passRate({ ...results, timestamp, info }),
    }
  } catch {
    return undefined // a run that is not finished, or a directory of something else
  }
}

/**
 * Reads the results of one evaluation.
 *
 * @throws ValidationError where the id is not valid or nothing is known under it.
 */
export async function readEvaluation(archive: string, id: string): Promise<EvalResults> {
  const path = evaluationPath(archive, id)
  const recorded = await loadResults(path).catch(() => {
    throw new ValidationError(noResults)
  })
  return requireOwn(recorded)
}
