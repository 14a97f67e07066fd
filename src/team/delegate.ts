import {
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { Agent, AgentReply, ContextValues, Turn } from '../agents/agent.ts'
import { ContentBlocked, type VerdictQuestion } from '../agents/guards/check.ts'
import { isUnguarded } from '../agents/guards/ready.ts'
import { guardedAnswer } from '../agents/guards/with-guards.ts'
import { ModelRefusal } from '../agents/reply.ts'
import { acceptsTools, isRefusal, type Tool, wrapTool } from '../agents/tools.ts'
import type { AskAgent } from '../agents/wrap.ts'
import { A2AError, type ErrorCode, toA2AError } from '../protocol/errors.ts'
import { finishOf, type Usage, usageOf } from '../protocol/extensions.ts'
import { MemberFailed } from '../protocol/failure.ts'
import { isInterrupted, textOf } from '../protocol/task.ts'
import type { JsonObject, Message } from '../protocol/types.ts'
import { backoffMs, retry } from '../shared/async.ts'
import { copyOf, type Mutable } from '../shared/json.ts'
import { tellsAll } from '../shared/log.ts'
import { type CallAccount, Overspent } from './budget.ts'
import { teamDefaults } from './config.ts'
import { Feedback, Refusal, Suspension } from './errors.ts'
import { ChildTurn, type Live, toMessageId } from './member-turn.ts'
import {
  type CallFacts,
  clip,
  collectReply,
  replyEntry,
  replyFromJson,
  replyParts,
  replyToJson,
} from './reply.ts'
import { type Delegation, type Run, traceRun } from './run.ts'
import type { MemberReply } from './schedulers/scheduler.ts'
import { type Deadline, LinkedSignal } from './signal.ts'

/** One delegation on its way to a member. */
interface MemberCall {
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

/**
 * The one way in which a team calls a member. A durable step of the turn: its result is in the log before anyone acts
 * on it, and it is not repeated after a crash. A member's question stops the run (Suspension) and the user's answer
 * comes back here; cancel, the member's deadline and the run's reach the member as its signal.
 *
 * @throws A2AError short outside, with the whole story as `cause`, when the member and its fallback have failed.
 */
export async function delegate(run: Run, delegation: Delegation): Promise<MemberReply> {
  const key = `${delegation.name}:${delegation.agentId}`
  const earlier = run.memory.recall(key)
  const last = earlier.at(-1)
  if (last && !isInterrupted(last.state))
    return note({ run, delegation, message: delegation.message }, last)
  const answer = last && run.memory.takeAnswer(key)
  if (last && !answer) throw new Suspension(key, last)

  const account = run.budget.open(key, run.memory.usedBy(key), run.memory.failedBy(key))
  const live = delegation.live && run.output.live(delegation.live, account)
  const message = answer ?? delegation.message
  const { maxTaskSeconds } = delegation
  const endsAt = maxTaskSeconds && (await endOf(run, key, maxTaskSeconds))
  let fresh: MemberReply | undefined
  const stepped = await run.turn.step(key, async (values) => {
    const call = { run, delegation, key, live, account, asked: last, message, values, endsAt }
    try {
      fresh = withUsed(await callWithRules(call), account.used)
    } finally {
      if (delegation.within) run.memory.spend(key, account.used, false)
    }
    return replyToJson(fresh)
  })
  const reply = fresh ?? replyFromJson(stepped)
  if (fresh) live?.finish(fresh)
  else account.replay(reply)
  run.memory.remember(key, reply)
  if (isInterrupted(reply.state)) throw new Suspension(key, reply)
  run.budget.close(key)
  return note({ run, delegation, message }, reply)
}

/**
 * When a delegation with a limit has to be over. Its beginning is in the log, so that a restart gives it no further time;
 * a turn that brings the user's answer begins anew.
 */
async function endOf({ memory, clock }: Run, key: string, seconds: number): Promise<number> {
  const began = await memory.begin(key, clock.now())
  return clock.elapsed() + began + seconds * 1_000 - clock.now()
}

/** Keeps the exchange, so that a member that is asked again knows what it said. */
function note(
  { run, delegation, message }: Pick<MemberCall, 'run' | 'delegation' | 'message'>,
  reply: MemberReply,
): MemberReply {
  const { agentId, alone } = delegation
  if (alone) return reply
  const said = run.turn.reply(replyParts(reply))
  const earlier = run.exchanges.get(agentId)
  run.exchanges.set(agentId, earlier ? [...earlier, message, said] : [message, said])
  return reply
}

/** The reply with what the whole call has used, so that a repeated run counts the same. */
function withUsed(reply: MemberReply, used: Usage | undefined): MemberReply {
  return used ? { ...reply, used } : reply
}

/**
 * Calls the member, again where its rules say so, and its fallback at last.
 * @throws A2AError short outside, with the whole story as `cause`; Suspension when a tool of the member asks the user.
 */
async function callWithRules(call: MemberCall): Promise<MemberReply> {
  const { run, delegation } = call
  const { tolerant, maxRetries, fallbackAgentId } = delegation
  if (!tolerant && !maxRetries && !fallbackAgentId && !call.asked)
    return callMember(call, delegation.agentId, 1)
  try {
    return await withFallback(call)
  } catch (thrown) {
    if (isFinal(run, thrown) || !delegation.tolerant) throw thrown
    const { message } = toA2AError(thrown)
    return { state: 'TASK_STATE_FAILED', message: run.turn.reply(message) }
  }
}

async function withFallback(call: MemberCall): Promise<MemberReply> {
  const { run, delegation } = call
  const { fallbackAgentId } = delegation
  const { agentId = delegation.agentId } = call.asked?.from ?? {}
  try {
    return await withRetries(call, agentId)
  } catch (thrown) {
    if (isFinal(run, thrown) || !fallbackAgentId || agentId === fallbackAgentId) throw thrown
    if (isLate(call, 0)) throw thrown
    traceRun(run, { type: 'fallback', ...factsOf(call, agentId), to: fallbackAgentId })
    startOver(call)
    return await callMember(call, fallbackAgentId, 1)
  }
}

function factsOf({ run, delegation, key }: MemberCall, member: string): CallFacts {
  return { call: key, team: run.config.id, member, step: delegation.name }
}

function withRetries(call: MemberCall, agentId: string): Promise<MemberReply> {
  const { run, delegation } = call
  return retry(
    (number) => {
      if (number > 1) startOver(call)
      return callMember(call, agentId, number)
    },
    {
      tries: 1 + (delegation.maxRetries ?? teamDefaults.maxRetries),
      clock: run.clock,
      // Most members never fail, and a signal is made for those who look.
      signal: () => run.link.signal,
      delay(thrown, failures) {
        if (isFinal(run, thrown) || wouldFailAgain(thrown)) return undefined
        const delayMs = retryDelay(thrown, failures, run)
        if (isLate(call, delayMs)) return undefined
        traceRun(run, { type: 'retry', ...factsOf(call, agentId), try: failures + 1, delayMs })
        return delayMs
      },
    },
  )
}

/** Whether the delegation has no time left after so many milliseconds. */
function isLate({ run, endsAt }: MemberCall, ms: number): boolean {
  return endsAt !== undefined && run.clock.elapsed() + ms >= endsAt
}

/** Errors that the same question to the same member meets again. */
const lasting: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'insufficientQuota',
  'contextLengthExceeded',
])

