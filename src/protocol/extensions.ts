import { isFields } from '../shared/json.ts'
import type { AgentCard, Json, JsonObject } from './types.ts'

/**
 * The extensions of the protocol that Corral brings (specification §4.6). Their data stands in `metadata`
 * under the URI; a breaking change is a new URI.
 */

/**
 * The URI that every card of Corral declares: a send that is repeated with the same `Idempotency-Key` header gives the
 * same task.
 */
export const idempotencyExtension = 'urn:corral:extensions:idempotency:v1'

/** Why a task failed, in its status message's metadata: `{ code }`, an ErrorCode. */
export const errorExtension = 'urn:corral:extensions:error:v1'

/** What happened inside a task: delegations, replies, retries, durations, tokens, costs. Only for callers that activate it. */
export const traceExtension = 'urn:corral:extensions:trace:v1'

/**
 * Why things failed, in the metadata of a task: a list of explanations. It comes with the trace, and only for operators, or
 * for everyone where only this machine reaches a server that asks for no credentials.
 */
export const whyExtension = 'urn:corral:extensions:why:v1'

/** What was used: `{ inputTokens, outputTokens, cachedInputTokens?, costUsd?, model?, estimated? }`. */
export const usageExtension = 'urn:corral:extensions:usage:v1'

/**
 * Why an answer is not whole, in the metadata of its artifact or of the status message: `{ reason }`, which is `length` where
 * the model had no more tokens, `content_filter` where its service cut the answer, and `refusal` where the model says no.
 */
export const finishExtension = 'urn:corral:extensions:finish:v1'

/** The agents a message has passed through, in its metadata: a list of ids; guards against endless loops over HTTP. */
export const hopsExtension = 'urn:corral:extensions:hops:v1'

/**
 * Earlier turns that a stateless client sends along, in its message's metadata:
 * `{ messages: [{ role: 'system' | 'user' | 'assistant', content }] }`. To agents that take the client's tools an
 * assistant's turn may have `toolCalls: [{ id, name, arguments, extra? }]`, and there are turns
 * `{ role: 'tool', toolCallId, content }`.
 */
export const historyExtension = 'urn:corral:extensions:history:v1'

/**
 * Tools that the client runs itself. Its message's metadata offer them: `{ tools: [{ name, description, parameters }] }`,
 * and say of a message that is a tool's result which call it answers: `{ toolCallId }`. The metadata of the answer's artifact
 * say which the agent calls: `{ toolCalls: [{ id, name, arguments, extra? }] }`; the task is then over, and the client sends the
 * results with the earlier turns in a message of its own.
 */
export const clientToolsExtension = 'urn:corral:extensions:client-tools:v1'

/** That the user did not approve, in the metadata of a rejected task's status message: `{ approved: false }`. */
export const approvalExtension = 'urn:corral:extensions:approval:v1'

/** JSON Schemas of skills, in the card's declaration: `{ [skillId]: { inputSchema, outputSchema } }`. */
export const skillSchemasExtension = 'urn:corral:extensions:skill-schemas:v1'

/** The URI of client routing: the agents that a message may go to next, and the one that was chosen. */
export const clientRoutingExtension = 'https://ranch.woi.dev/extensions/client-routing/v1'

/** Whether an agent knows a repeated send by its `Idempotency-Key`. */
export function declaresIdempotency(card: AgentCard | undefined): boolean {
  return card?.capabilities.extensions?.some((e) => e.uri === idempotencyExtension) ?? false
}

/** What an answer used: tokens, their cost, the model. */
export interface Usage {
  /** Tokens that the model read. */
  readonly inputTokens: number
  /** Tokens that the model wrote. */
  readonly outputTokens: number
  /** Those of the input that the service had in its cache, where it tells. */
  readonly cachedInputTokens?: number
  /** What that cost in US dollars, so far as there were prices. */
  readonly costUsd?: number
  /** The model that answered. */
  readonly model?: string
  /** True where the numbers are a guess from lengths, not the model's own count. */
  readonly estimated?: boolean
}

/** The usage recorded in metadata, if there is any and it is whole. */
export function usageOf(metadata: JsonObject | undefined): Usage | undefined {
  const value = metadata?.[usageExtension]
  if (typeof value !== 'object' || value === null || !('inputTokens' in value)) return undefined
  const { inputTokens, outputTokens, cachedInputTokens, costUsd, model, estimated } = value
  if (typeof inputTokens !== 'number' || typeof outputTokens !== 'number') return undefined
  return {
    inputTokens,
    outputTokens,
    ...(isAmount(cachedInputTokens) && { cachedInputTokens }),
    ...(isAmount(costUsd) && { costUsd }),
    ...(typeof model === 'string' && { model }),
    ...(estimated === true && { estimated }),
  }
}

/** Usage as the metadata that carries it. */
export function toUsageMetadata(usage: Usage): JsonObject {
  return { [usageExtension]: { ...usage } }
}

/** The amounts of a usage, as traces and logs show them. */
export function toAmounts({ inputTokens, outputTokens, costUsd }: Usage): UsageAmounts {
  return { inputTokens, outputTokens, ...(costUsd !== undefined && { costUsd }) }
}

/** The tokens of a usage, and its cost where that is known. */
type UsageAmounts = Pick<Usage, 'inputTokens' | 'outputTokens' | 'costUsd'>

/** The sum of two usages; the model is named only where both agree. */
export function addUsage(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  if (!a || !b) return a ?? b
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    ...sumOf('cachedInputTokens', a, b),
    ...sumOf('costUsd', a, b),
    ...(a.model !== undefined && a.model === b.model && { model: a.model }),
    ...((a.estimated || b.estimated) && { estimated: true }),
  }
}

