import { isInterrupted } from '../protocol/task.ts'
import type { Usage } from '../protocol/usage.ts'
import { callWithRules, type MemberCall } from './call.ts'
import { Suspension } from './memory.ts'
import { replyFromJson, replyParts, replyToJson } from './reply.ts'
import type { Delegation, Run } from './run.ts'
import { Feedback } from './schedulers/approval.ts'
import type { MemberReply } from './schedulers/scheduler.ts'
import { linkSignal } from './signal.ts'

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

  const account = run.budget.open(key, run.memory.usedBy(key))
  const live = delegation.live && run.output.live(delegation.live, account)
  const call: MemberCall = {
    run,
    delegation,
    key,
    live,
    account,
    asked: last,
    message: answer ?? delegation.message,
  }
  let fresh: MemberReply | undefined
  const stepped = await run.turn.step(key, async () => {
    try {
      fresh = withUsed(await callWithRules(call), account.used)
    } finally {
      if (delegation.within) run.memory.spend(key, account.used)
    }
    return replyToJson(fresh)
  })
  const reply = fresh ?? replyFromJson(stepped)
  if (fresh) live?.finish(fresh)
  else account.replay(reply)
  run.memory.remember(key, reply)
  if (isInterrupted(reply.state)) throw new Suspension(key, reply)
  run.budget.close(key)
  return note(call, reply)
}

/** One of several works at once; it delegates through the run it is given. */
export type Work<T> = (run: Run) => Promise<T>

/**
 * Several works at once, results in order. The first failure stops the others; a question waits until all have ended, and
 * feedback until there is no question.
 */
export async function delegateAll<T>(run: Run, works: readonly Work<T>[]): Promise<readonly T[]> {
  const link = linkSignal(run.link)
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

/** What is told of several: the first question, else the first feedback, with what others have to say to the same step. */
function firstOf(stopped: readonly unknown[]): unknown {
  const question = stopped.find((reason) => reason instanceof Suspension)
  const [first, ...more] = stopped.filter((reason) => reason instanceof Feedback)
  if (question || !first) return question
  const { approval } = first
  const same = more.filter((other) => other.approval.target === approval.target)
  return new Feedback(approval, [first, ...same].map(({ text }) => text).join('\n\n'))
}

/** The reply with what the whole call has used, so that a repeated run counts the same. */
function withUsed(reply: MemberReply, used: Usage | undefined): MemberReply {
  return used ? { ...reply, used } : reply
}

/** Keeps the exchange, so that a member that is asked again knows what it said. */
function note(call: Noted, reply: MemberReply): MemberReply {
  const { run, delegation, message } = call
  const { agentId, alone } = delegation
  if (alone) return reply
  const said = run.turn.reply(replyParts(reply))
  const earlier = run.exchanges.get(agentId)
  run.exchanges.set(agentId, earlier ? [...earlier, message, said] : [message, said])
  return reply
}

type Noted = Pick<MemberCall, 'run' | 'delegation' | 'message'>
