import type { Agent, AgentEvent, Turn } from '../../agents/agent.ts'
import { defineAgent } from '../../agents/function.ts'
import { createGuard, type GuardOptions } from '../../network/guard.ts'
import type { Rules } from '../../network/rules.ts'
import { urlFault } from '../../network/url.ts'
import { dataPart, newArtifact, textPart } from '../../protocol/build.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { Json, Message } from '../../protocol/types.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import { newId } from '../../shared/ids.ts'
import { type Logger, silent } from '../../shared/log.ts'
import { ValidationError } from '../base/errors.ts'
import { round } from '../base/json.ts'
import type { Domain } from '../domain/environment.ts'
import { builtInDomains } from '../domain/load.ts'
import { passRate } from '../results/compare.ts'
import type { EvalResults } from '../results/results.ts'
import { runEvaluation } from '../run/evaluate.ts'
import type { EvaluationOptions } from '../run/options.ts'
import { scriptedUser } from '../users/scripted.ts'
import type { UserSimulator } from '../users/user.ts'
import { evaluationPath, listEvaluations, readEvaluation } from './archive.ts'
import { createEventQueue } from './event-queue.ts'
import { type EvaluatorRequest, type RunRequest, readRequest } from './request.ts'

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
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Where it tells what it does; nowhere if absent. */
  readonly log?: Logger
}

/**
 * Makes an A2A agent of the evaluation itself: asked for one, it runs it, streams how far it is, and ends with the
 * artifact `Result`: a summary in words and `{domain, score, max_score, pass_rate, task_rewards, time_used}`.
 */
export function createEvaluator(options: EvaluatorOptions): Agent {
  return defineAgent(
    {
      name: 'Corral evaluator',
      id: 'evaluator',
      description: 'Measures A2A agents: runs evaluations, lists domains, and shows results',
      skills,
    },
    (message, turn) => answer(options, message, turn),
  )
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

async function* answer(
  options: EvaluatorOptions,
  message: Message,
  turn: Turn,
): AsyncGenerator<AgentEvent> {
  const request = readRequest(message)
  if (request.skill === 'run_evaluation') yield* run(options, request, turn)
  else yield turn.reply([dataPart(await look(options, request))])
}

async function look(
  { archive, domains = builtInDomains }: EvaluatorOptions,
  request: Exclude<EvaluatorRequest, { skill: 'run_evaluation' }>,
): Promise<Json> {
  if (request.skill === 'list_domains')
    return { domains: Object.values(domains).map(describeDomain) }
  if (request.evaluation_id === undefined)
    return { evaluations: toJson(await listEvaluations(archive)) }
  return toJson(await readEvaluation(archive, request.evaluation_id))
}

async function* run(
  options: EvaluatorOptions,
  request: RunRequest,
  turn: Turn,
): AsyncGenerator<AgentEvent> {
  const { domains = builtInDomains, archive } = options
  const { clock = systemClock } = options
  const domain = Object.hasOwn(domains, request.domain) ? domains[request.domain] : undefined
  if (!domain) throw new ValidationError('There is no such domain; ask for list_domains')
  const around = checkAgent(options, request.agent_endpoint)
  const id = newId()
  const started = clock.elapsed()
  const queue = createEventQueue<string>()
  const evaluation: EvaluationOptions = {
    id,
    domain,
    agent: { endpoint: request.agent_endpoint },
    user: options.user ?? scriptedUser,
    saveTo: evaluationPath(archive, id),
    maxConcurrency: options.maxConcurrency ?? 3,
    log: options.log ?? silent,
    clock,
    signal: turn.signal,
    ...limits(request),
    onProgress: ({ done, total, simulation, successes, scored }) =>
      queue.push(
        `${done}/${total} ${simulation.task_id}: ${simulation.termination_reason}, ${successes}/${scored} passed`,
      ),
  }
  const running = runEvaluation(evaluation, around).finally(queue.end)
  running.catch(() => {}) // awaited below, after the progress
  const back = turn.away()
  try {
    yield turn.status('TASK_STATE_WORKING', `Evaluation ${id} on ${domain.name}`)
    for await (const line of queue) yield turn.status('TASK_STATE_WORKING', line)
  } finally {
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
