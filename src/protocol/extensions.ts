/**
 * The URIs under which Corral puts its own facts into `metadata` (specification §4.6). Each is a key of a metadata
 * object; its value is described here and nowhere else. Peers that do not know them ignore them.
 *
 * - `usage`: `{ promptTokens, completionTokens, totalTokens, model?, estimated? }`, on the last artifact chunk or
 *   status of a turn.
 * - `hops`: the ids of the agents that handed a message on, oldest first, as a list of strings on the message.
 * - `history`: `{ messages: [{ role: 'system' | 'user' | 'assistant', content: string }] }`, earlier turns that a
 *   stateless client sends along with its message.
 * - `idempotency`: the card says by it that an `Idempotency-Key` header makes a repeated send safe.
 * - `trace`: what happened inside a task, for callers that activate it.
 */
export const extensionUris = {
  usage: 'https://corral.dev/extensions/usage/v1',
  hops: 'https://corral.dev/extensions/hops/v1',
  history: 'https://corral.dev/extensions/history/v1',
  idempotency: 'https://corral.dev/extensions/idempotency/v1',
  trace: 'https://corral.dev/extensions/trace/v1',
} as const
