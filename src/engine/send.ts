import { A2AError } from '../protocol/errors.ts'
import { hopsExtension } from '../protocol/extensions.ts'
import { type Call, type EventStream, principalOf } from '../protocol/operations.ts'
import { isInterrupted, isTerminal } from '../protocol/task.ts'
import type {
  Message,
  SendMessageRequest,
  Task,
  TaskPushNotificationConfig,
  TaskState,
} from '../protocol/types.ts'
import { newTimedId } from '../shared/ids.ts'
import { isSame } from '../shared/json.ts'
import { scopeKey } from '../store/documents.ts'
import type { TurnRequest } from '../store/feed.ts'
import { weighMessage, weighRequest } from '../store/size-limits.ts'
import type { Scope, Store, StoredTask } from '../store/store.ts'
import type { Engine } from './engine.ts'
import { KeyTaken, TaskMoved, taskEnded, taskNotFound } from './errors.ts'
import { isRemote } from './live-tasks.ts'
import {
  keyedEntry,
  type QueuedMessage,
  type SendResult,
  type SentBy,
  TurnAnswer,
  TurnProgress,
  toPushRecord,
} from './queued-messages.ts'
import type { TaskLog, VersionedTask } from './task-log.ts'
import type { TaskRun } from './task-run.ts'
import type { HeldMessage } from './turn-queue.ts'
import { type SubscriptionStart, watchSend } from './watch.ts'

/** Takes in a message: it begins a task or continues one, and one with an idempotency key is taken in once. */
export function sendToTask(
  engine: Engine,
  request: SendMessageRequest,
  call: Call,
): SendResult | Promise<SendResult> {
  engine.assertServing()
  const scope = engine.scopeOf(request.tenant, call.auth)
  const incoming = new Incoming(request, call, scope, engine.principals.of(call))
  return call.idempotencyKey === undefined
    ? place(engine, incoming)
    : engine.keys.sendOnce(call.idempotencyKey, incoming)
}

function place(engine: Engine, incoming: IncomingMessage): SendResult | Promise<SendResult> {
  return incoming.message.taskId ? continueTask(engine, incoming) : startTask(engine, incoming)
}

function startTask(engine: Engine, incoming: IncomingMessage): SendResult {
  const { queue, tasks } = engine
  engine.assertAdmitting()
  const contextId = incoming.message.contextId ?? newTimedId(engine.clock.now())
  queue.mustHaveRoom(incoming.principal)
  queue.mustHold(incoming, false)
  return enqueue(engine, tasks.create(contextId, incoming.scope, incoming.principal), incoming)
}

/** Continues the task that a message names, wherever it runs. */
async function continueTask(engine: Engine, incoming: IncomingMessage): Promise<SendResult> {
  const id = incoming.message.taskId ?? ''
  const sent = await engine.tasks.locate<SendResult>(
    { id, scope: incoming.scope },
    {
      here: (run) => continueHere(engine, run, incoming),
      remote: (task) => forward(engine, task, incoming),
    },
  )
  if (!sent) throw taskNotFound(id)
  return sent
}

async function continueHere(
  engine: Engine,
  run: TaskRun,
  incoming: IncomingMessage,
): Promise<SendResult> {
  const { message, turnRequest } = incoming
  const key = keyedEntry(turnRequest)
  // Another replica may have stored it since its key was looked for: then it is a repetition.
  if (key !== undefined && run.hasForwarded(key)) return engine.keys.repeat(run.log, incoming)
  mustContinue(run.log, message)
  const before = await run.log.snapshot()
  mustContinue(run.log, message)
  if (!run.busy) engine.queue.mustHaveRoom(incoming.principal)
  run.mustHaveRoom()
  engine.queue.mustHold(incoming, !run.busy && isInterrupted(run.log.state))
  const refusal = run.log.refusalOf({ kind: 'message', turn: 0, message, request: turnRequest })
  if (!refusal) return enqueue(engine, run, incoming, before)
  // A task that cannot hold the message fails, and its failure is the answer.
  run.outgrow(refusal)
  await run.log.committed()
  return pastResult((await run.log.snapshot()).task)
}

