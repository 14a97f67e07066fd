import { readFile } from 'node:fs/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { A2AConfigInput } from '../../eval/agent/under-test.ts'
import {
  createA2AConfig,
  createGoldenAgent,
  createIdleAgent,
  createJudge,
  createLlmUser,
  type Domain,
  goldenUser,
  type Judge,
  loadResults,
  scriptedUser,
  type UserSimulator,
  ValidationError,
} from '../../eval/index.ts'
import { type PriceTable, parsePriceTable } from '../../eval/metrics.ts'
import type { ChatModel } from '../../eval/model.ts'
import { agreeingJudge } from '../../eval/scorers/built-in.ts'
import { createA2AUser, createHumanUser, createReplayUser } from '../../eval/users.ts'
import type { JsonObject } from '../../index.ts'
import { createServer, listen } from '../../server/index.ts'
import { collect, readSecret, toCount, toSeconds } from '../command.ts'

/** The flags of `corral eval run`, as commander names them. */
export interface RunFlags extends UserFlags, JudgeFlags {
  readonly domain: string
  readonly agent: string
  readonly tau2Data?: string
  readonly agentA2aEndpoint?: string
  readonly agentA2aAuthToken?: string
  readonly agentA2aTimeout: number
  readonly agentA2aNoVerifySsl?: boolean
  readonly credentialOrigin?: readonly string[]
  readonly a2aDebug?: boolean
  readonly numTrials: number
  readonly numTasks?: number
  readonly taskIds?: readonly string[]
  readonly taskSplitName?: string
  readonly maxSteps: number
  readonly maxErrors: number
  readonly maxConcurrency: number
  readonly maxRetries: number
  readonly taskTimeout: number
  readonly seed: number
  readonly strict?: boolean
  readonly saveTo?: string
  readonly resume?: boolean
  readonly repeat: number
  readonly baseline?: string
  readonly maxDrop?: number
  readonly failUnder?: number
  readonly prices?: string
  readonly json?: boolean
}

/** The flags that name a user. */
interface UserFlags {
  /** The scripted one if absent, or, for the agents of a self-test, one that every task has. */
  readonly user?: string
  readonly userLlm?: string
  readonly userLlmUrl: string
  readonly userLlmArgs?: JsonObject
  readonly userLlmKey?: string
  readonly userA2aEndpoint?: string
  readonly userRecording?: string
}

/** The flags that name a judge. */
export interface JudgeFlags {
  readonly judgeLlm?: string
  readonly judgeLlmUrl: string
  readonly judgeLlmArgs?: JsonObject
  readonly judgeLlmKey?: string
}

/** What `--tau2-data` is. */
export const tau2Data = '"data" of a tau2-bench checkout; CORRAL_TAU2_DATA if absent'

