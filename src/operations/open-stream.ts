import type { EventStream, Sequenced } from '../protocol/call.ts'
import { parseStreamResponse } from '../protocol/schema.ts'
import { isTerminal } from '../protocol/task.ts'
import type { StreamResponse } from '../protocol/types.ts'
import { withSignal } from '../shared/async.ts'

/** Who can end a stream besides its source. */
interface StreamEnds {
  /** Fires when the server closes. */
  readonly closing: AbortSignal
  /** Fires when the caller is gone. */
  readonly caller: AbortSignal | undefined
}

type Source = AsyncIterator<readonly Sequenced[]>

/**
 * A stream of a user's making, once its first events are there: a failure before them is the operation's, not the
 * stream's. Events are checked; the stream ends with its source, with the task, and when somebody ends it, whatever the
 * source does then.
 */
export async function openStream(stream: EventStream, ends: StreamEnds): Promise<EventStream> {
  const source = stream[Symbol.asyncIterator]()
  const signal = ends.caller ? AbortSignal.any([ends.closing, ends.caller]) : ends.closing
  let first: IteratorResult<readonly Sequenced[]> | undefined
  try {
    first = checked(await withSignal(source.next(), signal))
  } catch (thrown) {
    leave(source)
    throw thrown
  }
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const item = first ?? checked(await nextOf(source, signal))
        first = undefined
        if (!item.done && item.value.some(({ event }) => isLast(event))) {
          leave(source)
          first = over
        }
        return item
      },
      async return() {
        leave(source)
        first = over
        return over
      },
    }),
  }
}

const over: IteratorResult<readonly Sequenced[]> = { done: true, value: undefined }

async function nextOf(
  source: Source,
  signal: AbortSignal,
): Promise<IteratorResult<readonly Sequenced[]>> {
  try {
    return await withSignal(source.next(), signal)
  } catch (thrown) {
    leave(source)
    if (signal.aborted) return over
    throw thrown
  }
}

/** Not waited for: a source that is in the middle of something may take its time. */
function leave(source: Source): void {
  source.return?.().catch(() => {})
}

function checked(item: IteratorResult<readonly Sequenced[]>): IteratorResult<readonly Sequenced[]> {
  if (item.done) return over
  const value = item.value.map(({ seq, event }) => ({
    ...(seq !== undefined && { seq }),
    event: parseStreamResponse(event),
  }))
  return { done: false, value }
}

function isLast(event: StreamResponse): boolean {
  if ('message' in event) return true
  if ('task' in event) return isTerminal(event.task.status.state)
  return 'statusUpdate' in event && isTerminal(event.statusUpdate.status.state)
}
