import { z } from 'zod'
import type { JsonObject } from '../../protocol/types.ts'
import { checkArgument } from '../../shared/options.ts'
import { messageOf, parseWith, ValidationError } from '../base.ts'
import { isSuccess } from '../results/simulation.ts'
import { greeting } from '../run/simulate.ts'
import { agreeingJudge, scoreConversation } from '../scorers/built-in.ts'
import type { Judge, RewardInfo } from '../scorers/scorer.ts'
import { toJson } from '../tau2/bridge.ts'
import { parseJson } from '../tau2/python/json.ts'
import {
  type ConversationMessage,
  type Domain,
  type EvalTask,
  type Requestor,
  type SpokenMessage,
  spoken,
  type ToolOutcome,
} from './domain.ts'
import { createCallCheck, historyOf } from './replay.ts'

/** Something that a domain's author should see. A warning may be meant so: where refusing is right, nothing is done. */
interface Finding {
  readonly level: 'error' | 'warning'
  readonly kind: FindingKind
  readonly task_id: string | null
  readonly message: string
}

/** What can be wrong with a domain. */
type FindingKind =
  | 'set-up' // the world does not open: an unknown function, data or a history that do not fit
  | 'unknown tool'
  | 'schema' // a golden action's arguments break the tool's own schema
  | 'raises' // a golden action ends in an error
  | 'assertion' // an assertion cannot be evaluated: an unknown function, or one that raises
  | 'oracle' // doing all golden actions and telling all facts does not score 1
  | 'split' // a split names a task that is not there
  | 'idle' // doing nothing scores 1

/** A call to be executed in a domain's world. */
interface PlannedCall {
  readonly name: string
  /** Who calls; the agent if absent. */
  readonly requestor?: Requestor
  readonly arguments?: JsonObject
}

/** What a check of a domain found. */
export interface CheckReport {
  readonly domain: string
  readonly tasks: number
  /** How many tasks the golden actions pass, with every statement for a judge taken as true. */
  readonly oracle: { readonly passed: number; readonly of: number }
  /** How many tasks pass without any action. */
  readonly idle: { readonly passed: number; readonly of: number }
  /** What its author should see. */
  readonly findings: readonly Finding[]
}

/**
 * Checks a domain by itself, without agent, user or judge: that its solutions work, and that doing nothing does not
 * pass.
 */
export async function checkDomain(domain: Domain): Promise<CheckReport> {
  checkArgument('checkDomain', 'the domain', domain, 'object')
  checkArgument('checkDomain', 'tasks of the domain', domain.tasks, 'array')
  const findings = [...checkSplits(domain)]
  let [oracle, idle] = [0, 0]
  for (const task of domain.tasks) {
    const checked = await checkTask(domain, task)
    findings.push(...checked.findings)
    if (checked.solves) oracle++
    if (checked.idles) idle++
  }
  const of = domain.tasks.length
  return {
    domain: domain.name,
    tasks: of,
    oracle: { passed: oracle, of },
    idle: { passed: idle, of },
    findings,
  }
}

function* checkSplits({ splits, tasks }: Domain): Iterable<Finding> {
  const known = new Set(tasks.map(({ id }) => id))
  for (const [name, ids] of Object.entries(splits))
    for (const id of ids)
      if (!known.has(id))
        yield { level: 'error', kind: 'split', task_id: id, message: `${name} names no task ${id}` }
}

interface TaskCheck {
  readonly findings: readonly Finding[]
  readonly solves: boolean
  readonly idles: boolean
}

async function checkTask(domain: Domain, task: EvalTask): Promise<TaskCheck> {
  const find = finder(task)
  try {
    const { messages, findings } = await solve(domain, task)
    const oracle = await score(domain, task, messages)
    const idling = [...historyOf(task), spoken('assistant', greeting)]
    const idle = await score(domain, task, idling, null)
    const [solves, idles] = [isPassed(oracle), isPassed(idle)]
    return {
      findings: [
        ...findings,
        ...brokenAssertions(oracle).map((message) => find('assertion', message)),
        ...(solves ? [] : [find('oracle', `The golden actions score ${explain(oracle)}`)]),
        ...(idles ? [find('idle', 'Doing nothing passes')] : []),
      ],
      solves,
      idles,
    }
  } catch (error) {
    return { findings: [find('set-up', messageOf(error))], solves: false, idles: false }
  }
}

function finder({ id }: EvalTask): (kind: FindingKind, message: string) => Finding {
  return (kind, message) => ({
    level: kind === 'idle' ? 'warning' : 'error',
    kind,
    task_id: id,
    message,
  })
}

interface Solution {
  readonly messages: readonly ConversationMessage[]
  readonly findings: readonly Finding[]
}

