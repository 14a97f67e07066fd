import type { OperationName } from '../protocol/operations.ts'
import type { StreamResponse } from '../protocol/types.ts'
import { createChunkJson } from './chunk-json.ts'

/** The JSON of an event in one wire. */
export type EventJson = (event: StreamResponse) => string

/** Events whose text is remembered. Those who watch one task write the same batch in the same tick. */
const remembered = 64

/**
 * Writes events as JSON once per event and wire, however many watch: events are immutable, so their text is too.
 * Only the latest are remembered, in a ring that overwrites itself: a Map, weak or not, keeps what it has forgotten from
 * the collector of young objects, and that costs more than the writing it saves.
 */
export function createEventJson(
  encode: (event: StreamResponse, opening: OperationName) => unknown,
): (opening: OperationName) => EventJson {
  const writers = new Map<OperationName, EventJson>()
  return (opening) => {
    const known = writers.get(opening)
    if (known) return known
    const canonical = createChunkJson()
    const writer = createWriter((event) => {
      const encoded = encode(event, opening)
      return encoded === event ? canonical(event) : JSON.stringify(encoded)
    })
    writers.set(opening, writer)
    return writer
  }
}

function createWriter(write: EventJson): EventJson {
  const events: (StreamResponse | undefined)[] = Array.from({ length: remembered }, () => undefined)
  const texts: string[] = Array.from({ length: remembered }, () => '')
  let next = 0
  /** The next watcher's first event is looked for, the others of its batch stand behind it. */
  let found = 0
  return (event) => {
    if (events[found] !== event) found = events.indexOf(event)
    if (found >= 0) {
      const text = texts[found] ?? ''
      found = (found + 1) % remembered
      return text
    }
    const text = write(event)
    events[next] = event
    texts[next] = text
    next = (next + 1) % remembered
    found = next
    return text
  }
}