function wouldFailAgain(thrown: unknown): boolean {
  if (thrown instanceof ContentBlocked) return thrown.at === 'input'
  return thrown instanceof ModelRefusal || (thrown instanceof A2AError && lasting.has(thrown.code))
}

function startOver({ live, account }: MemberCall): void {
  live?.restart()
  account.again()
}

/** Neither a cancelled run, nor one that waits for the user or ends for its sake, or may use no more, is tried again. */
function isFinal(run: Run, thrown: unknown): boolean {
  return run.link.aborted || endsRun(thrown)
}

/** Whether a run ends whatever its rules for failures say: the user is asked or did not approve, or nothing may be used. */
function endsRun(thrown: unknown): boolean {
  return isUsers(thrown) || thrown instanceof Overspent
}

/** Whether a run stops for the user: to ask, or because the user did not approve. */
function isUsers(thrown: unknown): boolean {
  return thrown instanceof Suspension || thrown instanceof Refusal
}

/** Half a second at first, then longer each time; what the peer asks for comes first. */
function retryDelay(thrown: unknown, number: number, { random }: Run): number {
  const asked = thrown instanceof A2AError ? retryAfter(thrown) : undefined
  return asked === undefined ? backoffMs(number, { baseMs: 500, random }) : asked * 1_000
}

function retryAfter(error: A2AError): number | undefined {
  const cause = error.cause instanceof Error ? error.cause.cause : undefined
  const origin = cause instanceof A2AError ? cause : error
  return origin.details.retryAfterSeconds
}

