import type { ChunkOptions, ContextValues, Draft, StepWork, Turn } from '../agents/agent.ts'
import { ContentBlocked } from '../agents/guards/check.ts'
import {
  type ReplyPlace,
  readAgentAnswer,
  readAgentEvent,
  responseArtifact,
} from '../agents/reply.ts'
import { SteppedValues } from '../agents/wrap.ts'
import { A2AError } from '../protocol/errors.ts'
import { hopsExtension } from '../protocol/extensions.ts'
import { type AuthContext, anonymous } from '../protocol/operations.ts'
import { canTransition, isInterrupted, isTerminal } from '../protocol/task.ts'
import type { FullTaskStore } from '../protocol/task-store.ts'
import type {
  Artifact,
  Json,
  JsonObject,
  Message,
  Part,
  StreamResponse,
  Task,
  TaskState,
} from '../protocol/types.ts'
import { isAsyncIterable, myTurn } from '../shared/async.ts'
import { newId } from '../shared/ids.ts'
import { copyOf, mustSerialise } from '../shared/json.ts'
import type { Logger } from '../shared/log.ts'
import { conversationOf } from '../store/documents.ts'
import { weigh } from '../store/size-limits.ts'
import { failedState, failureNote, isCallerFault, TaskMoved, toAgentFault } from './errors.ts'
import { addressed, ownMessage, type QueuedMessage } from './queued-messages.ts'
import { recordCode } from './recover.ts'
import type { TaskRun } from './task-run.ts'

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
  readonly #run: TaskRun
  readonly #queued: QueuedMessage
  /** The task before this message, as the log has it, and the agent's copy. */
  readonly #before: Task | undefined
  #task: Task | undefined
  #controller: AbortController | undefined
  #steps: Map<string, Promise<Json>> | undefined
  #values: TurnValues | undefined
  #context: SteppedValues | undefined
  hasResponse = false
  /** Set where the agent returned a task that it finishes later. */
  finishesLater = false
  /** Set once nothing more that the agent does counts: it has answered, asked, failed or been cancelled. */
  over = false

  constructor(run: TaskRun, queued: QueuedMessage) {
    this.#run = run
    this.#queued = queued
    this.taskId = run.log.id
    this.contextId = run.log.contextId
    this.message = ownMessage(queued.message)
    this.#before = run.before
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
    return this.#run.log.scope.tenant
  }
  get task(): Task | undefined {
    this.#task ??= copyOf(this.#before)
    return this.#task
  }
  get history(): readonly Message[] {
    return this.task?.history ?? []
  }
  get taskStore(): FullTaskStore {
    return this.#run.engine.tasksOf(this.#run.log.scope)
  }
  get log(): Logger {
    return this.#run.engine.logger
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
    return this.#run.timestamp()
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

  step<T extends Json>(name: string, work: StepWork<T>): Promise<T> {
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

  async #runStep<T extends Json>(name: string, work: StepWork<T>): Promise<T> {
    const { log, engine } = this.#run
    const done = this.#queued.steps?.get(name)
    // A step's result is what its own work once returned, so it has that type.
    if (done !== undefined) return done as T
    if (!engine.mayBegin()) await engine.whenMayBegin()
    this.mustBeOpen()
    const values = new StepValues(this.#turnValues)
    try {
      const result = await this.context.run(work, values)
      mustBeJson(result)
      this.mustBeOpen()
      this.#run.openTask()
      log.append({ kind: 'step', turn: this.number, name, result: result ?? null })
      // In the same tick as the record, so that one commit has both.
      values.store()
      await log.committed()
      return result
    } finally {
      values.release()
    }
  }

  load(key: string): Json | undefined {
    return copyOf(this.#run.load(key))
  }

  async save(key: string, value: Json): Promise<void> {
    mustBeJson(value)
    this.mustBeOpen()
    const run = this.#run
    const own = copyOf(value)
    // Our own values create no task; they are stored with the one that may still come to be.
    if (!key.startsWith(ownKeys)) run.openTask()
    run.save(key, own)
    if (!run.log.exists) return
    run.log.append({ kind: 'state', key, value: own })
    await run.log.committed()
  }

  trace(entry: JsonObject, thrown?: unknown): void {
    if (this.over) return
    mustBeJson(entry)
    this.#run.openTask()
    const at = this.#run.engine.timestamp()
    if (thrown === undefined) this.#run.log.append({ kind: 'trace', at, entry })
    else {
      const failure = failureNote(thrown, this.attempt)
      this.#run.log.append({ kind: 'trace', at, entry, failure })
    }
  }

  async conversation(limit: number): Promise<readonly Message[]> {
    if (limit <= 0) return []
    // The message itself is among them where its task was stored before the turn began.
    const { engine, log } = this.#run
    const { scope, contextId } = log
    const messages = await conversationOf(engine.store, { scope, contextId, limit: limit + 1 })
    const earlier = messages.filter(
      ({ taskId, messageId }) => taskId !== this.taskId || messageId !== this.message.messageId,
    )
    return copyOf(earlier.slice(-limit))
  }

  get context(): SteppedValues {
    this.#context ??= new SteppedValues(this.#turnValues)
    return this.#context
  }

  get #turnValues(): TurnValues {
    this.#values ??= new TurnValues(this.#run, this)
    return this.#values
  }

  away(): () => Promise<void> {
    const slot = this.over ? undefined : this.#run.slot
    if (!slot) return nothingToTake
    let back: Promise<void> | undefined
    slot.away()
    // One that is over has only its cleaning up left, which needs no slot.
    return () => (back ??= this.over ? nothingToTake() : slot.back())
  }

  callback(): ReturnType<Required<Turn>['callback']> {
    return this.#run.engine.callbacks.open(this, this.#run)
  }

  mustBeOpen(): void {
    if (this.over) throw new A2AError('taskCanceled', `The turn of task ${this.taskId} is over`)
  }
}

async function nothingToTake(): Promise<void> {}

/** Beyond this many records, or bytes of them, waiting for the store, the agent waits too. */
const maxBacklog = 256
const maxBacklogBytes = 256 * 1024

/** Beyond this many bytes it waits for its turn: one that says much at once lets others do something. */
const burstBytes = 128 * 1024

/** Lets the agent answer one message, and writes what it says. It never rejects: what the agent throws fails its task. */
export async function executeTurn(
  run: TaskRun,
  queued: QueuedMessage,
  turn: ActiveTurn,
): Promise<void> {
  const { log, engine } = run
  try {
    if (run.definition.code) recordCode(run, run.definition.code)
    if (log.exists) recordStart(run, queued)
    // Commit before running the agent when (a) this is a recovered attempt, so that a crash is counted, (b) the message
    // has an idempotency key, so that a retry finds the task, or (c) another replica may own the task.
    const isKeyed = queued.request.idempotencyKey !== undefined
    if (isKeyed) run.openTask()
    if (queued.recovered || isKeyed || (engine.isShared && log.exists)) await log.committed()
    if (!engine.mayBegin()) await engine.whenMayBegin()
    // A large message was read and measured in this tick: the agent reads it in another.
    if (queued.bytes >= burstBytes) await myTurn(turn.caller.userId)
    if (!run.isCurrent(turn)) return
    const reply = run.definition.agent.process(turn.message, turn)
    if (isAsyncIterable(reply)) await takeEvents(run, reply, turn)
    else takeAnswer(run, await reply, turn)
  } catch (thrown) {
    // An agent that throws at once does so before the queue has handed over the slot that must be given back.
    await undefined
    takeFailure(run, thrown, turn)
  }
  if (run.isCurrent(turn)) run.finish(queued, turn)
}

/** Records that a turn begins, in a task that exists. */
function recordStart(run: TaskRun, { number: turn, attempt, deaths }: QueuedMessage): void {
  run.log.build = run.definition.build
  run.log.append({ kind: 'start', turn, attempt, ...(deaths?.total && { deaths }) })
  if (run.log.state !== 'TASK_STATE_WORKING') run.status('TASK_STATE_WORKING')
}

async function takeEvents(
  run: TaskRun,
  events: AsyncIterable<unknown>,
  turn: ActiveTurn,
): Promise<void> {
  const { log } = run
  for await (const event of events) {
    if (!run.isCurrent(turn)) return
    takeEvent(run, readAgentEvent(event, turn), turn)
    if (turn.over) return
    const { pendingBytes } = log
    if (log.backlog >= maxBacklog || pendingBytes >= maxBacklogBytes) await log.committed()
    else if (pendingBytes >= burstBytes) await myTurn()
  }
}

function takeEvent(run: TaskRun, event: StreamResponse, turn: ActiveTurn): void {
  if ('message' in event) {
    takeMessage(run, event.message, turn)
    return
  }
  if ('task' in event) adopt(run, event.task)
  else run.emit(event)
  const { state } = run.log
  if (isTerminal(state) || state === 'TASK_STATE_INPUT_REQUIRED') {
    turn.over = true
    run.onTurnEnd()
  } else if (state === 'TASK_STATE_AUTH_REQUIRED' && run.current) run.answer(run.current)
}

function takeAnswer(run: TaskRun, answer: unknown, turn: ActiveTurn): void {
  if (answer === undefined || !run.isCurrent(turn)) return
  const event = readAgentAnswer(answer, turn)
  if ('message' in event) takeMessage(run, event.message, turn)
  else if ('task' in event) {
    adopt(run, event.task)
    const { state } = event.task.status
    turn.finishesLater = !isTerminal(state) && !isInterrupted(state)
  } else run.emit(event)
}

/** A lone Message answers without a task, and completes one that exists. */
function takeMessage(run: TaskRun, message: Message, turn: ActiveTurn): void {
  turn.over = true
  const { id: taskId, contextId, exists } = run.log
  if (exists) run.status('TASK_STATE_COMPLETED', addressed(message, { taskId, contextId }))
  else run.current?.answer.settle({ message: addressed(message, { contextId }) })
}

/**
 * Takes a Task from an agent for this task: as its beginning, or as changes to what is already there.
 * @throws A2AError `invalidAgentResponse` for one in a state that no task begins in.
 */
function adopt(run: TaskRun, task: Task): void {
  const { log, current } = run
  if (!current) return
  const { status, artifacts, history } = task
  if (log.exists) {
    const { id: taskId, contextId } = log
    for (const artifact of artifacts ?? [])
      log.emit({ artifactUpdate: { taskId, contextId, artifact } })
    // Agents of other libraries begin each turn by this; a task that exists is not submitted again.
    if (status.state !== 'TASK_STATE_SUBMITTED') run.status(status.state, status.message)
    return
  }
  if (!canTransition('TASK_STATE_SUBMITTED', status.state))
    throw new A2AError('invalidAgentResponse', `A task cannot begin in ${status.state}`)
  const refusal = log.refusalOf({ kind: 'event', event: { task } })
  if (refusal) throw refusal
  run.openWith(current, {
    ...task,
    status: { ...status, timestamp: status.timestamp ?? run.engine.timestamp() },
    history: history?.length ? history : [current.message],
  })
}

function takeFailure(run: TaskRun, thrown: unknown, turn: ActiveTurn): void {
  if (!run.isCurrent(turn)) return
  const { log, engine } = run
  // Another process owns the task, or is about to: this turn has nothing to say any more.
  if (thrown instanceof TaskMoved) return
  if (turn.over) {
    engine.logger.warn({ taskId: log.id, err: thrown }, 'The agent failed after its answer')
    return
  }
  if (!log.exists && isCallerFault(thrown)) {
    turn.over = true
    run.current?.answer.fail(thrown)
    return
  }
  const error = toAgentFault(thrown)
  if (error.code === 'unauthenticated' && !isTerminal(log.state)) {
    run.failure(error, 'TASK_STATE_AUTH_REQUIRED')
    return
  }
  const { id: taskId } = log
  if (error instanceof ContentBlocked)
    engine.logger.info({ taskId, at: error.at, reason: error.message }, 'A guard has blocked')
  else engine.logger.error({ taskId, err: thrown }, 'The agent failed')
  if (!isTerminal(log.state)) run.failure(error, failedState(error))
}

/** How the keys of values begin that we keep ourselves. */
const ownKeys: string = 'corral:'

/** A value that a turn has set, and when: of two for one key the one that was set later counts. */
interface SetValue {
  readonly value: Json
  readonly order: number
}

/**
 * The values of a context as one turn sees them: those that its running steps have set, those that it has set before or
 * between them, and those that the store had when it first asked.
 */
class TurnValues implements ContextValues {
  readonly #run: TaskRun
  readonly #turn: ActiveTurn
  #steps: Set<ReadonlyMap<string, SetValue>> | undefined
  #set: Map<string, SetValue> | undefined
  #stored: ReadonlyMap<string, Json> | undefined
  #loading: Promise<ReadonlyMap<string, Json>> | undefined
  #order = 0

  constructor(run: TaskRun, turn: ActiveTurn) {
    this.#run = run
    this.#turn = turn
  }

  async get(key: string): Promise<Json | undefined> {
    await this.#load()
    const newest = this.#newest(key)
    const value = newest ? newest.value : this.#stored?.get(key)
    return value === null ? undefined : copyOf(value)
  }

  set(key: string, value: Json): void {
    const own = this.#check(key, value)
    this.put(key, own)
    if (!this.#stored) void this.#checkLater(key, own)
  }

  /** Stores a value that was checked, with the records that follow, unless a later one is stored. */
  put(key: string, own: SetValue): void {
    this.#set ??= new Map()
    if ((this.#set.get(key)?.order ?? 0) > own.order) return
    this.#set.set(key, own)
    if (!key.startsWith(ownKeys)) this.#run.openTask()
    this.#run.log.setContextValue(key, own.value)
  }

  /** Adds a value to those that a running step has set. */
  setInStep(values: Map<string, SetValue>, key: string, value: Json): void {
    const own = this.#check(key, value)
    this.#steps ??= new Set()
    this.#steps.add(values)
    values.set(key, own)
    if (!this.#stored) void this.#checkLater(key, own, values)
  }

  releaseStep(values: ReadonlyMap<string, SetValue>): void {
    this.#steps?.delete(values)
  }

  /** The turn's own copy of a value. @throws A2AError where it cannot be stored. */
  #check(key: string, value: Json): SetValue {
    mustBeJson(value)
    this.#turn.mustBeOpen()
    const own = copyOf(value)
    const refusal = this.#refusalOf(key, own)
    if (refusal) throw refusal
    return { value: own, order: ++this.#order }
  }

  async #load(): Promise<void> {
    const { engine, log } = this.#run
    this.#loading ??= engine.store.contextValues(log.scope, log.contextId)
    this.#stored = await this.#loading
  }

  /** Where the store was not asked yet, what is too much is taken back as soon as that is known, and the task fails. */
  async #checkLater(key: string, own: SetValue, step?: Map<string, SetValue>): Promise<void> {
    try {
      await this.#load()
      const refusal = this.#refusalOf(key, this.#newest(key)?.value ?? null)
      if (!refusal) return
      step?.delete(key)
      if (this.#set?.get(key) === own) {
        this.#set.delete(key)
        this.#run.log.setContextValue(key, this.#stored?.get(key) ?? null)
      }
      this.#turn.mustBeOpen()
      this.#run.outgrow(refusal)
    } catch {
      // The store cannot be read: the next read of a value reports that.
    }
  }

  #refusalOf(key: string, value: Json): A2AError | undefined {
    const { maxContextBytes } = this.#run.engine.limits
    let bytes = value === null ? 0 : key.length + weigh(value)
    if (bytes === 0) return undefined
    for (const [name, kept] of this.#known())
      if (name !== key && kept !== null) bytes += name.length + weigh(kept)
    if (bytes <= maxContextBytes) return undefined
    return new A2AError(
      'processingError',
      `The values of this conversation would be more than ${maxContextBytes} bytes`,
    )
  }

  /** What the turn itself has set last under a key. */
  #newest(key: string): SetValue | undefined {
    let newest = this.#set?.get(key)
    for (const values of this.#steps ?? []) {
      const one = values.get(key)
      if (one && one.order > (newest?.order ?? 0)) newest = one
    }
    return newest
  }

  #known(): ReadonlyMap<string, Json> {
    if (!this.#set && !this.#steps) return this.#stored ?? noValues
    const known = new Map(this.#stored)
    for (const values of [...(this.#set ? [this.#set] : []), ...(this.#steps ?? [])])
      for (const key of values.keys()) known.set(key, this.#newest(key)?.value ?? null)
    return known
  }
}

const noValues: ReadonlyMap<string, Json> = new Map()

/** The values of a context as one step sees them: what the step sets is stored with its record, or not at all. */
class StepValues implements ContextValues {
  readonly #turn: TurnValues
  #set: Map<string, SetValue> | undefined

  constructor(turn: TurnValues) {
    this.#turn = turn
  }

  get(key: string): Promise<Json | undefined> {
    return this.#turn.get(key)
  }

  set(key: string, value: Json): void {
    // Our own say the same however often they are set, and serve the step itself when it runs again.
    this.#set ??= new Map()
    if (key.startsWith(ownKeys)) this.#turn.set(key, value)
    else this.#turn.setInStep(this.#set, key, value)
  }

  /** Stores what the step has set, with the records that wait. */
  store(): void {
    this.release()
    for (const [key, own] of this.#set ?? []) this.#turn.put(key, own)
  }

  release(): void {
    if (this.#set) this.#turn.releaseStep(this.#set)
  }
}

/**
 * Refuses what cannot be written as JSON: a store would refuse it, and with it all that is committed at the same time, the
 * tasks of others among them.
 *
 * @throws A2AError `invalidAgentResponse` for a value that is no JSON.
 */
function mustBeJson(value: unknown): void {
  try {
    mustSerialise(value)
  } catch (cause) {
    throw new A2AError('invalidAgentResponse', 'What the agent keeps is not JSON', { cause })
  }
}
