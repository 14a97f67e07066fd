import type { EventStream } from '../protocol/call.ts'
import type { Task } from '../protocol/types.ts'
import type { Hub } from '../streams/hub.ts'
import type { Letter } from './letter.ts'
import { Outcome } from './outcome.ts'
import type { Run } from './run.ts'
import { watchSend } from './watch.ts'

/** A message that was taken in. */
export interface Sent {
  readonly outcome: Outcome
  /** Makes the task exist if it does not yet, and gives it as stored. */
  task(): Promise<Task>
  /** The events of this message's turn, from the first; with the task's trace if asked for. */
  events(options?: { readonly trace?: boolean }): EventStream
}

/** A message that opened a turn or waits for one. A class, not closures: one is made per request. */
export class SentMessage implements Sent {
  readonly #hub: Hub
  readonly #run: Run
  readonly #letter: Letter
  readonly #before: { readonly task: Task; readonly version: number } | undefined

  constructor(
    hub: Hub,
    {
      run,
      letter,
      before,
    }: {
      readonly run: Run
      readonly letter: Letter
      readonly before?: { readonly task: Task; readonly version: number } | undefined
    },
  ) {
    this.#hub = hub
    this.#run = run
    this.#letter = letter
    this.#before = before
  }

  get outcome(): Outcome {
    return this.#letter.outcome
  }

  async task(): Promise<Task> {
    this.#run.birth()
    await this.#run.log.committed()
    return (await this.#run.log.snapshot()).task
  }

  events({ trace }: { readonly trace?: boolean } = {}): EventStream {
    if (this.#run.queued) this.#run.birth()
    return watchSend(this.#hub, {
      run: this.#run,
      letter: this.#letter,
      before: this.#before,
      trace,
    })
  }
}

/** A message that was taken in before: its task is all there is to tell. */
export function alreadySent(task: Task): Sent {
  const outcome = new Outcome()
  outcome.settle({ task })
  return {
    outcome,
    task: async () => task,
    async *events() {
      yield [{ event: { task } }]
    },
  }
}
