import type { A2AClient } from '../../client/client.ts'
import type { SendOptions } from '../../client/config.ts'
import type { FollowOptions } from '../../client/follow.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { SendMessageRequest, StreamResponse } from '../../protocol/types.ts'
import { wait } from '../../shared/async.ts'
import type { Clock } from '../../shared/clock.ts'
import { digestOf } from '../../shared/ids.ts'
import type { Logger } from '../../shared/log.ts'
import type { Callback, Turn } from '../agent.ts'
import { loadRemote } from './memory.ts'

/** How often a task is polled though its agent reports: a report may be lost. */
const safetyMs = 300_000

/** What waiting for reports needs. */
interface PushWaitOptions {
  readonly client: A2AClient
  readonly callback: Callback
  readonly clock: Clock
  readonly log: Logger
  /** What the remote agent is called in the log. */
  readonly name: string
  /** Ends the wait. */
  readonly signal: AbortSignal
  /** Our turn, and where it remembers the remote task. */
  readonly turn: Pick<Turn, 'load'>
  readonly key: string
}

/**
 * Waits for a remote task by a webhook (specification §4.3), without a connection. A report only says that the
 * task should be read: what has changed is read from the remote agent, with our credentials. The webhook is registered when the
 * task has turned out to take a while, and again after a crash, under the same id. Where that fails the task is polled
 * as any other.
 */
export class PushWait {
  readonly #options: PushWaitOptions
  readonly #stop: () => void
  #isRegistered: boolean | undefined
  /** Whether there was a report since the last poll began. */
  #isReported = false
  #wake: (() => void) | undefined

  constructor(options: PushWaitOptions) {
    this.#options = options
    this.#stop = options.callback.listen(() => {
      this.#isReported = true
      this.#wake?.()
    })
  }

  /** Sends a message and follows what comes of it, or follows a task that is known. */
  async *follow(
    start: SendMessageRequest | string,
    options: SendOptions & FollowOptions,
  ): AsyncGenerator<StreamResponse> {
    const { client } = this.#options
    const configuration = { returnImmediately: true }
    try {
      const sent =
        typeof start === 'string'
          ? { task: start }
          : await client.sendMessage({ ...start, configuration }, options)
      if ('message' in sent) yield sent
      else yield* client.follow(sent.task, { ...options, pause: this.#pause })
    } finally {
      this.#stop()
    }
  }

  /** Waits between two polls. */
  readonly #pause = async (ms: number): Promise<void> => {
    const { clock, signal } = this.#options
    if (this.#isRegistered === undefined) {
      this.#isRegistered = await this.#register()
      // Poll once more: what changed before the webhook was registered is not reported.
      if (this.#isRegistered) return
    }
    if (!this.#isReported) {
      const woken = new AbortController()
      this.#wake = () => woken.abort()
      const either = AbortSignal.any([signal, woken.signal])
      await wait(clock, this.#isRegistered ? safetyMs : ms, either).catch(() => {})
      signal.throwIfAborted()
    }
    this.#isReported = false
  }

  async #register(): Promise<boolean> {
    const { client, callback, log, name, signal, turn, key } = this.#options
    const taskId = loadRemote(turn, key)?.taskId
    if (taskId === undefined) return false
    const { url, token } = callback
    try {
      const id = `corral-${await digestOf(url)}`
      await client.createTaskPushNotificationConfig({ taskId, id, url, token }, { signal })
      return true
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof A2AError)) throw error
      log.warn({ agent: name, error }, 'A remote agent takes no webhook; its task is polled')
      return false
    }
  }
}
