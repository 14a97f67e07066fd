import {
  type OperationName,
  operations,
  type RequestOf,
  type ResultKind,
  type ResultOf,
} from '../protocol/operations.ts'
import {
  canonicalEvent,
  canonicalResult,
  readCard,
  readResult,
  readStreamResponse,
} from '../protocol/schema.ts'
import type { AgentCard, StreamResponse } from '../protocol/types.ts'
import type { WireReader } from './dialects/dialect.ts'
import { decodeCard } from './dialects/lenient/card.ts'

/**
 * The border: whatever another process says passes here before anyone trusts its type. What is canonical passes as it
 * is, uncopied; all else is respelled by its dialect and then checked by the schema that checks requests, in its
 * tolerant mode. A wrong type is refused with A2AError `invalidAgentResponse`, which names the path.
 */

/** The result that a peer answered with. */
export function receiveResult<N extends OperationName>(
  reader: WireReader,
  result: unknown,
  { name, request }: { readonly name: N; readonly request: RequestOf<N> },
): ResultOf<N> {
  const isCanonical = reader.isCanonical && !respelled.has(operations[name].gives)
  const known = isCanonical ? canonicalResult(name, result) : undefined
  return known ?? readResult(name, reader.decodeResult(name, result, request))
}

/**
 * What is always respelled, since it may look canonical and not be it: those who serve several versions write all of
 * them into one card, and a page without its counts is not an empty one.
 */
const respelled: ReadonlySet<ResultKind> = new Set<ResultKind>(['card', 'tasks'])

/** An event of a peer's stream or webhook. */
export function receiveEvent(reader: WireReader, event: unknown): StreamResponse {
  const known = reader.isCanonical ? canonicalEvent(event) : undefined
  return known ?? readStreamResponse(reader.decodeEvent(event))
}

/** A peer's card, of whatever generation. */
export function receiveCard(card: unknown): AgentCard {
  return readCard(decodeCard(card))
}
