import { withDeadline } from '../../shared/async.ts'
import type { Clock } from '../../shared/clock.ts'
import type { Logger } from '../../shared/log.ts'
import type { RemoteConnection } from './connect.ts'
import type { UnnamedSend } from './memory.ts'

/** How long a remote may take to accept a cancel. */
const cancelMs = 5_000

/** Cancels tasks of a remote agent. Best effort: a remote that cannot be told is left to itself. */
export interface RemoteCancel {
  task(taskId: string): Promise<void>
  /** Learns the name of a task by repeating its send with its key, and cancels it. */
  unnamed(send: UnnamedSend): Promise<void>
}

/** Makes what cancels tasks over a connection. */
export function createRemoteCancel(
  connection: RemoteConnection,
  { name, clock, log }: { readonly name: string; readonly clock: Clock; readonly log: Logger },
): RemoteCancel {
  async function attempt(
    facts: object,
    work: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    try {
      await withDeadline(clock, cancelMs, work)
    } catch (error) {
      log.warn({ agent: name, ...facts, error }, 'a remote task could not be cancelled')
    }
  }

  async function task(taskId: string): Promise<void> {
    await attempt({ taskId }, async (signal) => {
      const client = await connection.client(signal)
      await client.cancelTask(taskId, { signal })
    })
  }

  return {
    task,
    unnamed: ({ request, idempotencyKey }) =>
      attempt({}, async (signal) => {
        const client = await connection.client(signal)
        const configuration = { returnImmediately: true }
        const options = { idempotencyKey, signal }
        const response = await client.sendMessage({ ...request, configuration }, options)
        if ('task' in response) await task(response.task.id)
      }),
  }
}