async function callMember(call: MemberCall, agentId: string, number: number): Promise<MemberReply> {
  const { run, message } = call
  const facts = factsOf(call, agentId)
  const failedOf = (thrown: unknown): MemberFailed =>
    new MemberFailed({ team: facts.team, member: agentId, attempt: number }, thrown)
  run.link.throwIfAborted()
  spendHop(run, failedOf)
  const { call: key, team, member, step } = facts
  const text = clip(message.parts)
  traceRun(run, { type: 'delegation', try: number, text, call: key, team, member, step })
  const began = run.clock.elapsed()
  const durationSoFar = (): number => Math.round(run.clock.elapsed() - began)
  try {
    const reply = await inSpan(call, facts, number)
    const usage = usageOf(reply.metadata)
    const entry = replyEntry(facts, reply, {
      durationMs: durationSoFar(),
      usage: usage && run.budget.price(usage),
    })
    run.turn.trace(entry)
    if (tellsAll(run.turn.log)) tellReply(run, entry)
    if (isRefused(reply)) throw new Refusal()
    return reply
  } catch (thrown) {
    run.link.throwIfAborted()
    if (thrown instanceof Overspent) thrown.reached ??= failedOf(thrown)
    if (endsRun(thrown)) throw thrown
    // What a blocked answer or a refusal has cost is spent all the same.
    const isCounted = thrown instanceof ContentBlocked || thrown instanceof ModelRefusal
    if (isCounted && thrown.usage) call.account.told(thrown.usage)
    // A turn that runs again after a crash repeats this try: both are paid for, so both count.
    run.memory.spend(call.key, call.account.used, true)
    const reason = toA2AError(thrown).code
    const failed = failedOf(thrown)
    const entry = { type: 'failure', ...facts, reason, durationMs: durationSoFar() } as const
    traceRun(run, entry, failed)
    run.turn.log.warn({ ...facts, error: thrown }, 'A member of a team has failed')
    throw toTeamError(failed, run.exposeMembers)
  }
}

function spendHop({ budget }: Run, failedOf: (thrown: unknown) => MemberFailed): void {
  try {
    budget.spendHop()
  } catch (thrown) {
    if (thrown instanceof Overspent) thrown.reached ??= failedOf(thrown)
    throw thrown
  }
}

function inSpan(call: MemberCall, facts: CallFacts, number: number): Promise<MemberReply> {
  const { member: agentId } = facts
  const attributes = {
    'corral.team': facts.team,
    'corral.member': agentId,
    'corral.step': facts.step,
    'corral.task': call.run.turn.taskId,
  }
  const { traceparent } = call.run.turn
  return withSpan({ name: `delegate ${agentId}`, attributes, traceparent }, (inner) =>
    speak(call, { agentId, number, traceparent: inner }),
  )
}

/** What a span says of one call to a member. */
interface SpanFacts {
  readonly name: string
  readonly attributes: Readonly<Record<string, string | number>>
  /** The W3C trace context of the caller. */
  readonly traceparent: string | undefined
}

/**
 * Runs work in a span below the caller's, and gives it the trace context to pass on. Without an OpenTelemetry SDK in
 * the process no span is made and the caller's own context is passed on.
 */
async function withSpan<T>(
  facts: SpanFacts,
  work: (traceparent: string | undefined, span: Span) => Promise<T>,
): Promise<T> {
  const parent = toContext(facts.traceparent)
  const options = { attributes: { ...facts.attributes } }
  const span = trace.getTracer('corral').startSpan(facts.name, options, parent)
  const inside = trace.setSpan(parent, span)
  try {
    return await context.with(inside, () =>
      work(toTraceparent(span.spanContext()) ?? facts.traceparent, span),
    )
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR })
    if (error instanceof Error) span.recordException(error)
    throw error
  } finally {
    span.end()
  }
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

function toTraceparent({ traceId, spanId, traceFlags }: SpanContext): string | undefined {
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}

interface MemberTry {
  readonly agentId: string
  /** From 1. */
  readonly number: number
  readonly traceparent: string | undefined
}

/** Made once: every call of a member ends with it, and an error is not free. */
const delegationOver = new A2AError('taskCanceled', 'The delegation is over')

