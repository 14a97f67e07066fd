import type { ChunkOptions, ContextValues, Draft, Turn } from '../agents/agent.ts'
import { type ReplyPlace, responseArtifact } from '../agents/reply.ts'
import { type AuthContext, anonymous } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { hopsExtension } from '../protocol/extensions.ts'
import type { FullTaskStore } from '../protocol/task-store.ts'
import type {
  Artifact,
  Json,
  JsonObject,
  Message,
  Part,
  Task,
  TaskState,
} from '../protocol/types.ts'
import { newId } from '../shared/ids.ts'
import { copyOf } from '../shared/json.ts'
import type { Logger } from '../shared/log.ts'
import { ownKeys, TurnValues } from './context.ts'
import { mustBeJson } from './json.ts'
import type { Mailbox } from './mailbox.ts'
import { ownMessage, type QueuedMessage } from './messages.ts'
import type { RunHost } from './run-host.ts'
import type { RunWriter } from './writer.ts'

/** What an active turn needs of its run. */
export interface TurnSource {
  readonly host: RunHost
  readonly writer: RunWriter
  readonly mailbox: Pick<Mailbox, 'before' | 'slot'>
  /** A value that the agent saved with the task. */
  load(key: string): Json | undefined
  save(key: string, value: Json): void
  /** Ends the task as FAILED, in the midst of its turn. */
  outgrow(reason: A2AError): void
}

const none: readonly string[] = Object.freeze([])

/**
 * One turn as its agent sees it. What the agent is given is its own: it may write into it, and the log, its siblings in
 * a team and later turns have what they had. The message is copied when the turn begins, the rest for those who look.
 * A class, not closures: one is made per request.
 */
export class ActiveTurn implements Turn, ReplyPlace {
  readonly taskId: string
  readonly contextId: string
  readonly message: Message
  readonly caller: AuthContext
  readonly #source: TurnSource
  readonly #queued: QueuedMessage
  /** The task before this message, as the log has it, and the agent's copy. */
  readonly #before: Task | undefined
  #task: Task | undefined
  #controller: AbortController | undefined
  #steps: Map<string, Promise<Json>> | undefined
  #context: ContextValues | undefined
  hasResponse = false
  /** Set where the agent returned a task that it finishes later. */
  finishesLater = false
  /** Set once nothing more that the agent does counts: it has answered, asked, failed or been cancelled. */
  over = false

  constructor(source: TurnSource, queued: QueuedMessage) {
    this.#source = source
    this.#queued = queued
    this.taskId = source.writer.log.id
    this.contextId = source.writer.log.contextId
    this.message = ownMessage(queued.message)
    this.#before = source.mailbox.before
    const { userId } = queued.request
    this.caller = queued.caller ?? (userId === '' ? anonymous : { userId })
  }

  get number(): number {
    return this.#queued.number
  }
  get attempt(): number {
    return this.#queued.attempt
  }
  get tenant(): string {
    return this.#source.writer.log.scope.tenant
  }
  get task(): Task | undefined {
    this.#task ??= copyOf(this.#before)
    return this.#task
  }
  get history(): readonly Message[] {
    return this.task?.history ?? []
  }
  get taskStore(): FullTaskStore {
    return this.#source.host.tasks(this.#source.writer.log)
  }
  get log(): Logger {
    return this.#source.host.logger
  }
  get extensions(): readonly string[] {
    return this.#queued.request.extensions?.slice() ?? none
  }
  get acceptedOutputModes(): readonly string[] {
    return this.#queued.request.acceptedOutputModes?.slice() ?? none
  }
  get metadata(): JsonObject | undefined {
    return copyOf(this.#queued.request.metadata)
  }
  get traceparent(): string | undefined {
    return this.#queued.request.traceparent
  }

  /** A task's later turns answer in artifacts of their own. */
  get responseId(): string {
    return this.number === 1 ? responseArtifact : `${responseArtifact}-${this.number}`
  }
  timestamp(): string {
    return this.#source.writer.timestamp()
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

  stepKey(name: string): string {
    return `${this.taskId}/${this.number}/${name}`
  }

  async #runStep<T extends Json>(name: string, work: () => Promise<T> | T): Promise<T> {
    const { log } = this.#source.writer
    const done = this.#queued.steps?.get(name)
    // A step's result is what its own work once returned, so it has that type.
    if (done !== undefined) return done as T
    const { host } = this.#source
    if (!host.mayBegin()) await host.begins()
    this.mustBeOpen()
    const result = await work()
    mustBeJson(result)
    this.mustBeOpen()
    this.#source.writer.ensureTask()
    log.append({ kind: 'step', turn: this.number, name, result: result ?? null })
    await log.committed()
    return result
  }

  load(key: string): Json | undefined {
    return copyOf(this.#source.load(key))
  }

  async save(key: string, value: Json): Promise<void> {
    mustBeJson(value)
    this.mustBeOpen()
    const { writer } = this.#source
    const own = copyOf(value)
    // What we keep for ourselves makes no task; it is stored with the one that may still come to be.
    if (!key.startsWith(ownKeys)) writer.ensureTask()
    this.#source.save(key, own)
    if (!writer.log.exists) return
    writer.log.append({ kind: 'state', key, value: own })
    await writer.log.committed()
  }

  trace(entry: JsonObject): void {
    if (this.over) return
    mustBeJson(entry)
    this.#source.writer.ensureTask()
    this.#source.writer.log.append({ kind: 'trace', at: this.#source.host.timestamp(), entry })
  }

  async conversation(limit: number): Promise<readonly Message[]> {
    if (limit <= 0) return []
    // The message itself is among them where its task was stored before the turn began.
    const heard = await this.#source.host.conversation(this.#source.writer.log, limit + 1)
    const earlier = heard.filter(
      ({ taskId, messageId }) => taskId !== this.taskId || messageId !== this.message.messageId,
    )
    return copyOf(earlier.slice(-limit))
  }

  get context(): ContextValues {
    this.#context ??= new TurnValues(this.#source, this)
    return this.#context
  }

  away(): () => Promise<void> {
    const slot = this.over ? undefined : this.#source.mailbox.slot
    if (!slot) return nothingToTake
    let back: Promise<void> | undefined
    slot.away()
    // One that is over has only its cleaning up left, which needs no slot.
    return () => (back ??= this.over ? nothingToTake() : slot.back())
  }

  mustBeOpen(): void {
    if (this.over) throw new A2AError('taskCanceled', `The turn of task ${this.taskId} is over`)
  }
}

async function nothingToTake(): Promise<void> {}