/** Adds the flags of `corral eval run`. */
export function addRunOptions(command: Command): Command {
  command
    .option(
      '--domain <name|directory>',
      'built-in domain, the directory of one, or tau2:airline, tau2:retail, tau2:telecom, tau2:mock',
      'kestrel',
    )
    .option('--tau2-data <directory>', tau2Data)
    .addOption(
      new Option('--agent <kind>', 'an agent over A2A, or one of ours that tests the domain')
        .choices(['a2a_agent', 'golden', 'idle'])
        .default('a2a_agent'),
    )
    .option('--agent-a2a-endpoint <url>', 'base URL of the agent, instead of the argument')
    .option(
      '--agent-a2a-auth-token <token>',
      'bearer token; env:NAME or file:PATH reads it from there',
    )
    .option(
      '--credential-origin <origin>',
      'an origin of the card that may get the token too; may be repeated',
      collect,
    )
    .option('--agent-a2a-timeout <seconds>', 'longest wait for an answer', patience, 300)
    .option('--agent-a2a-no-verify-ssl', 'do not check TLS certificates')
    .option('--a2a-debug', 'log messages, contexts and tools to stderr')
    .option('--num-trials <n>', 'tries per task', toCount, 1)
    .option('--num-tasks <n>', 'only the first tasks', toCount)
    .option('--task-ids <ids...>', 'only these tasks')
    .option('--task-split-name <name>', 'only the tasks of this split')
    .option('--max-steps <n>', 'longest conversation, tool steps included', toCount, 200)
    .option('--max-errors <n>', 'most tool errors in a conversation', toCount, 10)
    .option('--max-concurrency <n>', 'simulations at the same time', toCount, 3)
    .option('--max-retries <n>', 'further attempts after an infrastructure fault', whole, 1)
    .option('--task-timeout <seconds>', 'longest simulation', toSeconds, 600)
    .option('--seed <n>', 'seed of the run', whole, 300)
    .option('--strict', 'accept tool calls only as {"tool_call": …}, and no words beside them')
    .option('--save-to <directory>', 'where journal, results and reports go')
    .option('--resume', 'go on with the run in --save-to')
    .option('--repeat <n>', 'run everything this often and show the spread', toCount, 1)
    .option('--baseline <file>', 'earlier results to compare with')
    .option('--max-drop <share>', 'how far the pass rate may fall below the baseline', share)
    .option('--fail-under <share>', 'the lowest pass rate', share)
    .option('--prices <file>', 'price table, JSON')
  return addJudgeOptions(addUserOptions(command))
}

/** The evaluation rejects what is not positive, in the words of its own. */
function patience(text: string): number {
  return number(text) > 0 ? toSeconds(text) : number(text)
}

function number(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || Number.isNaN(value)) throw new InvalidArgumentError('Not a number.')
  return value
}

function whole(text: string): number {
  const value = number(text)
  if (!Number.isInteger(value) || value < 0) throw new InvalidArgumentError('Not a whole number.')
  return value
}

/** A share between 0 and 1. */
export function share(text: string): number {
  const value = number(text)
  if (value < 0 || value > 1) throw new InvalidArgumentError('Not a share between 0 and 1.')
  return value
}

/** Adds the flags that name a judge. */
export function addJudgeOptions(command: Command): Command {
  return addModelOptions(command, 'judge', 'model that judges statements in words')
}

const modelUrl = 'https://api.openai.com/v1'
const keyHelp = 'its key; env:NAME or file:PATH reads it from there; OPENAI_API_KEY if absent'
const argsHelp = 'further members of each request to it, such as {"temperature": 0.5}'

/** Adds the flags that name the model of a role: `--user-llm`, `--judge-llm`, and what belongs to it. */
function addModelOptions(command: Command, role: string, what: string): Command {
  return command
    .option(`--${role}-llm <model>`, what)
    .option(`--${role}-llm-url <url>`, 'its OpenAI-compatible API', modelUrl)
    .option(`--${role}-llm-key <key>`, keyHelp)
    .option(`--${role}-llm-args <json>`, argsHelp, toArgs)
}

function toArgs(text: string): JsonObject {
  try {
    const args: unknown = JSON.parse(text)
    if (typeof args === 'object' && args !== null && !Array.isArray(args)) return args as JsonObject // what JSON.parse gives is JSON
  } catch {} // said below
  throw new InvalidArgumentError('Not a JSON object.')
}

function addUserOptions(command: Command): Command {
  const kinds = ['scripted', 'llm', 'a2a', 'replay', 'human', 'golden']
  command.addOption(
    new Option('--user <kind>', 'who plays the user; scripted if absent').choices(kinds),
  )
  return addModelOptions(command, 'user', 'model that plays the user')
    .option('--user-a2a-endpoint <url>', 'agent that plays the user')
    .option('--user-recording <file>', 'results whose users are replayed')
}

/** An agent to evaluate; whoever asks for it closes it. */
interface OpenAgent {
  readonly config: A2AConfigInput
  close(): Promise<void>
}