async function speak(
  call: MemberCall,
  { agentId, number, traceparent }: MemberTry,
): Promise<MemberReply> {
  const { run, delegation, live } = call
  const space = `${delegation.name}:${agentId}`
  // Its own, whatever it does to it: siblings and further tries get the same question.
  const messageId = toMessageId(run.turn, `${space}/${number}`)
  const message: Mutable<Message> = copyOf(call.message)
  message.messageId = messageId
  const found = findAgent(run, agentId)
  const agent = delegation.wrap ? delegation.wrap(found) : found
  const link = new LinkedSignal(run.link, deadlineOf(call, agentId))
  const turn = new ChildTurn(run.turn, {
    space,
    message,
    link,
    clock: run.clock,
    hops: run.hops,
    traceparent,
    exchange: delegation.alone ? [] : (run.exchanges.get(agentId) ?? []),
    asked: call.asked,
    facesCaller: delegation.facesCaller ?? false,
    answerSchema: delegation.answerSchema,
    account: call.account,
    values: call.values,
  })
  try {
    const running = new Set<Promise<unknown>>()
    const tools = delegation.tools?.map((tool) => stopping(tool, link, running)) ?? []
    const ask: AskAgent = (own, other = message) =>
      acceptsTools(agent) ? agent.process(other, own, tools) : agent.process(other, own)
    const answer = askGuarded(run, delegation, { ask, message, turn })
    const reply = await collectReply(answer, {
      turn,
      from: { agentId, space },
      until: link,
      onEvent: live && ((event) => live.onEvent(event)),
      onLeft: (cleanUp) => void run.left.push(cleanUp),
    })
    const usage = usageOf(reply.metadata)
    if (usage) call.account.told(usage)
    link.throwIfAborted()
    if (isFailed(reply) && !isRefused(reply)) throw replyError(reply)
    failOnCut(reply, delegation)
    return reply
  } finally {
    // A member that was left behind must not go on working for nothing.
    link.abort(delegationOver)
    link.release()
    const returning = turn.end(run.link)
    if (returning) await returning
  }
}

/** The end of one try: by its own time, or by that of the whole delegation. */
function deadlineOf({ run, delegation, endsAt }: MemberCall, agentId: string): Deadline {
  const { clock } = run
  const { timeoutSeconds = Infinity, maxTaskSeconds } = delegation
  const leftMs = endsAt === undefined ? Infinity : Math.max(0, endsAt - clock.elapsed())
  const ms = Math.min(timeoutSeconds * 1_000, leftMs)
  const seconds = ms === leftMs ? maxTaskSeconds : timeoutSeconds
  const reason = (): A2AError =>
    new A2AError('timeout', `Agent "${agentId}" took longer than ${seconds} s`)
  return { clock, ms: ms === Infinity ? undefined : ms, reason }
}

/** @throws A2AError where the answer is not whole and the call wants a whole one. */
function failOnCut({ metadata }: MemberReply, { agentId, failOn }: Delegation): void {
  if (!failOn || failOn.length === 0) return
  const reason = finishOf(metadata)
  if (!failOn.some((one) => one === reason)) return
  const why = reason === 'length' ? 'had no more tokens' : 'was cut by its content filter'
  throw new A2AError('processingError', `The answer of agent "${agentId}" is not whole: it ${why}`)
}

function findAgent(run: Run, agentId: string): Agent {
  const agent = run.manager.get(agentId)
  if (!agent) throw new A2AError('agentUnavailable', `Agent "${agentId}" is not registered`)
  return agent
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
        if (isUsers(thrown)) link.abort(thrown)
        throw thrown
      } finally {
        running.delete(work)
      }
    },
  })
}

/** A question to a member. */
interface MemberQuestion {
  readonly ask: AskAgent
  readonly message: Message
  readonly turn: Turn
}

/** What a member answers, under the guards of its step where the step has some. */
function askGuarded(
  run: Run,
  { name, agentId, guards }: Delegation,
  { ask, message, turn }: MemberQuestion,
): AgentReply {
  const ready = guards && run.guards.ready(guards)
  if (!ready || isUnguarded(ready)) return ask(turn, message)
  const around = {
    owner: { team: run.config.id, agent: agentId, step: name },
    tracer: run.turn,
    askMember: (question: VerdictQuestion) => run.guards.ask(run, name, question),
  }
  return guardedAnswer({ guards: ready, around, ask }, message, turn)
}

function isFailed({ state }: MemberReply): boolean {
  return (
    state === 'TASK_STATE_FAILED' ||
    state === 'TASK_STATE_REJECTED' ||
    state === 'TASK_STATE_CANCELED'
  )
}

/** Whether the user did not approve what the member wanted to do. */
function isRefused({ state, metadata }: MemberReply): boolean {
  return state === 'TASK_STATE_REJECTED' && isRefusal(metadata)
}