function enqueue(
  engine: Engine,
  run: TaskRun,
  incoming: IncomingMessage,
  before?: VersionedTask,
): SendResult {
  // The process may have begun to stop while the task was read.
  engine.assertServing()
  const { webhook, dialect = '1.0', turnRequest } = incoming
  const { idempotencyKey } = turnRequest
  if (idempotencyKey !== undefined && !before) run.log.bindIdempotencyKey(idempotencyKey)
  // Before the message, which begins a turn at once: both must be in one commit.
  if (webhook) run.log.register(webhook, dialect, before?.version ?? 0)
  const queued = run.enqueue(incoming.message, turnRequest, incoming)
  if (idempotencyKey !== undefined) run.ensureTask()
  return new LiveResult(run, queued, before)
}

/** Forwards a message to the replica that runs its task; its webhook is registered here. */
async function forward(
  engine: Engine,
  task: StoredTask,
  incoming: IncomingMessage,
): Promise<SendResult | undefined> {
  const { head, version } = task
  mustContinue(head, incoming.message)
  const { webhook, dialect = '1.0' } = incoming
  if (webhook) {
    const record = toPushRecord(webhook, { taskId: head.id, agent: head.scope.agent, dialect })
    await engine.commits.write([{ type: 'pushConfig', record: { ...record, cursor: version } }])
  }
  return engine.replicas.forward(task, incoming)
}

/** @throws A2AError where a message may not continue this task. */
function mustContinue(
  { id, contextId, state }: { readonly id: string; contextId: string; state: TaskState },
  message: Message,
): void {
  if (message.contextId !== undefined && message.contextId !== contextId)
    throw new A2AError('invalidParams', `message.contextId is not the context of task ${id}`, {
      violations: [{ field: 'message.contextId', description: 'is not the context of the task' }],
      metadata: { taskId: id },
    })
  if (isTerminal(state)) throw taskEnded(id, state)
}

/** A message on its way into its task, with all that goes with it. */
interface IncomingMessage extends SentBy, HeldMessage {
  readonly message: Message
  readonly scope: Scope
  readonly turnRequest: TurnRequest
  /** The webhook that comes with it, and the dialect that its deliveries are in. */
  readonly webhook?: TaskPushNotificationConfig | undefined
  readonly dialect?: Call['dialect']
}

/** A message as a request brings it. A class: one is made per request. */
class Incoming implements IncomingMessage {
  readonly message: Message
  readonly scope: Scope
  readonly turnRequest: TurnRequest
  readonly auth: Call['auth']
  readonly principal: string
  readonly bytes: number
  readonly webhook: TaskPushNotificationConfig | undefined
  readonly dialect: Call['dialect']

  constructor(request: SendMessageRequest, call: Call, scope: Scope, principal: string) {
    this.message = request.message
    this.scope = scope
    this.turnRequest = toTurnRequest(request, call)
    this.auth = call.auth
    this.principal = principal
    this.bytes = weighMessage(request.message) + weighRequest(this.turnRequest)
    this.webhook = request.configuration?.taskPushNotificationConfig
    this.dialect = call.dialect
  }
}

/** The part of a request that stays with its turn in the log. */
function toTurnRequest({ configuration, metadata }: SendMessageRequest, call: Call): TurnRequest {
  const { extensions, traceparent, idempotencyKey } = call
  const userId = call.auth?.userId ?? ''
  const modes = configuration?.acceptedOutputModes
  if (!extensions?.length && !modes?.length && !metadata && !traceparent && !idempotencyKey)
    return { userId }
  return {
    userId,
    ...(extensions?.length && { extensions }),
    ...(modes?.length && { acceptedOutputModes: modes }),
    ...(metadata && { metadata }),
    ...(traceparent && { traceparent }),
    ...(idempotencyKey && { idempotencyKey }),
  }
}

/** What comes of a message whose turn runs or is to come. A class, not closures: one is made per request. */
class LiveResult implements SendResult {
  readonly #run: TaskRun
  readonly #queued: QueuedMessage
  /** The task as it was before the message, where the message continues one. */
  #before: VersionedTask | undefined

  constructor(run: TaskRun, queued: QueuedMessage, before: VersionedTask | undefined) {
    this.#run = run
    this.#queued = queued
    this.#before = before
  }

  /** A caller may wait for the answer for long: the task as it was before is not kept for that. */
  get answer(): TurnAnswer {
    this.#before = undefined
    return this.#queued.answer
  }

