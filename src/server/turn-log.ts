import type { Agent, AgentEvent, AgentReply, Turn } from '../agents/agent.ts'
import { wrapAgent } from '../agents/wrap.ts'
import { A2AError } from '../protocol/errors.ts'
import type { JsonObject, TaskState } from '../protocol/types.ts'
import { addUsage, toAmounts, type Usage, usageOf } from '../protocol/usage.ts'
import { isAsyncIterable } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'
import { type Logger, tellsAll } from '../shared/log.ts'

/** Where an agent's turns are told. */
interface TurnLogOptions {
  readonly id: string
  readonly logger: Logger
  readonly clock: Clock
}

/** The agent, whose turns are told one line each where the logger wants that; else the agent as it is. */
export function withTurnLog(agent: Agent, options: TurnLogOptions): Agent {
  if (!tellsAll(options.logger)) return agent
  return wrapAgent(agent, {
    process: (ask, _message, turn) => new ToldTurn(turn, options).read(() => ask(turn)),
  })
}

/** One turn, and what is to be said of it when it is over. */
class ToldTurn {
  readonly #turn: Turn
  readonly #options: TurnLogOptions
  readonly #began: number
  #state: TaskState = 'TASK_STATE_COMPLETED'
  #failed = false
  /** What the pieces of the answer say that they cost, and what is said of the whole. */
  #parts: Usage | undefined
  #total: Usage | undefined

  constructor(turn: Turn, options: TurnLogOptions) {
    this.#turn = turn
    this.#options = options
    this.#began = options.clock.elapsed()
  }

  read(ask: () => AgentReply): AgentReply {
    try {
      const reply = ask()
      if (isAsyncIterable(reply)) return this.#follow(reply as AsyncIterable<AgentEvent>) // the contract's only iterable
      if (reply instanceof Promise) return this.#settle(reply)
      this.#note(reply)
      this.#tell()
      return reply
    } catch (thrown) {
      this.#fail()
      throw thrown
    }
  }

  async #settle<T>(reply: Promise<T>): Promise<T> {
    try {
      const answer = await reply
      this.#note(answer)
      this.#tell()
      return answer
    } catch (thrown) {
      this.#fail()
      throw thrown
    }
  }

  async *#follow(events: AsyncIterable<AgentEvent>): AsyncGenerator<AgentEvent> {
    try {
      for await (const event of events) {
        this.#note(event)
        yield event
      }
    } catch (thrown) {
      this.#failed = true
      throw thrown
    } finally {
      this.#tell()
    }
  }

  #note(said: unknown): void {
    if (typeof said !== 'object' || said === null) return
    // What an agent says is checked by whoever takes it in; here only what has the right form counts.
    const { task, statusUpdate, artifactUpdate } = said as Partial<Record<string, Noted>>
    this.#state = (task ?? statusUpdate)?.status?.state ?? this.#state
    this.#total = usageOf((task ?? statusUpdate)?.metadata) ?? this.#total
    for (const artifact of task?.artifacts ?? [artifactUpdate?.artifact])
      this.#parts = addUsage(this.#parts, usageOf(artifact?.metadata))
  }

  #fail(): void {
    this.#failed = true
    this.#tell()
  }

  /** A turn that was ended from outside is no failure of the agent: its task is cancelled, or taken up again later. */
  #outcome(): string {
    if (!this.#failed) return this.#state.replace('TASK_STATE_', '').toLowerCase()
    const { aborted, reason } = this.#turn.signal
    if (!aborted) return 'failed'
    return reason instanceof A2AError && reason.code === 'taskCanceled' ? 'canceled' : 'interrupted'
  }

  #tell(): void {
    const { id, logger, clock } = this.#options
    const { taskId, caller } = this.#turn
    const used = this.#total ?? this.#parts
    logger.info(
      {
        agent: id,
        caller: caller.userId || 'anonymous',
        taskId,
        state: this.#outcome(),
        ms: Math.round(clock.elapsed() - this.#began),
        ...(used && toAmounts(used)),
      },
      'Turn ended',
    )
  }
}

/** What of an event, or of a task, is told. */
interface Noted {
  readonly status?: { readonly state?: TaskState }
  readonly metadata?: JsonObject
  readonly artifact?: { readonly metadata?: JsonObject }
  readonly artifacts?: readonly { readonly metadata?: JsonObject }[]
}
