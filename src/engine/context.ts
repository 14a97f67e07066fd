import type { ContextValues } from '../agents/agent.ts'
import { A2AError } from '../protocol/errors.ts'
import { answerParts } from '../protocol/task.ts'
import type { Json, Message, Task } from '../protocol/types.ts'
import { copyOf } from '../shared/json.ts'
import type { Scope, Store } from '../store/store.ts'
import { weigh } from '../store/weight.ts'
import { mustBeJson } from './json.ts'
import type { RunHost } from './run-host.ts'
import type { RunWriter } from './writer.ts'

/** Earlier tasks of a context, and bytes of them, to read at most; a conversation beyond that is cut at its beginning. */
const maxTasks = 50
const maxBytes = 8 * 1024 * 1024

/** The last messages of a context, oldest first, across its tasks; answers appear as agent messages. */
export async function conversationOf(
  store: Store,
  options: { readonly scope: Scope; readonly contextId: string; readonly limit: number },
): Promise<readonly Message[]> {
  const { scope, contextId, limit } = options
  const { tasks } = await store.list({ scope, contextId, limit: maxTasks, maxBytes })
  const messages = tasks
    .map(({ task }) => task)
    .reverse()
    .flatMap(spoken)
  return messages.slice(-limit)
}

/** What was said in a task: its history, and its answer where that stands in artifacts. */
function spoken(task: Task): readonly Message[] {
  const history = task.history ?? []
  if (!task.artifacts?.length) return history
  const answer: Message = {
    messageId: `${task.id}-answer`,
    contextId: task.contextId,
    taskId: task.id,
    role: 'ROLE_AGENT',
    parts: answerParts(task),
  }
  return [...history, answer]
}

/** What reading and keeping values needs of a run, and of the turn that looks. */
interface ValuesSource {
  readonly writer: RunWriter
  readonly host: RunHost
  /** Ends the task as FAILED, in the midst of its turn. */
  outgrow(reason: A2AError): void
}
interface OpenTurn {
  /** @throws A2AError `taskCanceled` when the turn is over. */
  mustBeOpen(): void
}

/** How the keys of values begin that we keep ourselves. */
export const ownKeys: string = 'corral:'

/** The values of a context as one turn sees them: what it has set itself, and what the store had when it first asked. */
export class TurnValues implements ContextValues {
  readonly #source: ValuesSource
  readonly #turn: OpenTurn
  #set: Map<string, Json> | undefined
  #stored: ReadonlyMap<string, Json> | undefined
  #loading: Promise<ReadonlyMap<string, Json>> | undefined

  constructor(source: ValuesSource, turn: OpenTurn) {
    this.#source = source
    this.#turn = turn
  }

  async get(key: string): Promise<Json | undefined> {
    const stored = await this.#load()
    const value = this.#set?.has(key) ? this.#set.get(key) : stored.get(key)
    return value === null ? undefined : copyOf(value)
  }

  set(key: string, value: Json): void {
    const { writer } = this.#source
    mustBeJson(value)
    this.#turn.mustBeOpen()
    const own = copyOf(value)
    const refusal = this.#refusalOf(key, own)
    if (refusal) throw refusal
    this.#set ??= new Map()
    this.#set.set(key, own)
    if (!key.startsWith(ownKeys)) writer.ensureTask()
    writer.log.keep(key, own)
    if (!this.#stored) void this.#checkLater(key)
  }

  async #load(): Promise<ReadonlyMap<string, Json>> {
    const { host, writer } = this.#source
    this.#loading ??= host.contextValues(writer.log)
    this.#stored = await this.#loading
    return this.#stored
  }

  /** Where the store was not asked yet, what is too much is taken back as soon as that is known, and the task fails. */
  async #checkLater(key: string): Promise<void> {
    const { writer } = this.#source
    try {
      const stored = await this.#load()
      const refusal = this.#refusalOf(key, this.#set?.get(key) ?? null)
      if (!refusal) return
      writer.log.keep(key, stored.get(key) ?? null)
      this.#turn.mustBeOpen()
      this.#source.outgrow(refusal)
    } catch {
      // The turn is over, or the store cannot be read, which whoever writes next hears.
    }
  }

  /** Why a value is too much beside the others of its context, as far as they are known. */
  #refusalOf(key: string, value: Json | null): A2AError | undefined {
    const { maxContextBytes } = this.#source.host
    let bytes = value === null ? 0 : sizeOf(key, value)
    if (bytes === 0) return undefined
    for (const [name, kept] of this.#set ?? [])
      if (name !== key && kept !== null) bytes += sizeOf(name, kept)
    for (const [name, kept] of this.#stored ?? [])
      if (name !== key && !this.#set?.has(name)) bytes += sizeOf(name, kept)
    if (bytes <= maxContextBytes) return undefined
    return new A2AError(
      'processingError',
      `The values of this conversation would be more than ${maxContextBytes} bytes`,
    )
  }
}

function sizeOf(key: string, value: Json): number {
  return key.length + weigh(value)
}