  async task(): Promise<Task> {
    const { log } = this.#run
    try {
      this.#run.ensureTask()
      await log.committed()
      return (await log.snapshot()).task
    } catch (thrown) {
      const { remote } = this.#queued
      if (!remote || !(thrown instanceof TaskMoved)) throw thrown
      return (await remote).task()
    }
  }

  events({ trace, explains }: Pick<SubscriptionStart, 'trace' | 'explains'> = {}): EventStream {
    const { log, engine } = this.#run
    const queued = this.#queued
    if (this.#run.queued) this.#run.ensureTask()
    const before = this.#before
    this.#before = undefined
    const after = before?.version ?? 0
    // A watcher that begins after the message may not see its turn start.
    const begun = queued.seq !== 0 && queued.seq <= after && this.#run.hasBegun(queued)
    const stream = watchSend(engine.hub, {
      taskId: log.id,
      contextId: log.contextId,
      turn: new TurnProgress(queued.message.messageId, { queued, log, begun }),
      answer: queued.answer,
      before,
      // A quick agent's events, or another process's, may be stored and published before anyone could watch.
      replay: log.version > after || log.broken,
      trace,
      explains,
    })
    if (log.broken) engine.hub.follow(log.id)
    return stream
  }
}

/** What came of a message that was taken in before: its task is all that is known. */
function pastResult(task: Task): SendResult {
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

/**
 * Answers a message whose turn was interrupted. Once the message is stored, respond with the task: an error would make
 * the caller resend. Where another process owns the task, the message follows it there.
 */
export function answerInterrupted(
  engine: Engine,
  queued: QueuedMessage,
  log: TaskLog,
  reason: A2AError,
): void {
  const { seq, answer } = queued
  if (reason instanceof TaskMoved && !engine.closed) {
    // What came from a log or was forwarded is still stored, for the replica that continues the task.
    const isStored = queued.recovered || queued.request.forwarded !== undefined
    if (isStored && !answer.awaited) return
    queued.remote ??= sendAgain(engine, queued, log)
    queued.remote
      .then((sent) => sent.answer.wait())
      .then(
        (response) => answer.settle(response),
        (error) => answer.fail(error),
      )
  } else if (seq === 0 || seq > log.version) answer.fail(reason)
  else answerFromStore(engine, queued, log).catch(() => answer.fail(reason))
}

/** Answers a stored message with its task, unless another replica has dropped the message meanwhile. */
async function answerFromStore(
  engine: Engine,
  { message: { messageId }, seq, answer }: QueuedMessage,
  { id, scope }: TaskLog,
): Promise<void> {
  const task = await engine.readTask(id, scope)
  const mayBeDropped = engine.isShared && isTerminal(task.status.state)
  for (const record of mayBeDropped ? await engine.store.records(id, seq) : [])
    if (record.kind === 'dropped' && record.messageId === messageId)
      return answer.fail(new A2AError('unsupportedOperation', record.reason))
  answer.settle({ task })
}

/** The commit under way decides whether the message is stored: then its turn is followed, else it is sent once more. */
async function sendAgain(engine: Engine, queued: QueuedMessage, log: TaskLog): Promise<SendResult> {
  await log.committed().catch(() => {}) // a rejection is what we wait for
  const { message, request, caller, principal, bytes, seq } = queued
  const { id: taskId, contextId, scope } = log
  const { messageId } = message
  if (seq !== 0 && seq <= log.version)
    return engine.replicas.follow({ taskId, contextId, scope, messageId, after: seq - 1 })
  // What was forwarded and not stored here is still in the inbox.
  if (request.forwarded !== undefined)
    return engine.replicas.follow({ taskId, contextId, scope, messageId, after: log.version })
  const incoming = { message, scope, turnRequest: request, auth: caller, principal, bytes }
  return continueTask(engine, incoming)
}

/**
 * Sends a message once per idempotency key and caller, however often it is repeated. The store knows the keys of the
 * past, this class those on their way to it. Another message under a used key is rejected with `invalidParams`.
 */
export class IdempotencyKeys {
  readonly #engine: Engine
  readonly #underway = new Map<string, Promise<void>>()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async sendOnce(key: string, incoming: IncomingMessage): Promise<SendResult> {
    const underway = this.#underway
    const name = `${scopeKey(incoming.scope)}\n${key}`
    for (let other = underway.get(name); other; other = underway.get(name)) await other
    let done: () => void = () => {}
    underway.set(name, new Promise((resolve) => (done = resolve)))
    try {
      return await this.#repeatOrSend(key, incoming)
    } finally {
      underway.delete(name)
      done()
    }
  }

  async #repeatOrSend(key: string, incoming: IncomingMessage): Promise<SendResult> {
    const { store } = this.#engine
    const { message, scope } = incoming
    const { taskId } = message
    const made = await store.findByKey(scope, key)
    const known =
      made ?? (taskId && (await store.get(taskId, scope, { light: true })) ? taskId : undefined)
    const first = known === undefined ? undefined : await messageWith(store, known, key)
    if (known !== undefined && (first || made)) {
      if (first && !isRepetition(message, first)) throw keyReused()
      return this.#repeat(known, scope, first)
    }
    const sent = await place(this.#engine, incoming)
    try {
      // The task must exist when this resolves.
      await sent.task()
      return sent
    } catch (thrown) {
      // Another replica was first, and its task is there to be found.
      if (thrown instanceof KeyTaken) return this.#repeatOrSend(key, incoming)
      throw thrown
    }
  }

  /** Answers a message whose key the log of its task has. */
  async repeat({ id, scope }: TaskLog, { turnRequest }: IncomingMessage): Promise<SendResult> {
    const { store } = this.#engine
    return this.#repeat(id, scope, await messageWith(store, id, turnRequest.idempotencyKey ?? ''))
  }

  /** What became of a message that is sent again: what still runs is waited for, nothing runs twice. */
  async #repeat(taskId: string, scope: Scope, first: Message | undefined): Promise<SendResult> {
    const { store, tasks, replicas } = this.#engine
    const run = tasks.live(taskId, scope)
    const before = await run?.log.snapshot()
    const queued = run?.latest
    if (run && queued) return new LiveResult(run, queued, before)
    const stored = await store.get(taskId, scope)
    if (!stored || !first || !isRemote(store, stored))
      return pastResult(await this.#engine.get(taskId, scope))
    const { messageId } = first
    const { contextId } = stored.head
    return replicas.follow({ taskId, contextId, scope, messageId, after: 0 })
  }
}

const pageSize = 128

/** The message that came to a task with this key, if its inbox or its log holds one; older logs name no keys. */
async function messageWith(
  store: Store,
  taskId: string,
  key: string,
): Promise<Message | undefined> {
  for (const { entry } of (await store.feed?.inbox(taskId)) ?? [])
    if (entry.kind === 'message' && entry.request.idempotencyKey === key) return entry.message
  for (let after = 0; ; ) {
    const records = await store.records(taskId, after, pageSize)
    for (const record of records)
      if (record.kind === 'message' && record.request.idempotencyKey === key) return record.message
    const last = records.at(-1)
    if (!last || records.length < pageSize) return undefined
    after = last.seq
  }
}

/**
 * Whether a message says what an earlier one said. Its id may be another, since some clients make one for each attempt;
 * task and context may be missing where the first message made them; and the way that it came is not what it says.
 */
function isRepetition(message: Message, first: Message): boolean {
  return (
    (message.taskId === undefined || message.taskId === first.taskId) &&
    (message.contextId === undefined || message.contextId === first.contextId) &&
    isSame(said(message), said(first))
  )
}

function said({ role, parts, metadata, extensions, referenceTaskIds }: Message): object {
  const { [hopsExtension]: _, ...rest } = metadata ?? {}
  return { role, parts, metadata: rest, extensions, referenceTaskIds }
}

function keyReused(): A2AError {
  return new A2AError(
    'invalidParams',
    'This Idempotency-Key came with another message before; send a new key with a new message',
    { reason: 'IDEMPOTENCY_KEY_REUSED' },
  )
}

/**
 * The principals of calls. Most calls come from the principal of the last one and get the very same string: comparing it
 * is then cheap, and what is kept per message does not hold a string each.
 */
export class PrincipalCache {
  #userId = ''
  #address: string | undefined
  #principal = ''

  of(call: Call): string {
    const userId = call.auth?.userId ?? ''
    if (userId !== this.#userId || call.client !== this.#address) {
      this.#userId = userId
      this.#address = call.client
      this.#principal = principalOf(call)
    }
    return this.#principal
  }
}
