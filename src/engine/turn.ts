import type {
  AgentEvent,
  ArtifactDraft,
  ChunkOptions,
  ContextValues,
  Draft,
  Turn,
} from '../agents/agent.ts'
import { type AuthContext, anonymous } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { hopsExtension } from '../protocol/extensions.ts'
import { parseStreamResponse } from '../protocol/schema.ts'
import type { FullTaskStore } from '../protocol/task-store.ts'
import type {
  Artifact,
  Json,
  JsonObject,
  Message,
  Part,
  StreamResponse,
  Task,
  TaskArtifactUpdateEvent,
  TaskState,
} from '../protocol/types.ts'
import { newId } from '../shared/ids.ts'
import { copyOf, type Mutable } from '../shared/json.ts'
import type { Logger } from '../shared/log.ts'
import type { TurnRequest } from '../store/store.ts'
import { ownMessage } from './entries.ts'
import type { TaskLog } from './log.ts'
import type { Ticket } from './queue.ts'

/** What an active turn needs of its run. */
export interface TurnHost {
  readonly log: TaskLog
  readonly logger: Logger
  /** The task before this message; undefined for a new one. */
  readonly task: Task | undefined
  /** The turn's slot; undefined once it has been given back. */
  readonly slot: Ticket | undefined
  /** Now, as the protocol writes it. */
  timestamp(): string
  /** The result of a step that an earlier attempt of this turn finished. */
  stepResult(name: string): Json | undefined
  load(key: string): Json | undefined
  save(key: string, value: Json): void
  /** Makes the task exist, so that there is a log to write to. */
  birth(): void
  conversation(limit: number): Promise<readonly Message[]>
  /** The stored values of the context. */
  contextValues(): Promise<ReadonlyMap<string, Json>>
  /** The tasks of the caller. */
  tasks(): FullTaskStore
}

/** The message that a turn answers, and what came with it. */
export interface TurnInput {
  readonly number: number
  readonly attempt: number
  readonly message: Message
  readonly request: TurnRequest
  readonly caller: AuthContext | undefined
}

const none: readonly string[] = Object.freeze([])

/** How the keys of values begin that we keep ourselves. */
const ownKeys = 'corral:'

/**
 * One turn as its agent sees it. What the agent is given is its own: it may write into it, and the log, its siblings in
 * a team and later turns have what they had. The message is copied when the turn begins, the rest for those who look.
 * A class, not closures: one is made per request.
 */
export class ActiveTurn implements Turn {
  readonly message: Message
  readonly caller: AuthContext
  readonly attempt: number
  readonly number: number
  readonly #host: TurnHost
  /** The task before this message, as the log has it, and the agent's copy. */
  readonly #before: Task | undefined
  #task: Task | undefined
  readonly #request: TurnRequest
  #controller: AbortController | undefined
  #chunks = 0
  #steps: Map<string, Promise<Json>> | undefined
  #context: ContextValues | undefined
  /** What this turn has set, and what the store had when it first asked. */
  #values: Map<string, Json> | undefined
  #stored: Promise<ReadonlyMap<string, Json>> | undefined
  /** Set where the agent returned a task that it finishes later. */
  left = false
  /** Set once nothing more that the agent does counts: it has answered, asked, failed or been cancelled. */
  over = false

  constructor(host: TurnHost, input: TurnInput) {
    this.#host = host
    this.#request = input.request
    this.message = ownMessage(input.message)
    this.number = input.number
    this.attempt = input.attempt
    this.#before = host.task
    const { userId } = input.request
    this.caller = input.caller ?? (userId === '' ? anonymous : { userId })
  }

