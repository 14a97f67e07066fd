import { z } from 'zod'
import { findJson } from '../../shared/json.ts'
import { checkOptions, type OptionTable } from '../../shared/options.ts'
import { messageOf, parseWith, sameJson, tryParseSaid, ValidationError } from '../base.ts'
import {
  basisOf,
  type ConversationMessage,
  type Domain,
  type DomainPrompts,
  type EnvAssertion,
  type Environment,
  type EvalTask,
  type GoldAction,
  isToolCall,
  type RewardType,
  type StateHash,
  type ToolCall,
} from '../domain/domain.ts'
import { afterHistory, type Difference, replay } from '../domain/replay.ts'
import {
  type ChatModel,
  checkModel,
  clientOptions,
  type ModelOptions,
  openModel,
} from '../model.ts'
import { isMeasured, type TerminationReason } from '../results/simulation.ts'
import type {
  Judge,
  RewardChecks,
  RewardInfo,
  Score,
  ScoreCheck,
  Scorer,
  ScorerInput,
} from './scorer.ts'

/** A conversation to be scored. */
interface Scorable {
  readonly domain: Domain
  readonly task: EvalTask
  /** The conversation, with the task's history first where it has one. */
  readonly messages: readonly ConversationMessage[]
  /** How the conversation ended. */
  readonly termination: TerminationReason
  /** Judges statements in words. */
  readonly judge?: Judge
  /** Further scorers; their parts count in every task. */
  readonly scorers?: readonly Scorer[]
  readonly signal: AbortSignal
}

/** The fields of a conversation of which nothing was looked at. */
export const noChecks: RewardChecks = {
  db_check: null,
  env_assertions: null,
  action_checks: null,
  communicate_checks: null,
  nl_assertions: null,
}

const empty: RewardInfo = {
  reward: 0,
  ...noChecks,
  reward_basis: [],
  reward_breakdown: {},
  info: {},
}

/**
 * Scores a conversation: the product of the parts that the task's basis names, and of those that your own scorers
 * give. One that nobody brought to its end is worth nothing; one that died of infrastructure has no reward at all. The
 * world is rebuilt from the conversation, so no agent is called.
 */
export async function scoreConversation(scorable: Scorable): Promise<RewardInfo> {
  const { domain, task, messages, termination, scorers = [], judge, signal } = scorable
  const basis = basisOf(task)
  if (!isMeasured({ termination_reason: termination }))
    return { ...empty, reward: null, reward_basis: basis, info: { note: 'Not measured' } }
  if (termination !== 'user_stop' && termination !== 'agent_stop')
    return { ...empty, reward_basis: basis, info: { note: `Ended by ${termination}` } }
  if (!task.evaluation_criteria && scorers.length === 0)
    return { ...empty, reward: 1, info: { note: 'The task has no criteria' } }
  const world = await domain.open(task)
  try {
    const different = await replay(world, afterHistory(task, messages))
    const input = { task, messages, world, domain, judge, signal }
    const scores = await runScorers(scorers, input)
    return combine(scores, task.evaluation_criteria ? basis : [], different)
  } finally {
    await world.close()
  }
}

interface Scores {
  readonly builtIn: Readonly<Record<string, Score>>
  readonly own: Readonly<Record<string, Score>>
  readonly checks: RewardChecks
}

/** A fault of the world ends the simulation; what a judge or a scorer of the run throws leaves its part unscored. */
async function runScorers(scorers: readonly Scorer[], input: ScorerInput): Promise<Scores> {
  const builtIn: Record<string, Score> = {}
  let checks = noChecks
  for (const scorer of Object.values(builtInScorers)) {
    const score = await (needsJudge(scorer, input) ? attempt(scorer, input) : scorer.score(input))
    builtIn[scorer.name] = score
    if ('fields' in score) checks = { ...checks, ...score.fields }
  }
  const own: Record<string, Score> = {}
  for (const scorer of scorers) own[scorer.name] = await attempt(scorer, input)
  return { builtIn, own, checks }
}

function needsJudge(scorer: Scorer, { task }: ScorerInput): boolean {
  return scorer.needs?.(task).includes('judge') ?? false
}