/** The conversation of an oracle: every golden action by the one whose it is, then every fact that is to be told. */
async function solve(domain: Domain, task: EvalTask): Promise<Solution> {
  const world = await domain.open(task)
  try {
    const find = finder(task)
    const { tools, userTools } = world
    const checks = { assistant: createCallCheck(tools), user: createCallCheck(userTools) }
    const messages: ConversationMessage[] = [...historyOf(task), spoken('assistant', greeting)]
    const findings: Finding[] = []
    for (const [index, action] of (task.evaluation_criteria?.actions ?? []).entries()) {
      const { name, requestor = 'assistant', arguments: args } = action
      const call = { id: `golden_${index}`, name, requestor, arguments: args }
      const { content, error } = await world.call(call)
      if (world.kindOf(name, requestor)) {
        const fault = checks[requestor](call)
        if (fault) findings.push(find('schema', `${name}: ${fault}`))
        if (error) findings.push(find('raises', `${name}: ${content}`))
      } else findings.push(find('unknown tool', `${requestor} has no tool ${name}`))
      messages.push(spoken(requestor, null, [call]))
      messages.push({ id: call.id, role: 'tool', name, content, requestor, error })
    }
    const facts = task.evaluation_criteria?.communicate_info ?? []
    messages.push(spoken('assistant', `It has been done: ${facts.join('; ')}.`))
    return { messages, findings }
  } finally {
    await world.close()
  }
}

const stop: SpokenMessage = spoken('user', '###STOP###')

function score(
  domain: Domain,
  task: EvalTask,
  messages: readonly ConversationMessage[],
  judge: Judge | null = agreeingJudge,
): Promise<RewardInfo> {
  return scoreConversation({
    domain,
    task,
    messages: [...messages, stop],
    termination: 'user_stop',
    signal: new AbortController().signal,
    ...(judge && { judge }),
  })
}

function isPassed({ reward }: RewardInfo): boolean {
  return reward !== null && isSuccess(reward)
}

function brokenAssertions({ env_assertions }: RewardInfo): readonly string[] {
  return (env_assertions ?? []).flatMap(({ env_assertion, note }) =>
    note === undefined ? [] : [`${env_assertion.func_name}: ${note}`],
  )
}

function explain({ reward, reward_breakdown }: RewardInfo): string {
  const parts = Object.entries(reward_breakdown).map(([name, part]) => `${name} ${part}`)
  return `${reward} (${parts.join(', ')})`
}

const calls = z.array(
  z.looseObject({
    name: z.string(),
    requestor: z.enum(['assistant', 'user']).optional(),
    arguments: z.record(z.string(), z.json()).optional(),
  }),
)

/**
 * Reads a list of calls, `[{"name", "requestor", "arguments"}, …]`.
 *
 * @throws ValidationError where the text is not such a list.
 */
export function parseCalls(text: string): readonly PlannedCall[] {
  const value = read(text)
  parseWith(calls, value, 'calls')
  // Just checked; the check's own copy would not know any more which numbers were written with a fraction.
  return value as readonly PlannedCall[]
}

function read(text: string): unknown {
  try {
    return toJson(parseJson(text))
  } catch (error) {
    throw new ValidationError(`The calls are no JSON: ${messageOf(error)}`, { cause: error })
  }
}

/** What calls gave back, and what they left of the world. */
interface CallReport {
  /** What each call gave back, in order. */
  readonly outputs: readonly ToolOutcome[]
  /** The hash of the agent's half of the world afterwards. */
  readonly agent_hash: string
  /** The hash of the user's half; null where the user has no state of their own. */
  readonly user_hash: string | null
}

/**
 * Runs calls in a fresh world: that of a task after its set-up, or the domain's own. What a tool refuses is an output
 * like any other.
 *
 * @throws ValidationError for a task that the domain does not have.
 */
export async function runCalls(
  domain: Domain,
  planned: readonly PlannedCall[],
  taskId?: string,
): Promise<CallReport> {
  const world = await domain.open(taskId === undefined ? { id: '' } : taskOf(domain, taskId))
  try {
    const outputs: ToolOutcome[] = []
    for (const [index, call] of planned.entries()) {
      const { name, requestor = 'assistant', arguments: args = {} } = call
      outputs.push(await world.call({ id: `call_${index}`, name, requestor, arguments: args }))
    }
    const { agent, user } = await world.hash()
    return { outputs, agent_hash: agent, user_hash: user }
  } finally {
    await world.close()
  }
}

function taskOf(domain: Domain, id: string): EvalTask {
  const task = domain.tasks.find((one) => one.id === id)
  if (!task) throw new ValidationError(`The domain ${domain.name} has no task ${id}`)
  return task
}
