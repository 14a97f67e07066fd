import { ContentBlocked } from '../agents/guards/check.ts'
import { ModelRefusal } from '../agents/reply.ts'
import { A2AError, type ErrorCode, toA2AError } from '../protocol/errors.ts'
import { usageOf } from '../protocol/extensions.ts'
import { MemberFailed } from '../protocol/failure.ts'
import { isInterrupted } from '../protocol/task.ts'
import type { JsonObject } from '../protocol/types.ts'
import { backoffMs, LinkedSignal, wait } from '../shared/async.ts'
import { tellsAll } from '../shared/log.ts'
import { Overspent } from './budget.ts'
import { isRefused, type MemberAttempt, type MemberCall, MemberTurn } from './member-turn.ts'
import {
  type CallFacts,
  clip,
  replyEntry,
  replyFromJson,
  replyParts,
  replyToJson,
} from './reply.ts'
import {
  type Delegation,
  Feedback,
  Refusal,
  type Run,
  Suspension,
  stopsForUser,
  traceRun,
} from './run.ts'
import type { CallRules, MemberReply } from './schedulers/scheduler.ts'
import { callRows } from './workflow/keys.ts'

/**
 * The one way in which a team calls a member. A durable step of the turn: its result is in the log before anyone acts
 * on it, and it is not repeated after a crash. A member's question stops the run (Suspension) and the user's answer
 * comes back here; cancel, the member's deadline and the run's reach the member as its signal.
 *
 * @throws A2AError short outside, with the whole story as `cause`, when the member and its fallback have failed.
 */