  get taskId(): string {
    return this.#host.log.id
  }
  get contextId(): string {
    return this.#host.log.contextId
  }
  get tenant(): string {
    return this.#host.log.scope.tenant
  }
  get task(): Task | undefined {
    this.#task ??= copyOf(this.#before)
    return this.#task
  }
  get history(): readonly Message[] {
    return this.task?.history ?? []
  }
  get taskStore(): FullTaskStore {
    return this.#host.tasks()
  }
  get log(): Logger {
    return this.#host.logger
  }
  get extensions(): readonly string[] {
    return this.#request.extensions?.slice() ?? none
  }
  get acceptedOutputModes(): readonly string[] {
    return this.#request.acceptedOutputModes?.slice() ?? none
  }
  get metadata(): JsonObject | undefined {
    return copyOf(this.#request.metadata)
  }
  get traceparent(): string | undefined {
    return this.#request.traceparent
  }

  /** Made when first asked for: most agents never look, and a controller is not free. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.over) this.#controller.abort(new A2AError('taskCanceled', 'The turn is over'))
    }
    return this.#controller.signal
  }

  get hops(): readonly string[] {
    const hops = this.message.metadata?.[hopsExtension]
    return Array.isArray(hops) ? hops.filter((hop) => typeof hop === 'string') : none
  }

  /**
   * Ends the turn from outside: the agent's signal fires and nothing it still says is heard. What it saves while the
   * signal fires is stored together with why the turn ends.
   */
  abort(reason: A2AError): void {
    this.#controller?.abort(reason)
    this.over = true
  }

  status(state: TaskState, text?: string): Draft {
    const message = text === undefined ? undefined : this.reply(text)
    return { statusUpdate: { status: { state, ...(message && { message }) } } }
  }

  artifact(artifact: Artifact, options: ChunkOptions = {}): Draft {
    return { artifactUpdate: { artifact, ...options } }
  }

  ask(text: string): Draft {
    return this.status('TASK_STATE_INPUT_REQUIRED', text)
  }

  reply(content: string | readonly Part[]): Message {
    return {
      messageId: newId(),
      contextId: this.contextId,
      taskId: this.taskId,
      role: 'ROLE_AGENT',
      parts: typeof content === 'string' ? [{ text: content }] : content,
    }
  }

  step<T extends Json>(name: string, work: () => Promise<T> | T): Promise<T> {
    // A step's result is what its own work returns, so it has that type.
    const known = this.#steps?.get(name) as Promise<T> | undefined
    if (known) return known
    const running = this.#runStep(name, work)
    this.#steps ??= new Map()
    this.#steps.set(name, running)
    // One that failed left nothing in the log: it may be tried again.
    running.catch(() => this.#steps?.delete(name))
    return running
  }

  async #runStep<T extends Json>(name: string, work: () => Promise<T> | T): Promise<T> {
    const { log } = this.#host
    const done = this.#host.stepResult(name)
    // A step's result is what its own work once returned, so it has that type.
    if (done !== undefined) return done as T
    const result = await work()
    mustBeJson(result)
    this.#mustBeOpen()
    this.#host.birth()
    log.append({ kind: 'step', turn: this.number, name, result: result ?? null })
    await log.committed()
    return result
  }

  load(key: string): Json | undefined {
    return copyOf(this.#host.load(key))
  }

  async save(key: string, value: Json): Promise<void> {
    mustBeJson(value)
    this.#mustBeOpen()
    const own = copyOf(value)
    // What we keep for ourselves makes no task; it is stored with the one that may still come to be.
    if (!key.startsWith(ownKeys)) this.#host.birth()
    this.#host.save(key, own)
    if (!this.#host.log.exists) return
    this.#host.log.append({ kind: 'state', key, value: own })
    await this.#host.log.committed()
  }

  trace(entry: JsonObject): void {
    if (this.over) return
    mustBeJson(entry)
    this.#host.birth()
    this.#host.log.append({ kind: 'trace', at: this.#host.timestamp(), entry })
  }

  async conversation(limit: number): Promise<readonly Message[]> {
    return copyOf(await this.#host.conversation(limit))
  }

  get context(): ContextValues {
    this.#context ??= {
      get: (key) => this.#getValue(key),
      set: (key, value) => this.#setValue(key, value),
    }
    return this.#context
  }

  async #getValue(key: string): Promise<Json | undefined> {
    this.#stored ??= this.#host.contextValues()
    const stored = await this.#stored
    const value = this.#values?.has(key) ? this.#values.get(key) : stored.get(key)
    return value === null ? undefined : copyOf(value)
  }

  #setValue(key: string, value: Json): void {
    mustBeJson(value)
    this.#mustBeOpen()
    const own = copyOf(value)
    this.#values ??= new Map()
    this.#values.set(key, own)
    if (!key.startsWith(ownKeys)) this.#host.birth()
    this.#host.log.keep(key, own)
  }

  away(): () => Promise<void> {
    const slot = this.over ? undefined : this.#host.slot
    if (!slot) return nothingToTake
    let back: Promise<void> | undefined
    slot.away()
    // One that is over has only its cleaning up left, which needs no slot.
    return () => (back ??= this.over ? nothingToTake() : slot.back())
  }

  /**
   * What an agent yields, as the event that goes into the log. Tasks and messages are given back as they are.
   * @throws A2AError `invalidAgentResponse` for what is no event.
   */
  toEvent(event: Exclude<AgentEvent, Message>): StreamResponse {
    if (typeof event === 'string') return this.#chunk({ text: event })
    if ('task' in event || 'message' in event) return event
    return parseStreamResponse(this.#complete(event))
  }

  #complete(event: Exclude<AgentEvent, string | Message>): StreamResponse {
    if ('statusUpdate' in event) return this.#statusEvent(event.statusUpdate)
    if ('artifactUpdate' in event) return this.#artifactEvent(event.artifactUpdate)
    if ('task' in event || 'message' in event) return event
    return this.#chunk(event)
  }

  /** The artifact of a whole answer. */
  answer(text: string): StreamResponse {
    return {
      artifactUpdate: {
        taskId: this.taskId,
        contextId: this.contextId,
        artifact: { artifactId: this.#artifactId(), name: 'response', parts: [{ text }] },
        lastChunk: true,
      },
    }
  }

  #chunk(part: Part): StreamResponse {
    const append = this.#chunks++ > 0
    const artifactId = this.#artifactId()
    const artifact = append
      ? { artifactId, parts: [part] }
      : { artifactId, name: 'response', parts: [part] }
    const { taskId, contextId } = this
    // Written out: to spread a member that may be missing costs more than the rest of a chunk.
    return append
      ? { artifactUpdate: { taskId, contextId, artifact, append } }
      : { artifactUpdate: { taskId, contextId, artifact } }
  }

  #statusEvent(draft: {
    readonly status: { readonly state: TaskState; readonly message?: Message }
    readonly metadata?: JsonObject
  }): StreamResponse {
    const { state, message } = draft.status
    const timestamp = this.#host.timestamp()
    return {
      statusUpdate: {
        taskId: this.taskId,
        contextId: this.contextId,
        status: message ? { state, message, timestamp } : { state, timestamp },
        ...(draft.metadata && { metadata: draft.metadata }),
      },
    }
  }

  #artifactEvent(draft: ArtifactDraft): StreamResponse {
    const { artifact, append, lastChunk, metadata } = draft
    const { taskId, contextId } = this
    const artifactUpdate: Mutable<TaskArtifactUpdateEvent> = { taskId, contextId, artifact }
    if (append !== undefined) artifactUpdate.append = append
    if (lastChunk !== undefined) artifactUpdate.lastChunk = lastChunk
    if (metadata !== undefined) artifactUpdate.metadata = metadata
    return { artifactUpdate }
  }

  /** A task's later turns answer in artifacts of their own. */
  #artifactId(): string {
    return this.number === 1 ? 'response' : `response-${this.number}`
  }

  #mustBeOpen(): void {
    if (this.over) throw new A2AError('taskCanceled', `The turn of task ${this.taskId} is over`)
  }
}

async function nothingToTake(): Promise<void> {}

/** A store refuses what it cannot write, and with it all that is committed at the same time: the tasks of others. */
function mustBeJson(value: unknown): void {
  try {
    if (!isPlain(value, 0)) JSON.stringify(value)
  } catch (cause) {
    throw new A2AError('invalidAgentResponse', 'What the agent keeps is not JSON', { cause })
  }
}

/** Whether a look is enough to see that a value can be written. Whatever is in doubt is tried: deep ones, classes, circles. */
function isPlain(value: unknown, depth: number): boolean {
  if (typeof value !== 'object') return typeof value !== 'bigint' && typeof value !== 'function'
  if (value === null) return true
  if (depth > 8) return false
  if (Array.isArray(value))
    return value.length < 1_000 && value.every((item) => isPlain(item, depth + 1))
  if (Object.getPrototypeOf(value) !== Object.prototype || 'toJSON' in value) return false
  for (const name in value) {
    // true: what for-in names is a member
    const member = (value as Readonly<Record<string, unknown>>)[name]
    if (!isPlain(member, depth + 1)) return false
  }
  return true
}
