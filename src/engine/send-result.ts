import type { EventStream } from '../protocol/call.ts'
import type { Task } from '../protocol/types.ts'
import type { Hub } from '../streams/hub.ts'
import { TurnAnswer } from './answer.ts'
import type { VersionedTask } from './log.ts'
import type { QueuedMessage } from './queued-message.ts'
import type { TaskRun } from './run.ts'
import { watchSend } from './watch.ts'

/** What comes of a message that was taken in. */
export interface SendResult {
  readonly answer: TurnAnswer
  /** Makes the task exist if it does not yet, and gives it as stored. */
  task(): Promise<Task>
  /** The events of this message's turn, from the first; with the task's trace if asked for. */
  events(options?: { readonly trace?: boolean }): EventStream
}

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
  readonly #before: VersionedTask | undefined

  constructor(hub: Hub, { run, queued, before }: Sending) {
    this.#hub = hub
    this.#run = run
    this.#queued = queued
    this.#before = before
  }

  get answer(): TurnAnswer {
    return this.#queued.answer
  }

  async task(): Promise<Task> {
    this.#run.writer.ensureTask()
    await this.#run.log.committed()
    return (await this.#run.log.snapshot()).task
  }

  events({ trace }: { readonly trace?: boolean } = {}): EventStream {
    const run = this.#run
    if (run.mailbox.queued) run.writer.ensureTask()
    return watchSend(this.#hub, { run, queued: this.#queued, before: this.#before, trace })
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