export async function delegate(run: Run, delegation: Delegation): Promise<MemberReply> {
  const key = `${delegation.name}:${delegation.agentId}`
  const asked = run.memory.recall(key).at(-1)
  if (asked && !isInterrupted(asked.state))
    return note({ run, delegation, message: delegation.message }, asked)
  const answer = asked && run.memory.takeAnswer(key)
  if (asked && !answer) throw new Suspension(key, asked)

  const account = run.budget.open(key, run.memory.usedBy(key), run.memory.failedBy(key))
  const live = delegation.live && run.output.live(delegation.live, account)
  const message = answer ?? delegation.message
  const maxTaskSeconds = delegation.rules?.maxTaskSeconds
  const endsAt = maxTaskSeconds && (await endOf(run, key, maxTaskSeconds))
  let fresh: MemberReply | undefined
  const stepped = await run.turn.step(key, async (values) => {
    const call = { run, delegation, key, message, live, asked, account, values, endsAt }
    try {
      const reply = await tryMembers(call)
      // What the whole call has used, so that a repeated run counts the same.
      fresh = account.used ? { ...reply, used: account.used } : reply
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

/** Tries the member as often as its rules say, then its fallback; who asked what the message answers comes first. */
async function tryMembers(call: MemberCall): Promise<MemberReply> {
  const { run, delegation, asked } = call
  const { agentId = delegation.agentId } = asked?.from ?? {}
  let attempt: MemberAttempt = { agentId, number: 1, isFallback: false }
  while (true) {
    try {
      return await callMember(call, attempt)
    } catch (thrown) {
      if (run.link.aborted || endsRun(thrown)) throw thrown
      const next = await nextAttempt(call, attempt, thrown)
      if (!next && !delegation.tolerant) throw thrown
      if (!next) {
        const { message } = toA2AError(thrown)
        return { state: 'TASK_STATE_FAILED', message: run.turn.reply(message) }
      }
      call.live?.restart()
      call.account.again()
      attempt = next
    }
  }
}

/**
 * The try after a failed one, once it is time for it: the member again while it has retries and one may help, then its
 * fallback, once. Undefined where there is none, or no time for it.
 */
async function nextAttempt(
  call: MemberCall,
  { agentId, number, isFallback }: MemberAttempt,
  thrown: unknown,
): Promise<MemberAttempt | undefined> {
  const { run, delegation } = call
  const { maxRetries = callRows.maxRetries.default, fallbackAgentId } = delegation.rules ?? noRules
  if (isFallback) return undefined
  if (number <= maxRetries && !wouldFailAgain(thrown)) {
    const delayMs = retryDelay(thrown, number, run)
    if (!isLate(call, delayMs)) {
      traceRun(run, { type: 'retry', ...factsOf(call, agentId), try: number + 1, delayMs })
      await wait(run.clock, delayMs, run.link.signal)
      return { agentId, number: number + 1, isFallback }
    }
  }
  if (!fallbackAgentId || fallbackAgentId === agentId || isLate(call, 0)) return undefined
  traceRun(run, { type: 'fallback', ...factsOf(call, agentId), to: fallbackAgentId })
  return { agentId: fallbackAgentId, number: 1, isFallback: true }
}

const noRules: CallRules = {}

/** Errors that the same question to the same member meets again. */
const lasting: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'insufficientQuota',
  'contextLengthExceeded',
])

function wouldFailAgain(thrown: unknown): boolean {
  if (thrown instanceof ContentBlocked) return thrown.at === 'input'
  return thrown instanceof ModelRefusal || (thrown instanceof A2AError && lasting.has(thrown.code))
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

/** Whether the delegation has no time left after so many milliseconds. */
function isLate({ run, endsAt }: MemberCall, ms: number): boolean {
  return endsAt !== undefined && run.clock.elapsed() + ms >= endsAt
}

function factsOf({ run, delegation, key }: MemberCall, member: string): CallFacts {
  return { call: key, team: run.config.id, member, step: delegation.name }
}

/** Whether a run ends whatever its rules for failures say: the user is asked or did not approve, or nothing may be used. */
function endsRun(thrown: unknown): boolean {
  return stopsForUser(thrown) || thrown instanceof Overspent
}

/** One try, with its entries in the trace. */
async function callMember(call: MemberCall, attempt: MemberAttempt): Promise<MemberReply> {
  const { run } = call
  const facts = factsOf(call, attempt.agentId)
  run.link.throwIfAborted()
  spendHop(run, facts, attempt)
  const { call: key, team, member, step } = facts
  const text = clip(call.message.parts)
  traceRun(run, { type: 'delegation', try: attempt.number, text, call: key, team, member, step })
  const began = run.clock.elapsed()
  try {
    const reply = await answerOf(call, attempt)
    const usage = usageOf(reply.metadata)
    const durationMs = Math.round(run.clock.elapsed() - began)
    const entry = replyEntry(facts, reply, { durationMs, usage: usage && run.budget.price(usage) })
    run.turn.trace(entry)
    if (tellsAll(run.turn.log)) tellReply(run, entry)
    if (isRefused(reply)) throw new Refusal()
    return reply
  } catch (thrown) {
    run.link.throwIfAborted()
    if (thrown instanceof Overspent) thrown.reached ??= memberFailed(facts, attempt, thrown)
    if (endsRun(thrown)) throw thrown
    // What a blocked answer or a refusal has cost is spent all the same.
    const isCounted = thrown instanceof ContentBlocked || thrown instanceof ModelRefusal
    if (isCounted && thrown.usage) call.account.told(thrown.usage)
    // A turn that runs again after a crash repeats this try: both are paid for, so both count.
    run.memory.spend(key, call.account.used, true)
    const reason = toA2AError(thrown).code
    const durationMs = Math.round(run.clock.elapsed() - began)
    const failed = memberFailed(facts, attempt, thrown)
    traceRun(run, { type: 'failure', ...facts, reason, durationMs }, failed)
    run.turn.log.warn({ ...facts, error: thrown }, 'A member of a team has failed')
    throw toTeamError(failed, run.exposeMembers)
  }
}

function spendHop({ budget }: Run, facts: CallFacts, attempt: MemberAttempt): void {
  try {
    budget.spendHop()
  } catch (thrown) {
    if (thrown instanceof Overspent) thrown.reached ??= memberFailed(facts, attempt, thrown)
    throw thrown
  }
}

function memberFailed({ team }: CallFacts, attempt: MemberAttempt, thrown: unknown): MemberFailed {
  return new MemberFailed({ team, member: attempt.agentId, attempt: attempt.number }, thrown)
}

async function answerOf(call: MemberCall, attempt: MemberAttempt): Promise<MemberReply> {
  const turn = new MemberTurn(call, attempt)
  try {
    return await turn.collect()
  } finally {
    const returning = turn.close()
    if (returning) await returning
  }
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