interface BuiltInScore extends Score {
  readonly fields: Partial<RewardChecks>
}

async function attempt(scorer: Scorer, input: ScorerInput): Promise<Score | BuiltInScore> {
  if (needsJudge(scorer, input) && !input.judge) return unscored('no judge is configured')
  try {
    return checkScore(await scorer.score(input))
  } catch (error) {
    input.signal.throwIfAborted()
    return unscored(messageOf(error))
  }
}

function unscored(note: string): Score {
  return { reward: null, checks: [], note }
}

function checkScore(score: Score): Score {
  if (score.reward !== null && !(score.reward >= 0 && score.reward <= 1))
    throw new Error(`a reward must be from 0 to 1, got ${score.reward}`)
  return score
}

function combine(
  { builtIn, own, checks }: Scores,
  basis: readonly RewardType[],
  different: readonly Difference[],
): RewardInfo {
  const parts = [
    ...basis.map(
      (name) => [name, builtIn[name] ?? unscored(`there is no scorer ${name}`)] as const,
    ),
    ...Object.entries(own),
  ]
  const missing = parts.filter(([, { reward }]) => reward === null)
  const reasons = missing.flatMap(([, { note }]) => note ?? [])
  const notes = [
    ...(different.length > 0
      ? [`Replayed calls that differ: ${different.map(({ name }) => name).join(', ')}`]
      : []),
    ...(reasons.length > 0 ? [`Unscored: ${reasons.join('; ')}`] : []),
  ]
  return {
    reward:
      missing.length > 0 ? null : parts.reduce((all, [, part]) => all * (part.reward ?? 1), 1),
    ...checks,
    reward_basis: basis,
    reward_breakdown: Object.fromEntries(parts.map(([name, { reward }]) => [name, reward])),
    ...(Object.keys(own).length > 0 && { own_scores: own }),
    info: {
      ...(notes.length > 0 && { note: notes.join('. ') }),
      ...(missing.length > 0 && { unscored: missing.map(([name]) => name) }),
    },
  }
}

/** A scorer that tasks name in `reward_basis`; what it finds has a field of its own in the results, as in tau2's. */
interface BuiltInScorer extends Scorer {
  readonly name: RewardType
  score(input: ScorerInput): Promise<BuiltInScore>
  /** What a recorded field says; undefined where it was not judged. */
  reasons(recorded: RewardChecks): readonly ScoreCheck[] | undefined
}

