import type { Dispatch, EventStream } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import {
  type OperationName,
  operations,
  type RequestOf,
  type ResultOf,
} from '../protocol/operations.ts'
import { parseResult } from '../protocol/schema.ts'
import { withSignal } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import type { CheckedCall } from './gate.ts'
import { openStream } from './open-stream.ts'

/** An agent that keeps its tasks itself, as its server asks it. What it answers is checked as a peer's answer is. */
export interface Keeper {
  ask<N extends OperationName>(
    name: N,
    request: RequestOf<N>,
    call: CheckedCall,
  ): Promise<ResultOf<N>>
  /** Asks no more, ends streams, and lets what is under way be answered until the deadline. Idempotent. */
  close(deadlineMs: number): Promise<void>
}

/** What a keeper is made of. */
interface KeeperOptions {
  /** The agent's operations as they are now. */
  dispatch(): Dispatch
  readonly clock: Clock
  readonly logger: Logger
}

/** Makes the way to an agent that keeps its tasks itself. */
export function createKeeper({ dispatch, clock, logger }: KeeperOptions): Keeper {
  const closing = new AbortController()
  const late = new AbortController()
  const pending = new Set<Promise<unknown>>()

  /** What a user's code throws is told to nobody but the log. */
  async function logged<T>(work: () => Promise<T>): Promise<T> {
    closing.signal.throwIfAborted()
    try {
      return await work()
    } catch (thrown) {
      if (!(thrown instanceof A2AError)) logger.error({ err: thrown }, 'The agent failed')
      throw thrown
    }
  }

  async function once(name: OperationName, answer: Promise<unknown>): Promise<unknown> {
    pending.add(answer)
    try {
      return parseResult(name, await withSignal(answer, late.signal))
    } finally {
      pending.delete(answer)
    }
  }

  return {
    ask: (name, request, call) =>
      logged(async () => {
        const answer = dispatch()(name, request, call)
        // true for both: the row says whether the operation's result is a stream
        if (!operations[name].stream) return (await once(name, answer)) as ResultOf<typeof name>
        const events = openStream((await answer) as EventStream, {
          closing: closing.signal,
          caller: call.signal,
        })
        return (await events) as ResultOf<typeof name>
      }),
    async close(deadlineMs) {
      closing.abort(shuttingDown())
      const callOff = clock.after(deadlineMs, () => late.abort(shuttingDown()))
      await withSignal(Promise.allSettled(pending), late.signal).catch(() => {})
      callOff()
    },
  }
}

function shuttingDown(): A2AError {
  return new A2AError('unavailable', 'The server is shutting down', { retryAfterSeconds: 5 })
}