/** What `whole` has beyond a part of it that is known already; undefined where that is nothing. */
export function usageBeyond(part: Usage | undefined, whole: Usage): Usage | undefined {
  if (!part) return whole
  const { cachedInputTokens, costUsd, ...rest } = whole
  const inputTokens = beyond(part.inputTokens, whole.inputTokens)
  const outputTokens = beyond(part.outputTokens, whole.outputTokens)
  const cost = beyond(part.costUsd, costUsd)
  if (inputTokens + outputTokens + cost === 0) return undefined
  return {
    ...rest,
    inputTokens,
    outputTokens,
    ...(cachedInputTokens !== undefined && {
      cachedInputTokens: beyond(part.cachedInputTokens, cachedInputTokens),
    }),
    ...(costUsd !== undefined && { costUsd: cost }),
  }
}

/** Why a model's answer is not whole. */
type FinishReason = 'length' | 'content_filter' | 'refusal'

const finishReasons: ReadonlySet<unknown> = new Set<FinishReason>([
  'length',
  'content_filter',
  'refusal',
])

/** The reason that metadata have for an answer that is not whole; undefined where it is whole. */
export function finishOf(metadata: JsonObject | undefined): FinishReason | undefined {
  const value = metadata?.[finishExtension]
  const reason = isFields(value) ? value.reason : undefined
  return finishReasons.has(reason) ? (reason as FinishReason) : undefined // one of the set
}

/** The metadata of an answer that ended like this; undefined where it is whole. */
export function toFinishMetadata(reason: string | undefined): JsonObject | undefined {
  return reason !== undefined && finishReasons.has(reason)
    ? { [finishExtension]: { reason } }
    : undefined
}

/** A guess of the usage from the lengths of texts: four characters are a token. Always flagged. */
export function estimateUsage(input: string, output: string): Usage {
  return {
    inputTokens: Math.ceil(input.length / 4),
    outputTokens: Math.ceil(output.length / 4),
    estimated: true,
  }
}

function beyond(part = 0, whole = 0): number {
  return Math.max(0, toExact(whole - part))
}

/** The sum of what only some usages have; nothing where neither does. */
function sumOf(
  name: 'cachedInputTokens' | 'costUsd',
  a: Usage,
  b: Usage,
): Pick<Usage, 'cachedInputTokens' | 'costUsd'> {
  if (a[name] === undefined && b[name] === undefined) return {}
  return { [name]: toExact((a[name] ?? 0) + (b[name] ?? 0)) }
}

/** Sums of small prices end in noise beyond any price; a limit is compared with what people would add up. */
function toExact(amount: number): number {
  return Math.round(amount * 1e12) / 1e12
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0
}

/** A tool that the client runs itself, as the extension writes it. */
export type OfferedTool = {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments, an object. */
  readonly parameters: JsonObject
}

/** An agent's wish that its client runs a tool; the arguments are the model's own text. */
export type ClientToolCall = {
  readonly id: string
  readonly name: string
  readonly arguments: string
  /** Fields of the model service's own, such as a signature, which belong to the call when it is sent back. */
  readonly extra?: JsonObject
}

/** What a client says of its tools. */
interface ClientTools {
  readonly tools: readonly OfferedTool[]
  /** The call that the message answers. */
  readonly toolCallId?: string
}

/** A client's tools as the metadata that carry them. */
export function toClientToolsMetadata({ tools, toolCallId }: ClientTools): JsonObject {
  return { [clientToolsExtension]: { tools, ...(toolCallId !== undefined && { toolCallId }) } }
}

/** The tools that a message's metadata offer. What has no name is left out. */
export function clientToolsOf(metadata: JsonObject | undefined): ClientTools {
  const { tools, toolCallId } = sectionOf(metadata)
  const list: readonly Json[] = Array.isArray(tools) ? tools : []
  return {
    tools: list.flatMap((tool) => (isFields(tool) ? toClientTool(tool) : [])),
    ...(typeof toolCallId === 'string' && { toolCallId }),
  }
}

function sectionOf(metadata: JsonObject | undefined): JsonObject {
  const section = metadata?.[clientToolsExtension]
  return isFields(section) ? section : {}
}

function toClientTool({ name, description, parameters }: JsonObject): OfferedTool[] {
  if (typeof name !== 'string' || name === '') return []
  return [
    {
      name,
      description: typeof description === 'string' ? description : '',
      parameters: isFields(parameters) ? parameters : { type: 'object', properties: {} },
    },
  ]
}

/** Calls as the metadata of the artifact that asks for them. */
export function toToolCallsMetadata(toolCalls: readonly ClientToolCall[]): JsonObject {
  return { [clientToolsExtension]: { toolCalls } }
}

/** The calls that an artifact's metadata ask for; undefined where they say nothing of calls. */
export function toolCallsOf(metadata: JsonObject): readonly ClientToolCall[] | undefined {
  if (!(clientToolsExtension in metadata)) return undefined
  const { toolCalls } = sectionOf(metadata)
  return Array.isArray(toolCalls) ? toolCalls.filter(isClientToolCall) : undefined
}

/** Whether a value is a call as the extension writes it. */
export function isClientToolCall(value: unknown): value is ClientToolCall {
  if (!isFields(value)) return false
  const { id, name, arguments: args, extra } = value
  const isCall = typeof id === 'string' && typeof name === 'string' && typeof args === 'string'
  return isCall && (extra === undefined || isFields(extra))
}
