import type { FullTaskStore } from '../../protocol/task-store.ts'
import type { Json, JsonObject, Message, Task } from '../../protocol/types.ts'
import type { Agent, Turn, WaitingTask } from '../agent.ts'
import { InnerTurn, WrappedTurn } from '../wrap.ts'
import { triesKey } from './tries.ts'

/** The turn of the first try: the outer one, with the schema that the answer is to fit. */
export class FirstTry extends WrappedTurn {
  readonly #outer: Turn
  readonly #schema: JsonObject

  constructor(outer: Turn, schema: JsonObject) {
    super(outer)
    this.#outer = outer
    this.#schema = schema
  }

  override get outputSchema(): JsonObject {
    return this.#schema
  }
  override load(key: string): Json | undefined {
    return this.#outer.load(toInner(key))
  }
  override save(key: string, value: Json): Promise<void> {
    return this.#outer.save(toInner(key), value)
  }
  override step<T extends Json>(name: string, work: () => Promise<T> | T): Promise<T> {
    return this.#outer.step(toInner(name), work)
  }
  override stepKey(name: string): string {
    return this.#outer.stepKey(toInner(name))
  }
}

/** What a further try has of its own. */
interface FurtherTryOptions {
  readonly message: Message
  readonly schema: JsonObject
  readonly number: number
  /** Whether it mends an answer of this turn; else it goes on with what the user was asked. */
  readonly mends: boolean
  /** Whether the agent sees what it saved in earlier tries, such as what its tools have given. */
  readonly keepsState: boolean
}

/** The turn of a further try: in a space of its own, since steps of the last one are done and would stay as they are. */
export class FurtherTry extends InnerTurn {
  readonly #outer: Turn
  readonly #options: FurtherTryOptions

  constructor(outer: Turn, options: FurtherTryOptions) {
    super(outer, { space: spaceOf(options.number), message: options.message })
    this.#outer = outer
    this.#options = options
  }

  override get outputSchema(): JsonObject {
    return this.#options.schema
  }
  override get task(): Task | undefined {
    return this.#options.mends ? undefined : this.#outer.task
  }
  override get taskStore(): FullTaskStore | undefined {
    return this.#outer.taskStore
  }
  override load(key: string): Json | undefined {
    const own = super.load(key)
    if (own !== undefined || !this.#options.keepsState) return own
    for (let number = this.#options.number - 1; number > 1; number--) {
      const earlier = this.#outer.load(`${spaceOf(number)}/${key}`)
      if (earlier !== undefined) return earlier
    }
    return this.#outer.load(toInner(key))
  }
}

/** Tells an agent that nobody wants its part of a task any more, in whichever try it keeps something. */
export async function cancelTries(agent: Agent, task: WaitingTask): Promise<void> {
  if (!agent.cancel) return
  const spaces = new Set<string>()
  for (const key of task.keys()) {
    const space = /^output~\d{1,6}(?=\/)/.exec(key)?.[0]
    if (space) spaces.add(space)
  }
  await agent.cancel(spaces.size === 0 ? task : inFirstTry(task))
  for (const space of spaces) await agent.cancel(inSpace(task, space))
}

function spaceOf(number: number): string {
  return `${triesKey}${number}`
}

/** An agent within the agent may have tries of its own: their keys move behind ours. */
function toInner(key: string): string {
  return key.startsWith(triesKey) ? `${triesKey}${key}` : key
}

function inFirstTry(task: WaitingTask): WaitingTask {
  return {
    ...task,
    load: (key) => task.load(toInner(key)),
    *keys() {
      for (const key of task.keys())
        if (!key.startsWith(triesKey)) yield key
        else if (key.startsWith(triesKey, triesKey.length)) yield key.slice(triesKey.length)
    },
  }
}

function inSpace(task: WaitingTask, space: string): WaitingTask {
  return {
    ...task,
    load: (key) => task.load(`${space}/${key}`),
    *keys() {
      for (const key of task.keys())
        if (key.startsWith(`${space}/`)) yield key.slice(space.length + 1)
    },
  }
}
