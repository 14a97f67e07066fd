import type { Json, JsonObject, Message, Task } from '../../protocol/types.ts'
import type { Turn } from '../agent.ts'
import { WrappedTurn } from '../wrap.ts'

/** What an agent under guards of its input sees of messages. */
export interface GuardedView {
  /** The message that the guards have left. */
  readonly message: Message
  /** Looks up what was decided of messages. */
  learn(messages: readonly Message[]): Promise<void>
  /** An earlier message as the guards left it; undefined for one that they blocked. */
  earlier(message: Message): Message | undefined
}

/** A turn in which every message is what the guards have left of it, the earlier ones too. */
export class GuardedTurn extends WrappedTurn {
  readonly #outer: Turn
  readonly #view: GuardedView

  constructor(outer: Turn, view: GuardedView) {
    super(outer)
    this.#outer = outer
    this.#view = view
  }

  override get message(): Message {
    return this.#view.message
  }
  override get task(): Task | undefined {
    const { task } = this.#outer
    return task?.history ? { ...task, history: this.#seen(task.history) } : task
  }
  override get history(): readonly Message[] {
    return this.#seen(this.#outer.history)
  }
  override async conversation(limit: number): Promise<readonly Message[]> {
    const messages = await this.#outer.conversation(limit)
    await this.#view.learn(messages)
    return this.#seen(messages)
  }

  #seen(messages: readonly Message[]): readonly Message[] {
    return messages.flatMap((message) => this.#view.earlier(message) ?? [])
  }
}

/** A turn whose trace is without what the guards have not let pass: whoever reads it may be the caller. */
export class DiscreetTurn extends WrappedTurn {
  readonly #outer: Turn
  readonly #discreet: (entry: JsonObject) => JsonObject

  constructor(outer: Turn, discreet: (entry: JsonObject) => JsonObject) {
    super(outer)
    this.#outer = outer
    this.#discreet = discreet
  }

  override trace(entry: JsonObject): void {
    this.#outer.trace(this.#discreet(entry))
  }
}

/** An entry of a trace without what was said, and without what tools were asked and gave. */
export function withoutWords(entry: JsonObject): JsonObject {
  const left: Record<string, Json | undefined> = { ...entry }
  for (const name of ['text', 'arguments', 'result']) if (name in left) left[name] = ''
  return left
}