/** The scorers that tasks name in `reward_basis`. They run in this order: an assertion may change the world. */
export const builtInScorers: Readonly<Record<RewardType, BuiltInScorer>> = {
  // Whether the world that the conversation left equals the one that the golden actions make, in both halves.
  DB: defineBuiltIn({
    name: 'DB',
    needs: () => ['state'],
    async find({ domain, task, world }) {
      const met = asksNothing(task) || sameHash(await world.hash(), await goldHash(domain, task))
      return { db_check: { db_match: met, db_reward: met ? 1 : 0 } }
    },
    reasons: ({ db_check }) =>
      db_check ? [{ what: 'final state is the golden one', met: db_check.db_match }] : undefined,
  }),
  // Whether each assertion holds in the world that the conversation left. One that throws is not met, and says so.
  ENV_ASSERTION: defineBuiltIn({
    name: 'ENV_ASSERTION',
    async find({ task, world }) {
      const checks: AssertionCheck[] = []
      for (const assertion of task.evaluation_criteria?.env_assertions ?? [])
        checks.push(await check(assertion, world))
      return { env_assertions: checks }
    },
    reasons: ({ env_assertions }) =>
      env_assertions?.map(({ env_assertion, met, note }) => ({
        what: env_assertion.func_name,
        met,
        ...(note !== undefined && { why: note }),
      })),
  }),
  // Whether each golden action was done by some call of the conversation, in any order.
  ACTION: defineBuiltIn({
    name: 'ACTION',
    find({ task, messages }) {
      const calls = messages.flatMap((message) =>
        message.role !== 'tool' && isToolCall(message) ? (message.tool_calls ?? []) : [],
      )
      const actions = task.evaluation_criteria?.actions ?? []
      return {
        action_checks: actions.map((action) => {
          const met = calls.some((call) => matches(action, call))
          return { action, action_match: met, action_reward: met ? 1 : 0 }
        }),
      }
    },
    reasons: ({ action_checks }) =>
      action_checks?.map(({ action, action_match }) => ({
        what: `did ${action.name}(${JSON.stringify(action.arguments)})`,
        met: action_match,
      })),
  }),
  // Whether each fact was told to the user, in any of the agent's words; case and thousands separators do not matter.
  COMMUNICATE: defineBuiltIn({
    name: 'COMMUNICATE',
    find({ task, messages }) {
      const texts = messages
        .filter((message) => message.role === 'assistant')
        .map((message) => (message.content ?? '').toLowerCase().replaceAll(',', ''))
      const facts = task.evaluation_criteria?.communicate_info ?? []
      return {
        communicate_checks: facts.map((info) => ({
          info,
          met: texts.some((text) => text.includes(info.toLowerCase())),
        })),
      }
    },
    reasons: ({ communicate_checks }) =>
      communicate_checks?.map(({ info, met }) => ({ what: `said "${info}"`, met })),
  }),
  // Whether a judge finds the task's statements about the conversation true.
  NL_ASSERTION: defineBuiltIn({
    name: 'NL_ASSERTION',
    needs: (task) => (statementsOf(task).length > 0 ? ['judge'] : []),
    async find({ task, messages, judge, signal }) {
      const statements = statementsOf(task)
      if (statements.length === 0) return { nl_assertions: [] }
      return { nl_assertions: (await judge?.(statements, messages, signal)) ?? null }
    },
    reasons: ({ nl_assertions }) =>
      nl_assertions?.map(({ nl_assertion, met, justification }) => ({
        what: nl_assertion,
        met,
        ...(justification && { why: justification }),
      })),
  }),
}

/** A built-in scorer by what it finds: 1 where all is met, also where nothing is asked; null where nobody judged. */
function defineBuiltIn(
  row: Pick<BuiltInScorer, 'name' | 'needs' | 'reasons'> & {
    find(input: ScorerInput): Promise<Partial<RewardChecks>> | Partial<RewardChecks>
  },
): BuiltInScorer {
  return {
    ...row,
    async score(input) {
      const fields = await row.find(input)
      const checks = row.reasons({ ...noChecks, ...fields })
      const reward = checks ? Number(checks.every(({ met }) => met)) : null
      return { reward, checks: checks ?? [], fields }
    },
  }
}

/** tau2's rule: a task that names neither actions nor assertions leaves the world to the agent. */
function asksNothing({ evaluation_criteria: criteria }: EvalTask): boolean {
  return !criteria?.actions && !criteria?.env_assertions
}

function sameHash(a: StateHash, b: StateHash): boolean {
  return a.agent === b.agent && a.user === b.user
}

/** The world after the golden actions; one that fails has no effect, as in tau2's evaluator. */
async function goldHash(domain: Domain, task: EvalTask): Promise<StateHash> {
  const gold = await domain.open(task)
  try {
    for (const action of task.evaluation_criteria?.actions ?? []) await gold.apply(action)
    return await gold.hash()
  } finally {
    await gold.close()
  }
}

type AssertionCheck = NonNullable<RewardChecks['env_assertions']>[number]

async function check(env_assertion: EnvAssertion, world: Environment): Promise<AssertionCheck> {
  try {
    return { env_assertion, met: await world.assert(env_assertion) }
  } catch (error) {
    return { env_assertion, met: false, note: messageOf(error) }
  }
}

/**
 * Same tool, same caller, equal arguments: those named by `compare_args`, or, where it is null, those that the call
 * brings (so an argument left out does not count against it, as in tau2). An empty list compares the name alone.
 */
function matches(action: GoldAction, call: ToolCall): boolean {
  if (call.name !== action.name || call.requestor !== (action.requestor ?? 'assistant'))
    return false
  const names = action.compare_args ?? Object.keys(call.arguments)
  return names.every((name) => sameJson(call.arguments[name], action.arguments[name]))
}

function statementsOf(task: EvalTask): readonly string[] {
  return task.evaluation_criteria?.nl_assertions ?? []
}

