import type { OperationName } from '../protocol/operations.ts'
import type { StreamResponse } from '../protocol/types.ts'

/** The JSON of an event in one wire. */
export type EventJson = (event: StreamResponse) => string

/** Events whose text is remembered. Those who watch one task write the same batch in the same tick. */
const remembered = 64

/**
 * Writes events as JSON once per event and wire, however many watch: events are immutable, so their text is too.
 * Only the latest are remembered, in a plain Map: a WeakMap of all events costs more than the writing it saves.
 */
export function createEventJson(
  encode: (event: StreamResponse, opening: OperationName) => unknown,
): (opening: OperationName) => EventJson {
  const writers = new Map<OperationName, EventJson>()
  return (opening) => {
    const known = writers.get(opening)
    if (known) return known
    const texts = new Map<StreamResponse, string>()
    const writer: EventJson = (event) => {
      const text = texts.get(event)
      if (text !== undefined) return text
      const fresh = JSON.stringify(encode(event, opening))
      if (texts.size >= remembered) texts.clear()
      texts.set(event, fresh)
      return fresh
    }
    writers.set(opening, writer)
    return writer
  }
}
