import type { EventStream } from '../protocol/call.ts'
import type { Task } from '../protocol/types.ts'
import type { Hub } from '../streams/hub.ts'
import { TurnAnswer } from './answer.ts'
import { TaskMoved } from './faults.ts'
import type { VersionedTask } from './log-host.ts'
import type { QueuedMessage, SendResult } from './messages.ts'
import { TurnProgress } from './progress.ts'
import type { TaskRun } from './run.ts'
import { watchSend } from './watch.ts'

/** A message that has its turn or waits for one. */
interface Sending {
  readonly run: TaskRun
  readonly queued: QueuedMessage
  /** The task as it was before the message, where the message continues one. */
  readonly before?: VersionedTask | undefined
}

/** What comes of a message whose turn runs or is to come. A class, not closures: one is made per request. */
export class LiveResult implements SendResult {
  readonly #hub: Hub
  readonly #run: TaskRun
  readonly #queued: QueuedMessage
  #before: VersionedTask | undefined

  constructor(hub: Hub, { run, queued, before }: Sending) {
    this.#hub = hub
    this.#run = run
    this.#queued = queued
    this.#before = before
  }

  /** Who waits for the answer may do so for long: the task as it was before is not kept for that. */
  get answer(): TurnAnswer {
    this.#before = undefined
    return this.#queued.answer
  }

  async task(): Promise<Task> {
    const { log, mailbox } = this.#run
    try {
      mailbox.ensureTask()
      await log.committed()
      return (await log.snapshot()).task
    } catch (thrown) {
      const { elsewhere } = this.#queued
      if (!elsewhere || !(thrown instanceof TaskMoved)) throw thrown
      return (await elsewhere).task()
    }
  }

  events({ trace }: { readonly trace?: boolean } = {}): EventStream {
    const { log, mailbox } = this.#run
    const queued = this.#queued
    if (mailbox.queued) mailbox.ensureTask()
    const before = this.#before
    this.#before = undefined
    const after = before?.version ?? 0
    // Who watches from behind the message on may not see its turn start.
    const begun = queued.seq !== 0 && queued.seq <= after && this.#run.hasBegun(queued)
    const stream = watchSend(this.#hub, {
      taskId: log.id,
      contextId: log.contextId,
      turn: new TurnProgress(queued.message.messageId, { queued, log, begun }),
      answer: queued.answer,
      before,
      // A quick agent's events, or another process's, may be stored and published before anyone could watch.
      replay: log.version > after || log.broken,
      trace,
    })
    if (log.broken) this.#hub.follow(log.id)
    return stream
  }
}

/** What came of a message that was taken in before: its task is all there is to tell. */
export function pastResult(task: Task): SendResult {
  const answer = new TurnAnswer()
  answer.settle({ task })
  return {
    answer,
    task: async () => task,
    async *events() {
      yield [{ event: { task } }]
    },
  }
}
