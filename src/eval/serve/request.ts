import { z } from 'zod'
import { textOf } from '../../protocol/task.ts'
import type { Message } from '../../protocol/types.ts'
import { findJson } from '../../shared/embedded-json.ts'
import { readUtterances, type ToolCallRequest } from '../agent/dialects.ts'
import { ValidationError } from '../base/errors.ts'
import { isJsonObject, parseWith, tryParseSaid } from '../base/json.ts'
import { presentName } from '../domain/names.ts'

/** What can be asked of the evaluator. */
export type EvaluatorRequest =
  | ({ readonly skill: 'run_evaluation' } & RunRequest)
  | { readonly skill: 'list_domains' }
  | { readonly skill: 'get_evaluation_results'; readonly evaluation_id?: string | undefined }

/** An evaluation to run. */
export interface RunRequest {
  readonly agent_endpoint: string
  readonly domain: string
  readonly num_trials?: number | undefined
  readonly num_tasks?: number | undefined
  readonly task_ids?: readonly string[] | undefined
  readonly max_steps?: number | undefined
}

const positive = z.int().min(1).max(10_000)
const limits = {
  domain: z.string().default('kestrel').transform(presentName),
  num_trials: positive.optional(),
  num_tasks: positive.nullish().transform((n) => n ?? undefined),
  task_ids: z
    .array(z.union([z.string(), z.number()]).transform(String))
    .nullish()
    .transform((ids) => ids ?? undefined),
  max_steps: positive.optional(),
}
const runArguments = z.object({ agent_endpoint: z.string(), ...limits })
const agentBeats = z.object({
  participants: z.looseObject({ agent: z.string() }),
  config: z
    .object(limits)
    .default({ domain: 'kestrel', num_tasks: undefined, task_ids: undefined }),
})
const resultArguments = z.object({ evaluation_id: z.string().optional() })

/**
 * Reads what a message asks for: AgentBeats' `{"participants": {"agent": url}, "config": {…}}`, a tool call
 * `run_evaluation` (or `run_tau2_evaluation`), `list_domains`, `get_evaluation_results`, as data or as JSON in text;
 * or, in words, "list domains" and "list results".
 *
 * @throws ValidationError that says what can be asked.
 */
export function readRequest(message: Message): EvaluatorRequest {
  const text = textOf(message.parts)
  const data = message.parts.flatMap((part) => ('data' in part ? [part.data] : []))
  for (const value of [
    ...data,
    tryParseSaid(text),
    ...findJson(text).map((found) => found.value),
  ]) {
    const request = readValue(value)
    if (request) return request
  }
  if (/\bdomains?\b/i.test(text)) return { skill: 'list_domains' }
  if (/\b(results|evaluations)\b/i.test(text)) return { skill: 'get_evaluation_results' }
  throw new ValidationError(
    'Ask for run_evaluation {"agent_endpoint", "domain"}, list_domains, or get_evaluation_results {"evaluation_id"}',
  )
}

function readValue(value: unknown): EvaluatorRequest | undefined {
  if (isJsonObject(value) && isJsonObject(value.participants)) {
    const { participants, config } = parseWith(agentBeats, value, 'request')
    return { skill: 'run_evaluation', agent_endpoint: participants.agent, ...config }
  }
  const [first] = readUtterances(value) ?? []
  return first && 'call' in first ? readCall(first.call) : undefined
}

function readCall({ name, arguments: args }: ToolCallRequest): EvaluatorRequest | undefined {
  if (name === 'run_evaluation' || name === 'run_tau2_evaluation')
    return { skill: 'run_evaluation', ...parseWith(runArguments, args, 'request') }
  if (name === 'list_domains') return { skill: 'list_domains' }
  if (name === 'get_evaluation_results')
    return { skill: name, ...parseWith(resultArguments, args, 'request') }
  return undefined
}
