import { type Command, InvalidArgumentError } from 'commander'
import {
  agreeingJudge,
  type ChatModel,
  createJudge,
  type Domain,
  type Judge,
  ValidationError,
} from '../../eval/index.ts'
import type { JsonObject } from '../../index.ts'
import { readSecret } from '../secret.ts'

/** The flags that name a judge. */
export interface JudgeFlags {
  readonly judgeLlm?: string
  readonly judgeLlmUrl: string
  readonly judgeLlmArgs?: JsonObject
  readonly judgeLlmKey?: string
}

const modelUrl = 'https://api.openai.com/v1'
const keyHelp = 'its key; env:NAME or file:PATH reads it from there; OPENAI_API_KEY if absent'
const argsHelp = 'further members of each request to it, such as {"temperature": 0.5}'

/** Adds the flags that name the model of a role: `--user-llm`, `--judge-llm`, and what belongs to it. */
export function addModelOptions(command: Command, role: string, what: string): Command {
  return command
    .option(`--${role}-llm <model>`, what)
    .option(`--${role}-llm-url <url>`, 'its OpenAI-compatible API', modelUrl)
    .option(`--${role}-llm-key <key>`, keyHelp)
    .option(`--${role}-llm-args <json>`, argsHelp, toArgs)
}

/** Adds the flags that name a judge. */
export function addJudgeOptions(command: Command): Command {
  return addModelOptions(command, 'judge', 'model that judges statements in words')
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

/** What the flags of one role say of its model. */
interface ModelFlags {
  readonly model: string | undefined
  readonly baseUrl: string
  readonly args: JsonObject | undefined
  readonly key: string | undefined
}

/** The model of a role, with its key. */
export async function toModel(flag: string, flags: ModelFlags): Promise<ChatModel> {
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
export function needed(value: string | undefined, flag: string): string {
  if (value === undefined) throw new ValidationError(`${flag} is required`)
  return value
}

function toArgs(text: string): JsonObject {
  try {
    const args: unknown = JSON.parse(text)
    if (typeof args === 'object' && args !== null && !Array.isArray(args)) return args as JsonObject // what JSON.parse gives is JSON
  } catch {} // said below
  throw new InvalidArgumentError('Not a JSON object.')
}