/**
 * The agent that the flags name: somebody's, or one of ours, served on this machine for as long as the run takes.
 *
 * @throws ValidationError where there is no endpoint.
 */
export async function openAgent(flags: RunFlags, domain: Domain): Promise<OpenAgent> {
  if (flags.agent === 'a2a_agent') return { config: await toConfig(flags), close: async () => {} }
  const agent = flags.agent === 'golden' ? createGoldenAgent(domain) : createIdleAgent()
  const server = await createServer({ agents: [agent], logger: false })
  const { url, close } = await listen(server, { port: 0, host: '127.0.0.1' })
  return { config: { endpoint: url }, close }
}

async function toConfig(flags: RunFlags): Promise<A2AConfigInput> {
  if (flags.agentA2aEndpoint === undefined)
    throw new ValidationError(
      '--agent-a2a-endpoint is required when using a2a_agent: corral eval run URL',
    )
  return {
    endpoint: flags.agentA2aEndpoint,
    authToken: await readSecret(flags.agentA2aAuthToken),
    timeout: flags.agentA2aTimeout,
    verifySsl: !flags.agentA2aNoVerifySsl,
    credentialOrigins: flags.credentialOrigin,
  }
}

/** The user that the flags name. The agents of a self-test talk to the golden user where a task has no script. */
export async function toUser(flags: RunFlags, { tasks }: Domain): Promise<UserSimulator> {
  const unscripted = flags.agent !== 'a2a_agent' && !tasks.every((task) => task.user_script)
  if (flags.user === 'golden' || (flags.user === undefined && unscripted)) return goldenUser
  if (flags.user === 'llm')
    return createLlmUser(
      await toModel('--user-llm', {
        model: flags.userLlm,
        baseUrl: flags.userLlmUrl,
        args: flags.userLlmArgs,
        key: flags.userLlmKey,
      }),
    )
  if (flags.user === 'a2a')
    return createA2AUser(
      createA2AConfig({ endpoint: needed(flags.userA2aEndpoint, '--user-a2a-endpoint') }),
    )
  if (flags.user === 'replay') {
    const { simulations } = await loadResults(needed(flags.userRecording, '--user-recording'))
    return createReplayUser(simulations)
  }
  if (flags.user === 'human')
    return createHumanUser({ input: process.stdin, output: process.stderr })
  return scriptedUser
}

/** What the flags of one role say of its model. */
interface ModelFlags {
  readonly model: string | undefined
  readonly baseUrl: string
  readonly args: JsonObject | undefined
  readonly key: string | undefined
}

/** The model of a role, with its key. */
async function toModel(flag: string, flags: ModelFlags): Promise<ChatModel> {
  const { baseUrl, args } = flags
  const apiKey = (await readSecret(flags.key)) ?? process.env.OPENAI_API_KEY
  return {
    model: needed(flags.model, flag),
    baseUrl,
    ...(args && { args }),
    ...(apiKey !== undefined && { apiKey }),
  }
}

/** The value of a flag that another flag asks for. */
function needed(value: string | undefined, flag: string): string {
  if (value === undefined) throw new ValidationError(`${flag} is required`)
  return value
}

/** The price table of a file, if one is named. */
export async function toPrices(file: string | undefined): Promise<PriceTable | undefined> {
  return file === undefined ? undefined : parsePriceTable(JSON.parse(await readFile(file, 'utf8')))
}

/** The judge that the flags name, if any; without one nobody doubts the golden agent. */
export async function toJudge(
  flags: JudgeFlags & { readonly agent?: string },
  { prompts }: Domain,
): Promise<Judge | undefined> {
  const { judgeLlm: model, judgeLlmUrl: baseUrl, judgeLlmArgs: args, judgeLlmKey: key } = flags
  if (model === undefined) return flags.agent === 'golden' ? agreeingJudge : undefined
  const chat = await toModel('--judge-llm', { model, baseUrl, args, key })
  return createJudge(chat, { prompt: prompts?.judge })
}
