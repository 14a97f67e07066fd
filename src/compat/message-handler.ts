import type {
  Agent,
  AgentAnswer,
  AgentEvent,
  AgentInfo,
  AgentReply,
  Turn,
} from '../agents/agent.ts'
import { whenOver } from '../agents/wrap.ts'
import { A2AError, type ErrorCode } from '../protocol/errors.ts'
import type { AuthContext } from '../protocol/operations.ts'
import {
  completedTaskWithText,
  isInterrupted,
  isTerminal,
  textOf,
  userMessage,
} from '../protocol/task.ts'
import type { Message, SendMessageResponse } from '../protocol/types.ts'
import { isAsyncIterable, wait } from '../shared/async.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { replyParts } from '../team/reply.ts'
import {
  defineScheduler,
  type MemberReply,
  type OwnScheduler,
  type SchedulerRun,
  type TeamAgentConfig,
} from '../team/schedulers/scheduler.ts'
import { type CardDraft, infoFromCard } from './types.ts'

/** Answers messages, as a2a-rs has it: one method for the answer, one for the card. Throw a `HandlerError` to fail. */
export interface MessageHandler {
  /**
   * Answers a message with a task or a message. `auth` is absent where nobody knows the caller; `turn` has the task's
   * history, a signal that fires on cancel, and what it takes to yield events instead of one answer. A task that is
   * returned as WORKING, under `turn.taskId`, is finished later by an update of `turn.taskStore`.
   */
  handleMessage(message: Message, auth: AuthContext | undefined, turn: Turn): HandlerReply
  /** What the card says of the agent; interfaces and security of the server are added to it. */
  agentCard(baseUrl: string): CardDraft
  /** Told of a cancelled task, running or waiting. */
  cancelTask?(taskId: string): Promise<void> | void
  /** Whether streams are offered; what the card says if absent, and no if that says nothing. */
  supportsStreaming?(): boolean
}

/** What a message handler gives back: one answer, or events as they happen. */
export type HandlerReply =
  | SendMessageResponse
  | Promise<SendMessageResponse>
  | AsyncIterable<AgentEvent>

/** The five ways in which a handler fails. */
export type HandlerErrorVariant =
  | 'ProcessingFailed'
  | 'BackendUnavailable'
  | 'AuthRequired'
  | 'InvalidInput'
  | 'Internal'

/** A scheduler that names one recipient after the other. */
export interface NextRecipientScheduler {
  /**
   * Who gets the message: a member's id; `user`, or nothing, when the last answer is the team's. It is asked once for
   * each answer, also where the run goes on after a crash or a question to the user.
   */
  determineNextRecipient(
    hop: RecipientHop,
  ): Promise<string | null | undefined> | string | null | undefined
}

/** What a scheduler that names recipients decides on. */
export interface RecipientHop {
  /** The user's message, or the last member's answer. */
  readonly message: Message
  /** The member that sent it; undefined is the user. */
  readonly sender: string | undefined
  /** The members in the team's order. */
  readonly members: readonly TeamAgentConfig[]
  /** How many messages were passed on, from 1. */
  readonly number: number
  readonly signal: AbortSignal
}

/** Makes an agent of a message handler; `baseUrl` gives where its server is reached, as far as that is known. */
export function fromMessageHandler(
  handler: MessageHandler,
  baseUrl: () => string = () => 'http://localhost',
): Agent {
  const cancelled = new CancelledTasks()
  const cancelTask = async (taskId: string): Promise<void> => {
    if (cancelled.add(taskId)) await handler.cancelTask?.(taskId)
  }
  return {
    info: () => withStreaming(infoFromCard(handler.agentCard(baseUrl())), handler),
    process(message, turn) {
      const cancel = (): void => void passOnCancel(turn, 'work', () => cancelTask(turn.taskId))
      turn.signal.addEventListener('abort', cancel, { once: true })
      const over = (): void => turn.signal.removeEventListener('abort', cancel)
      return whenOver(() => answer(handler, message, turn), over)
    },
    cancel: ({ taskId }) => cancelTask(taskId),
  }
}

/** The tasks cancelled last. A cancel arrives twice, by the turn's signal and when the task has ended; the first counts. */
export class CancelledTasks {
  readonly #ids = new Set<string>()

