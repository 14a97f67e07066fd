import type { AgentCard } from './types.ts'

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

/** What was used: `{ inputTokens, outputTokens, cachedInputTokens?, costUsd?, model?, estimated? }`. */
export const usageExtension = 'urn:corral:extensions:usage:v1'

/** The agents a message has passed through, in its metadata: a list of ids; guards against endless loops over HTTP. */
export const hopsExtension = 'urn:corral:extensions:hops:v1'

/**
 * Earlier turns that a stateless client sends along, in its message's metadata:
 * `{ messages: [{ role: 'system' | 'user' | 'assistant', content }] }`. To agents that take the client's tools an
 * assistant's turn may have `toolCalls: [{ id, name, arguments }]`, and there are turns
 * `{ role: 'tool', toolCallId, content }`.
 */
export const historyExtension = 'urn:corral:extensions:history:v1'

/**
 * Tools that the client runs itself. Its message's metadata offer them: `{ tools: [{ name, description, parameters }] }`,
 * and say of a message that is a tool's result which call it answers: `{ toolCallId }`. The metadata of the answer's artifact
 * say which the agent calls: `{ toolCalls: [{ id, name, arguments }] }`; the task is then over, and the client sends the
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
