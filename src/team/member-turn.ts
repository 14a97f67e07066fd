import { hash } from 'node:crypto'
import {
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { Account, AgentReply, ContextValues, StepWork, Turn } from '../agents/agent.ts'
import type { VerdictQuestion } from '../agents/guards/check.ts'
import { isUnguarded } from '../agents/guards/ready.ts'
import { guardedAnswer } from '../agents/guards/with-guards.ts'
import { ModelRefusal, readReply } from '../agents/reply.ts'
import { acceptsTools, isRefusal, type Tool, wrapTool } from '../agents/tools.ts'
import { type AskAgent, InnerTurn, SteppedValues } from '../agents/wrap.ts'
import { A2AError } from '../protocol/errors.ts'
import { finishOf, usageOf } from '../protocol/extensions.ts'
import { textOf } from '../protocol/task.ts'
import type { Json, JsonObject, Message, Task } from '../protocol/types.ts'
import { type Deadline, LinkedSignal, withSignal } from '../shared/async.ts'
import { toTimestamp } from '../shared/clock.ts'
import { copyOf, type Mutable } from '../shared/json.ts'
import type { CallAccount } from './budget.ts'
import type { Live } from './output.ts'
import { Collector, replyParts } from './reply.ts'
import { type Delegation, type Run, Suspension, stopsForUser } from './run.ts'
import type { MemberReply } from './schedulers/scheduler.ts'

/** One delegation on its way to a member. */
export interface MemberCall {
  readonly run: Run
  readonly delegation: Delegation
  readonly key: string
  readonly message: Message
  readonly live: Live | undefined
  /** The reply in which the member asked what the message answers. */
  readonly asked: MemberReply | undefined
  readonly account: CallAccount
  /** The values of the conversation: what is set by them is stored with the member's reply. */
  readonly values: ContextValues
  /** When its time is over, as the clock's `elapsed`; undefined where it has no limit. */
  readonly endsAt: number | undefined
}

/** One try of a member. */
export interface MemberAttempt {
  readonly agentId: string
  /** From 1, for each member. */
  readonly number: number
  readonly isFallback: boolean
}

/** Made once: every call of a member ends with it, and an error is not free. */
const delegationOver = new A2AError('taskCanceled', 'The delegation is over')

/**
 * One try of a member: the turn that the member sees, and what the team holds of it, its signal, its span, the guards of
 * its step and its words on their way to the caller. The turn is the team's, with a space of its own for steps and state;
 * to the member, a question that it asked is a task of its own that waits for input. A class, not closures: one is made
 * per hop.
 */
export class MemberTurn extends InnerTurn {
  readonly #call: MemberCall
  readonly #agentId: string
  readonly #space: string
  /** What the member was asked and answered before in this run. */
  readonly #exchange: readonly Message[]
  /** Fires when the member is to stop; its signal is made only for a member that looks at it. */
  readonly #link: LinkedSignal
  readonly #span: Span
  /** Where the span is the current one. */
  readonly #spanContext: Context
  /** The member's own copies, made when it looks. */
  #task: Task | undefined
  #history: readonly Message[] | undefined
  #outside: Set<() => Promise<void>> | undefined
  #values: SteppedValues | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(call: MemberCall, { agentId, number }: MemberAttempt) {
    const { run, delegation } = call
    const space = `${delegation.name}:${agentId}`
    // Its own, whatever it does to it: siblings and further tries get the same question.
    const message: Mutable<Message> = copyOf(call.message)
    message.messageId = toMessageId(run.turn, `${space}/${number}`)
    super(run.turn, { space, message })
    this.#call = call
    this.#agentId = agentId
    this.#space = space
    this.#exchange = delegation.alone ? [] : (run.exchanges.get(agentId) ?? [])
    const parent = toContext(run.turn.traceparent)
    this.#span = startSpan(call, agentId, parent)
    this.#spanContext = trace.setSpan(parent, this.#span)
    this.#link = new LinkedSignal(run.link, deadlineOf(call, agentId))
  }

  /**
   * What the member answers, read to its end or to the first state in which it stops.
   * @throws A2AError where it fails, or where its answer is not whole and the call wants a whole one.
   */
  collect(): Promise<MemberReply> {
    return context.with(this.#spanContext, () => this.#collect())
  }

  async #collect(): Promise<MemberReply> {
    const { run, delegation, live, account } = this.#call
    const collector = new Collector(run.turn)
    try {
      await readReply(this.#ask(), {
        place: collector,
        until: this.#link,
        onLeft: (cleanUp) => void run.left.push(cleanUp),
        take(event) {
          const taken = collector.take(event)
          const passing = live?.onEvent(taken)
          return passing ? passing.then(() => collector.hasStopped) : collector.hasStopped
        },
      })
      const reply = collector.reply({ agentId: this.#agentId, space: this.#space })
      const usage = usageOf(reply.metadata)
      if (usage) account.told(usage)
      this.#link.throwIfAborted()
      if (isFailed(reply) && !isRefused(reply)) throw replyError(reply)
      failOnCut(reply, delegation)
      return reply
    } catch (error) {
      this.#failure = { error }
      throw error
    }
  }

  /** Lets the member answer, with the call's tools where it takes some, under the guards of its step. */
  #ask(): AgentReply {
    const { run, delegation } = this.#call
    const { name, wrap, rules } = delegation
    const agentId = this.#agentId
    const found = run.manager.get(agentId)
    if (!found) throw new A2AError('agentUnavailable', `Agent "${agentId}" is not registered`)
    const agent = wrap ? wrap(found) : found
    const running = new Set<Promise<unknown>>()
    const tools = delegation.tools?.map((tool) => stopping(tool, this.#link, running)) ?? []
    const ask: AskAgent = (turn, message = this.message) =>
      acceptsTools(agent) ? agent.process(message, turn, tools) : agent.process(message, turn)
    const ready = rules?.guards && run.guards.ready(rules.guards)
    if (!ready || isUnguarded(ready)) return ask(this)
    const place = {
      guards: ready,
      owner: { team: run.config.id, agent: agentId, step: name },
      tracer: run.turn,
      askMember: (question: VerdictQuestion) => run.guards.ask(run, name, question),
    }
    return guardedAnswer(place, ask, this.message, this)
  }

  /**
   * Stops the member, which may have been left behind and must not go on working for nothing, and ends what it waited for
   * outside the team: when this resolves the team has its slot again. Undefined where the member never was away.
   */
  close(): Promise<void> | undefined {
    return context.with(this.#spanContext, () => this.#close())
  }

  #close(): Promise<void> | undefined {
    try {
      this.#link.abort(delegationOver)
      this.#link.release()
    } catch (error) {
      this.#end({ error })
      throw error
    }
    if (this.#outside) return this.#comeBack(this.#outside)
    this.#end(this.#failure)
    return undefined
  }

  async #comeBack(outside: ReadonlySet<() => Promise<void>>): Promise<void> {
    try {
      const returning = Promise.all([...outside].map((back) => back()))
      await withSignal(returning, this.#call.run.link.signal)
    } catch (error) {
      this.#failure = { error }
      throw error
    } finally {
      this.#end(this.#failure)
    }
  }

  /** Ends the span, with what the try has thrown last. */
  #end(failure: { readonly error: unknown } | undefined): void {
    if (failure) this.#span.setStatus({ code: SpanStatusCode.ERROR })
    if (failure?.error instanceof Error) this.#span.recordException(failure.error)
    this.#span.end()
  }

  override get task(): Task | undefined {
    const { run, asked } = this.#call
    this.#task ??= asked && copyOf(waitingTask(run, asked, this.#exchange))
    return this.#task
  }
  override get history(): readonly Message[] {
    this.#history ??= copyOf(this.#exchange)
    return this.#history
  }
  override get signal(): AbortSignal {
    return this.#link.signal
  }
  override get hops(): readonly string[] {
    return this.#call.run.hops
  }
  /** Without an OpenTelemetry SDK in the process no span is made, and the caller's own context is passed on. */
  override get traceparent(): string | undefined {
    return toTraceparent(this.#span.spanContext()) ?? this.#call.run.turn.traceparent
  }
  override get outputSchema(): JsonObject | undefined {
    return this.#call.delegation.answerSchema
  }
  override get acceptedOutputModes(): readonly string[] {
    const { run, delegation } = this.#call
    return delegation.facesCaller ? run.turn.acceptedOutputModes : []
  }

  override get account(): Account {
    return this.#call.account
  }

  override get context(): SteppedValues {
    this.#values ??= new SteppedValues(this.#call.values)
    return this.#values
  }

  override step<T extends Json>(name: string, work: StepWork<T>): Promise<T> {
    return super.step(name, (values) => this.context.run(work, values))
  }

  override away(): () => Promise<void> {
    const back = super.away()
    this.#outside ??= new Set()
    this.#outside.add(back)
    return back
  }

  override trace(entry: JsonObject, thrown?: unknown): void {
    super.trace(withPlace(entry, this.#space), thrown)
  }

  override async conversation(limit: number): Promise<readonly Message[]> {
    if (limit <= 0) return []
    const { run, delegation } = this.#call
    const heard = delegation.facesCaller ? await super.conversation(limit + 1) : []
    // The caller's message may be among them; the member has it as its own, under another id.
    const { messageId: callers } = run.turn.message
    const earlier = heard.filter(({ messageId }) => messageId !== callers)
    return [...earlier, ...copyOf(this.#exchange)].slice(-limit)
  }
}

/**
 * The id of a message to a member: a UUID that is the same when the turn runs again after a crash, so that a remote peer
 * can tell a repeated send, and another one for every try and every delegation.
 */
function toMessageId(turn: Turn, place: string): string {
  const hex = hash('sha256', `${turn.taskId}/${turn.message.messageId}/${place}`)
  // Version 8 and the standard variant of RFC 9562, for ids made in a way of one's own.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

const format = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

function toContext(traceparent: string | undefined): Context {
  const match = format.exec(traceparent ?? '')
  const [, traceId, spanId, flags] = match ?? []
  if (!traceId || !spanId || !flags) return context.active()
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
  })
}

function startSpan({ run, delegation }: MemberCall, agentId: string, parent: Context): Span {
  const attributes = {
    'corral.team': run.config.id,
    'corral.member': agentId,
    'corral.step': delegation.name,
    'corral.task': run.turn.taskId,
  }
  return trace.getTracer('corral').startSpan(`delegate ${agentId}`, { attributes }, parent)
}

/** The end of one try: by its own time, or by that of the whole delegation. */
function deadlineOf({ run, delegation, endsAt }: MemberCall, agentId: string): Deadline {
  const { clock } = run
  const { rules } = delegation
  const maxTaskSeconds = rules?.maxTaskSeconds
  const timeoutSeconds = rules?.timeoutSeconds ?? Infinity
  const leftMs = endsAt === undefined ? Infinity : Math.max(0, endsAt - clock.elapsed())
  const ms = Math.min(timeoutSeconds * 1_000, leftMs)
  const seconds = ms === leftMs ? maxTaskSeconds : timeoutSeconds
  const reason = (): A2AError =>
    new A2AError('timeout', `Agent "${agentId}" took longer than ${seconds} s`)
  return { clock, ms: ms === Infinity ? undefined : ms, reason }
}

/**
 * Stops the member when its tool has to ask the user, or when the user has rejected the call: the model learns of neither. A
 * question waits until the other `running` tools have ended, which would otherwise run, and be paid for, a second time.
 */
function stopping(tool: Tool, link: LinkedSignal, running: Set<Promise<unknown>>): Tool {
  return wrapTool(tool, {
    async execute(args, context) {
      const work = (async () => tool.execute(args, context))()
      running.add(work)
      try {
        return await work
      } catch (thrown) {
        running.delete(work)
        if (thrown instanceof Suspension) await Promise.allSettled(running)
        if (stopsForUser(thrown)) link.abort(thrown)
        throw thrown
      } finally {
        running.delete(work)
      }
    },
  })
}

function isFailed({ state }: MemberReply): boolean {
  return (
    state === 'TASK_STATE_FAILED' ||
    state === 'TASK_STATE_REJECTED' ||
    state === 'TASK_STATE_CANCELED'
  )
}

/** Whether the user did not approve what the member wanted to do. */
export function isRefused({ state, metadata }: MemberReply): boolean {
  return state === 'TASK_STATE_REJECTED' && isRefusal(metadata)
}

/** The error that a reply in a failed state stands for. */
function replyError(reply: MemberReply): A2AError {
  const text = reply.message ? textOf(reply.message.parts) : ''
  if (finishOf(reply.metadata) === 'refusal') return new ModelRefusal(text)
  return new A2AError('processingError', text || `The agent ended in ${reply.state}`)
}

/** @throws A2AError where the answer is not whole and the call wants a whole one. */
function failOnCut({ metadata }: MemberReply, { agentId, rules }: Delegation): void {
  const failOn = rules?.failOn
  if (!failOn || failOn.length === 0) return
  const reason = finishOf(metadata)
  if (!failOn.some((one) => one === reason)) return
  const why = reason === 'length' ? 'had no more tokens' : 'was cut by its content filter'
  throw new A2AError('processingError', `The answer of agent "${agentId}" is not whole: it ${why}`)
}

/** The task that a question of the member is to it. */
function waitingTask({ turn, clock }: Run, asked: MemberReply, exchange: readonly Message[]): Task {
  const question = asked.message ?? turn.reply(replyParts(asked))
  return {
    id: turn.taskId,
    contextId: turn.contextId,
    status: { state: asked.state, message: question, timestamp: toTimestamp(clock.now()) },
    ...(asked.artifacts && { artifacts: asked.artifacts }),
    history: exchange,
  }
}

function toTraceparent({ traceId, spanId, traceFlags }: SpanContext): string | undefined {
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}

/** The place names nest, so that an entry of a nested team says by which way it was reached. */
function withPlace(entry: JsonObject, space: string): JsonObject {
  return { ...entry, at: typeof entry.at === 'string' ? `${space}/${entry.at}` : space }
}

/** Where members keep something with a task, by the keys that their team sees: `<delegation>:<member>/<their key>`. */
export function memberSpaces(
  keys: Iterable<string>,
): readonly { readonly agentId: string; readonly space: string }[] {
  const spaces = new Set<string>()
  for (const key of keys) {
    const end = key.indexOf('/')
    if (end > 0) spaces.add(key.slice(0, end))
  }
  return [...spaces].flatMap((space) => {
    const colon = space.indexOf(':')
    return colon < 0 ? [] : [{ agentId: space.slice(colon + 1), space }]
  })
}

/** The keys of one space, as the member that keeps them names them. */
export function* keysIn(space: string, keys: Iterable<string>): Iterable<string> {
  for (const key of keys) if (key.startsWith(`${space}/`)) yield key.slice(space.length + 1)
}