/** The error that a reply in a failed state stands for. */
function replyError(reply: MemberReply): A2AError {
  const text = reply.message ? textOf(reply.message.parts) : ''
  if (finishOf(reply.metadata) === 'refusal') return new ModelRefusal(text)
  return new A2AError('processingError', text || `The agent ended in ${reply.state}`)
}

function tellReply({ turn }: Run, entry: JsonObject): void {
  const { team, member, step, state, durationMs: ms, inputTokens, outputTokens, costUsd } = entry
  const tokens = inputTokens !== undefined && { inputTokens, outputTokens }
  const cost = costUsd !== undefined && { costUsd }
  const word = String(state).replace('TASK_STATE_', '').toLowerCase()
  const facts = { team, member, step, taskId: turn.taskId, state: word, ms, ...tokens, ...cost }
  turn.log.info(facts, 'Delegation ended')
}

/** What the caller may learn of a member's failure: the kind of failure, in words that name nothing inside. */
const outward: Partial<Record<ErrorCode, ErrorCode>> = {
  agentUnavailable: 'agentUnavailable',
  unavailable: 'agentUnavailable',
  rateLimited: 'agentUnavailable',
  timeout: 'timeout',
  contentTypeNotSupported: 'contentTypeNotSupported',
  contextLengthExceeded: 'contextLengthExceeded',
  insufficientQuota: 'insufficientQuota',
  toolRoundLimit: 'toolRoundLimit',
}

const words: Partial<Record<ErrorCode, string>> = {
  agentUnavailable: 'An agent of the team is not available',
  timeout: 'An agent of the team did not answer in time',
  contentTypeNotSupported: 'An agent of the team does not take this kind of content',
  contextLengthExceeded: 'The conversation is longer than a model of the team can read',
  insufficientQuota: 'The quota of a model of the team is used up',
  toolRoundLimit: 'A model of the team has called tools as often as it may and not answered',
}

/**
 * A member's failure as the team's own: outside a code and a short sentence, inside the whole story in `cause`, so
 * that nested teams give a chain that names every level. The caller may learn which member it was where it is exposed.
 */
function toTeamError(cause: MemberFailed, exposeMember: boolean): A2AError {
  const { cause: thrown, member: agent } = cause
  // A guard's reason and a model's are made for the caller.
  if (thrown instanceof ContentBlocked)
    return new ContentBlocked(thrown.message, { at: thrown.at, cause })
  if (thrown instanceof ModelRefusal) return new ModelRefusal(thrown.message, undefined, { cause })
  const code = (thrown instanceof A2AError ? outward[thrown.code] : undefined) ?? 'processingError'
  return new A2AError(code, words[code] ?? 'An agent of the team could not answer', {
    cause,
    ...(exposeMember && { metadata: { agent } }),
  })
}

/** One of several works at once; it delegates through the run it is given. */
export type Work<T> = (run: Run) => Promise<T>

/**
 * Several works at once, results in order. The first failure stops the others; a question waits until all have ended, and
 * feedback until there is no question.
 */
export async function delegateAll<T>(run: Run, works: readonly Work<T>[]): Promise<readonly T[]> {
  const link = new LinkedSignal(run.link)
  const group: Run = { ...run, link }
  let failure: { readonly reason: unknown } | undefined
  const results = await Promise.allSettled(
    works.map((work) =>
      work(group).catch((reason: unknown) => {
        if (!isPatient(reason)) failure ??= { reason }
        if (failure) link.abort(failure.reason)
        throw reason
      }),
    ),
  )
  link.release()
  if (failure) throw failure.reason
  const stopped = results.flatMap((result) => (result.status === 'rejected' ? result.reason : []))
  if (stopped.length > 0) throw firstOf(stopped)
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}

/** Whether what stops a work leaves the others alone. */
function isPatient(reason: unknown): boolean {
  return reason instanceof Suspension || reason instanceof Feedback
}

/** Which of several counts: the first question, else the first feedback, with what others have to say to the same step. */
function firstOf(stopped: readonly unknown[]): unknown {
  const question = stopped.find((reason) => reason instanceof Suspension)
  const [first, ...more] = stopped.filter((reason) => reason instanceof Feedback)
  if (question || !first) return question
  const { approval } = first
  const same = more.filter((other) => other.approval.target === approval.target)
  return new Feedback(approval, [first, ...same].map(({ text }) => text).join('\n\n'))
}