  /** Whether a task is cancelled for the first time. */
  add(id: string): boolean {
    if (this.#ids.has(id)) return false
    this.#ids.add(id)
    const [oldest = ''] = this.#ids
    if (this.#ids.size > maxCancelled) this.#ids.delete(oldest)
    return true
  }
}

/** The two reports of a cancel are seconds apart. */
const maxCancelled = 1_000

function withStreaming(info: AgentInfo, handler: MessageHandler): AgentInfo {
  const streaming = handler.supportsStreaming?.() ?? info.details?.streaming ?? false
  return { ...info, details: { ...info.details, streaming } }
}

function answer(handler: MessageHandler, message: Message, turn: Turn): AgentReply {
  const auth = turn.caller.userId === '' ? undefined : turn.caller
  const reply = handler.handleMessage(message, auth, turn)
  return isAsyncIterable(reply) ? reply : wholeOf(reply, turn)
}

/** Cancels what a turn began. A shutdown also fires the signal, but the task goes on after it. */
export async function passOnCancel(
  { signal, taskId, log }: Turn,
  what: 'work' | 'task',
  cancel: () => Promise<unknown>,
): Promise<void> {
  const { reason } = signal
  if (!(reason instanceof A2AError) || reason.code !== 'taskCanceled') return
  try {
    await cancel()
  } catch (err) {
    log.warn({ taskId, err }, `The handler could not cancel its ${what}`)
  }
}

/** A task that its handler returns unfinished is finished through the store that the turn gives; a member has none. */
async function wholeOf(
  reply: SendMessageResponse | Promise<SendMessageResponse>,
  turn: Turn,
): Promise<AgentAnswer> {
  const response = await reply
  if ('message' in response) return response.message
  const { state } = response.task.status
  if (isTerminal(state) || isInterrupted(state) || turn.taskStore) return response
  throw new A2AError('invalidAgentResponse', `A member returned a task that is still ${state}`)
}

const codes: Readonly<Record<HandlerErrorVariant, ErrorCode>> = {
  ProcessingFailed: 'processingError',
  BackendUnavailable: 'agentUnavailable',
  AuthRequired: 'unauthenticated',
  InvalidInput: 'invalidParams',
  Internal: 'internal',
}

/**
 * What a `MessageHandler` throws, made by one of five static functions. The message reaches the caller; the source
 * stays in `cause`.
 */
export class HandlerError extends A2AError {
  override readonly name: string = 'HandlerError'
  /** Which of the five it is. */
  readonly variant: HandlerErrorVariant

  private constructor(variant: HandlerErrorVariant, message: string, source?: unknown) {
    const challenge = variant === 'AuthRequired' ? { challenge: 'Bearer realm="a2a"' } : {}
    super(codes[variant], message, { ...challenge, ...(source !== undefined && { cause: source }) })
    this.variant = variant
  }

  /** The message could not be processed; the task fails. */
  static processingFailed(message: string, source?: unknown): HandlerError {
    return new HandlerError('ProcessingFailed', message, source)
  }

  /** A service behind the handler does not answer. */
  static backendUnavailable(message: string, source?: unknown): HandlerError {
    return new HandlerError('BackendUnavailable', message, source)
  }

  /** The caller has to say who it is: a 401, or AUTH_REQUIRED where there is a task already. */
  static authRequired(message: string): HandlerError {
    return new HandlerError('AuthRequired', message)
  }

  /** The message makes no sense to the handler. */
  static invalidInput(message: string): HandlerError {
    return new HandlerError('InvalidInput', message)
  }

  /** Anything else; the caller learns nothing of it. */
  static internal(source: unknown): HandlerError {
    return new HandlerError('Internal', 'Internal error', source)
  }
}

/** How an EchoHandler echoes. */
export interface EchoOptions {
  /** Stands before the text; `Echo: ` if absent. */
  readonly prefix?: string
  /** The name in the card; `Echo Agent` if absent. */
  readonly name?: string
  /** How long the task works before it answers, in milliseconds; it answers at once if absent. */
  readonly completeAfterMs?: number
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
}

/** A message handler that answers `Echo: <text>`; for trying things out. */
export class EchoHandler implements MessageHandler {
  readonly #options: EchoOptions

  constructor(options: EchoOptions = {}) {
    this.#options = options
  }

  /** Answers with the message's own text. */
  handleMessage(message: Message, _auth: AuthContext | undefined, turn: Turn): HandlerReply {
    const { prefix = 'Echo: ', completeAfterMs } = this.#options
    const text = `${prefix}${textOf(message.parts)}`
    if (completeAfterMs === undefined) return { task: completedTaskWithText(message, text) }
    return this.#later(text, completeAfterMs, turn)
  }

  /** Gives its card. */
  agentCard(_baseUrl: string): CardDraft {
    const { name = 'Echo Agent' } = this.#options
    const skill = { id: 'echo', name: 'echo', description: 'Answers with what it was told' }
    return { name, description: skill.description, skills: [skill] }
  }

  /** Says that it streams. */
  supportsStreaming(): boolean {
    return true
  }

  async *#later(text: string, ms: number, turn: Turn): AsyncGenerator<AgentEvent> {
    yield turn.status('TASK_STATE_WORKING')
    await wait(this.#options.clock ?? systemClock, ms, turn.signal)
    yield turn.status('TASK_STATE_COMPLETED', text)
  }
}

/** What a team demands of a scheduler that names recipients. */
export interface NextRecipientOptions {
  /** Members that the team must have; none by name if absent. */
  readonly members?: readonly string[]
  /** Members asked in one run before it fails; 10 if absent. */
  readonly maxHops?: number
}

/** Makes the `scheduler` of a team of an object that has `determineNextRecipient`. */
export function fromNextRecipient(
  scheduler: NextRecipientScheduler,
  options: NextRecipientOptions = {},
): OwnScheduler {
  return defineScheduler<NextRecipientOptions>({
    type: 'next-recipient',
    members: ({ members = [] }) => members,
    create: ({ maxHops = 10 }) => ({ schedule: (run) => passOn(run, scheduler, maxHops) }),
  })(options)
}

async function passOn(
  run: SchedulerRun,
  scheduler: NextRecipientScheduler,
  maxHops: number,
): Promise<MemberReply> {
  const { members, signal } = run
  let message = run.message
  let sender: string | undefined
  let reply: MemberReply | undefined
  for (let number = 1; number <= maxHops + 1; number++) {
    const hop = { message, sender, members, number, signal }
    const next = await run.decide(
      async () => (await scheduler.determineNextRecipient(hop)) ?? 'user',
    )
    if (next === 'user') return reply ?? nobody()
    if (number > maxHops) break
    reply = await run.ask(next, message, { facesCaller: sender === undefined })
    sender = next
    message = userMessage(replyParts(reply))
  }
  throw new A2AError('processingError', `No answer after ${maxHops} members`)
}

function nobody(): never {
  throw new A2AError('processingError', 'The scheduler names nobody to answer the message')
}
