import type { EventStream } from '../protocol/call.ts'
import { isTerminal } from '../protocol/task.ts'
import type { Message, StreamResponse, Task } from '../protocol/types.ts'
import type { Clock } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import { wait } from '../shared/retry.ts'
import { currentTask } from '../store/current.ts'
import type { InboxEntry } from '../store/feed.ts'
import type { LogRecord, Scope, Store, StoredTask } from '../store/store.ts'
import type { TurnRequest } from '../store/turn-request.ts'
import type { Hub } from '../streams/hub.ts'
import { TurnAnswer } from './answer.ts'
import { shuttingDown, tooManyWait } from './faults.ts'
import { isTaskEnd } from './leftover.ts'
import type { VersionedTask } from './log-host.ts'
import { keyedEntry, type SendResult } from './messages.ts'
import { TurnProgress } from './progress.ts'
import { watchSend } from './watch.ts'

/**
 * Hands over what is meant for a task that another replica runs. It is stored before it is acknowledged, and what comes
 * of it is read from the task's log. Each is undefined where nobody runs the task any more: then it is ours to go on with.
 */
export interface Forwarding {
  message(task: StoredTask, sent: ForwardedMessage): Promise<SendResult | undefined>
  /** Resolves when the task has ended, by this or otherwise. */
  cancel(task: StoredTask): Promise<Task | undefined>
  /** Resolves when the changes have been taken in or turned down. */
  amend(task: StoredTask, events: readonly StreamResponse[]): Promise<Task | undefined>
  /** What comes of a message that stands in a task's log after this place, or is yet to. */
  follow(followed: Followed): SendResult
}

/** A message and what its turn needs to know of its request. */
interface ForwardedMessage {
  readonly message: Message
  readonly turnRequest: TurnRequest
}

/** Which message's turn is followed. */
interface Followed {
  readonly taskId: string
  readonly contextId: string
  readonly scope: Scope
  readonly messageId: string
  readonly after: number
  /** The task as it was before the message, where its stream begins with that. */
  readonly before?: VersionedTask
}

/** What forwarding needs of the engine. */
interface ForwardingOptions {
  readonly store: Store
  readonly hub: Hub
  /** Messages that may wait for a running task. */
  readonly maxMailbox: number
  readonly clock: Clock
  get(id: string, scope: Scope): Promise<Task>
}

/** Makes what hands over to other replicas; where the store has none, nothing is ever theirs. */
export function createForwarding(options: ForwardingOptions): Forwarding {
  const { store, hub, maxMailbox, clock, get } = options

  /** Stores an entry; false where nobody runs the task any more. */
  async function forward(taskId: string, entry: InboxEntry): Promise<boolean> {
    const most = entry.kind === 'message' ? maxMailbox : Number.MAX_SAFE_INTEGER
    const outcome = await store.feed?.forward(taskId, entry, most)
    if (outcome === 'full') throw tooManyWait(taskId)
    return outcome === 'stored'
  }

  /** Reads the log after a version until a record says that it is enough, or why it never is. */
  async function readUntil(
    taskId: string,
    after: number,
    isEnough: (record: LogRecord) => boolean | Error,
  ): Promise<void> {
    const watcher = hub.watch(taskId, { after, replay: true, show: nothing, isLast: isEnough })
    hub.follow(taskId)
    for await (const _ of watcher);
  }

  const forwarding: Forwarding = {
    async message(task, { message, turnRequest }) {
      const { id: taskId, contextId, scope } = task.head
      const before = { task: await currentTask(store, task), version: task.version }
      const key = keyedEntry(turnRequest) ?? newId()
      const request = { ...turnRequest, forwarded: key }
      if (!(await forward(taskId, { kind: 'message', key, message, request }))) return undefined
      const { messageId } = message
      const after = task.version
      return forwarding.follow({ taskId, contextId, scope, messageId, after, before })
    },
    async cancel({ head: { id, scope, state }, version }) {
      // Its agent may still be hearing of the end.
      if (isTerminal(state)) return get(id, scope)
      if (!(await forward(id, { kind: 'cancel', key: newId() }))) return undefined
      await readUntil(id, version, isTaskEnd)
      const task = await get(id, scope)
      if (!isTerminal(task.status.state)) throw shuttingDown()
      return task
    },
    async amend({ head: { id, scope } }, events) {
      const key = newId()
      if (!(await forward(id, { kind: 'amend', key, events }))) return undefined
      // One that does not fit any more is turned down without a word in the log.
      for (;;) {
        const mail = await store.feed?.inbox(id)
        if (!mail?.some(({ entry }) => entry.key === key)) return get(id, scope)
        await wait(clock, lookAgainMs)
      }
    },
    follow: (followed) => new FollowedResult(followed, { hub, readUntil, get }),
  }
  return forwarding
}

const lookAgainMs = 50

function nothing(): undefined {
  return undefined
}

/** What following a turn needs. */
interface Following {
  readonly hub: Hub
  readUntil(
    taskId: string,
    after: number,
    isEnough: (record: LogRecord) => boolean | Error,
  ): Promise<void>
  get(id: string, scope: Scope): Promise<Task>
}

/** What comes of a message whose turn another replica runs, read from the log. */
class FollowedResult implements SendResult {
  readonly #followed: Followed
  readonly #around: Following
  #answer: TurnAnswer | undefined

  constructor(followed: Followed, around: Following) {
    this.#followed = followed
    this.#around = around
  }

  get answer(): TurnAnswer {
    if (!this.#answer) {
      this.#answer = new TurnAnswer()
      void this.#read(this.#answer)
    }
    return this.#answer
  }

  task(): Promise<Task> {
    return this.#around.get(this.#followed.taskId, this.#followed.scope)
  }

  events({ trace }: { readonly trace?: boolean } = {}): EventStream {
    const { taskId, contextId, messageId, before } = this.#followed
    const turn = new TurnProgress(messageId)
    const { hub } = this.#around
    const { answer } = this
    const events = watchSend(hub, { taskId, contextId, turn, answer, before, replay: true, trace })
    hub.follow(taskId)
    return events
  }

  async #read(answer: TurnAnswer): Promise<void> {
    const { taskId, messageId, after } = this.#followed
    const turn = new TurnProgress(messageId)
    try {
      await this.#around.readUntil(taskId, after, (record) => turn.isAnswer(record))
      answer.settle({ task: await this.task() })
    } catch (thrown) {
      answer.fail(thrown)
    }
  }
}