/** What a reward is made of, in words: every check of every scorer. */
export function reasonsOf(info: RewardInfo): readonly ScoreCheck[] {
  const builtIn = Object.values(builtInScorers).flatMap((scorer) => scorer.reasons(info) ?? [])
  return [...builtIn, ...Object.values(info.own_scores ?? {}).flatMap(({ checks }) => checks)]
}

/** Whether a task is scored by the final state of its world. */
export function needsState(task: EvalTask): boolean {
  if (!task.evaluation_criteria) return false
  return basisOf(task).some((name) => builtInScorers[name].needs?.(task).includes('state'))
}

/**
 * Checks the scorers that a run brings.
 *
 * @throws ValidationError for a name that is empty, a built-in scorer's, or given twice.
 */
export function checkScorers(scorers: readonly Scorer[]): void {
  const names = new Set<string>(Object.keys(builtInScorers))
  for (const { name } of scorers) {
    if (name === '') throw new ValidationError('A scorer needs a name')
    if (names.has(name)) throw new ValidationError(`There is another scorer of the name ${name}`)
    names.add(name)
  }
}

/** What a judge works with. */
export interface JudgeOptions extends ModelOptions {
  /** A domain's own words; those of general use if absent. */
  readonly prompt?: DomainPrompts['judge'] | undefined
}

const judgeOptions: OptionTable<JudgeOptions> = { ...clientOptions, prompt: 'function' }

/** Our words for a verdict, or tau2's. */
const verdict = z.union([
  z.object({ met: z.boolean(), justification: z.string().default('') }),
  z
    .object({ metExpectation: z.boolean(), reasoning: z.string().default('') })
    .transform(({ metExpectation: met, reasoning: justification }) => ({ met, justification })),
])

const verdicts = z.object({ results: z.array(verdict) })

/** Makes a judge that asks a model behind an OpenAI-compatible API. */
export function createJudge(chat: ChatModel, options: JudgeOptions = {}): Judge {
  checkModel('createJudge', chat)
  checkOptions('createJudge', options, judgeOptions)
  const model = openModel(chat, options)
  return async (statements, messages, signal) => {
    const { system, user } = (options.prompt ?? generalPrompt)(statements, messages)
    const request = {
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: user },
      ],
      // A domain's own words say themselves what they want; not every service knows this member.
      ...(!options.prompt && { response_format: { type: 'json_object' } as const }),
    } as const
    const { text } = await model.ask(request, signal)
    const { results } = parseWith(verdicts, readAnswer(text), "judge's answer")
    return statements.map((nl_assertion, index) => ({
      nl_assertion,
      met: results[index]?.met ?? false,
      justification: results[index]?.justification ?? 'The judge gave no verdict',
    }))
  }
}

const instructions = `You judge a conversation between a service desk and a customer. For each numbered statement,
decide whether the conversation makes it true. Answer with JSON:
{"results": [{"met": true or false, "justification": "one sentence"}, …]}, one entry per statement, in order.`

const generalPrompt: DomainPrompts['judge'] = (statements, messages) => {
  const list = statements.map((text, index) => `${index + 1}. ${text}`).join('\n')
  const user = `<conversation>\n${transcriptOf(messages)}\n</conversation>\n\n${list}`
  return { system: instructions, user }
}

function transcriptOf(messages: readonly ConversationMessage[]): string {
  return messages
    .map((message) => {
      if (message.role === 'tool') return `tool: ${message.content}`
      if (!isToolCall(message)) return `${message.role}: ${message.content}`
      return `${message.role} calls: ${JSON.stringify(message.tool_calls)}`
    })
    .join('\n')
}

/** The object of an answer, also where it stands in a fence or in prose. */
function readAnswer(text: string): unknown {
  const whole = tryParseSaid(text)
  if (whole !== undefined) return whole
  const found = findJson(text).map(({ value }) => value)
  return found.find((value) => 'results' in value) ?? found[0] ?? null
}

/** A judge that finds everything true without looking: for tests of a domain. */
export const agreeingJudge: Judge = async (statements) =>
  statements.map((nl_assertion) => ({ nl_assertion, met: true, justification: 'Not asked' }))
