import type { Agent } from '../agents/agent.ts'
import { isRefusal } from '../agents/approval.ts'
import { ContentBlocked } from '../agents/guards/blocked.ts'
import { acceptsTools, type Tool, wrapTool } from '../agents/tools.ts'
import type { AskAgent } from '../agents/wrap.ts'
import { A2AError, toA2AError } from '../protocol/errors.ts'
import type { JsonObject, Message } from '../protocol/types.ts'
import { usageOf } from '../protocol/usage.ts'
import { copyOf, type Mutable } from '../shared/json.ts'
import { tellsAll } from '../shared/log.ts'
import { backoffMs, retry } from '../shared/retry.ts'
import type { CallAccount } from './account.ts'
import { Overspent } from './budget.ts'
import { createChildTurn, toMessageId } from './child-turn.ts'
import { teamDefaults } from './defaults.ts'
import { replyError, toTeamError } from './failure.ts'
import { askGuarded } from './guard-member.ts'
import { Suspension } from './memory.ts'
import type { Live } from './output.ts'
import { collectReply } from './reply.ts'
import { type Delegation, type Run, traceRun } from './run.ts'
import { Refusal } from './schedulers/approval.ts'
import type { MemberReply } from './schedulers/scheduler.ts'
import { type LinkedSignal, linkSignal } from './signal.ts'
import { withSpan } from './spans.ts'
import { type CallFacts, clip, replyEntry } from './trace.ts'

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
}

/**
 * Calls the member, again where its rules say so, and its fallback at last.
 * @throws A2AError short outside, with the whole story as `cause`; Suspension when a tool of the member asks the user.
 */
export async function callWithRules(call: MemberCall): Promise<MemberReply> {
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
    traceRun(run, { type: 'fallback', ...factsOf(call, agentId), to: fallbackAgentId })
    startOver(call)
    return await callMember(call, fallbackAgentId, 1)
  }
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
        // The same question would be blocked again.
        if (isFinal(run, thrown) || (thrown instanceof ContentBlocked && thrown.at === 'input'))
          return undefined
        const delayMs = retryDelay(thrown, failures, run)
        traceRun(run, { type: 'retry', ...factsOf(call, agentId), try: failures + 1, delayMs })
        return delayMs
      },
    },
  )
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

function factsOf({ run, delegation, key }: MemberCall, member: string): CallFacts {
  return { call: key, team: run.config.id, member, step: delegation.name }
}

async function callMember(call: MemberCall, agentId: string, number: number): Promise<MemberReply> {
  const { run, message } = call
  const facts = factsOf(call, agentId)
  run.link.throwIfAborted()
  run.budget.spendHop()
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
    if (endsRun(thrown)) throw thrown
    // What a blocked answer has cost is spent all the same.
    if (thrown instanceof ContentBlocked && thrown.usage) call.account.told(thrown.usage)
    const reason = toA2AError(thrown).code
    traceRun(run, { type: 'failure', ...facts, reason, durationMs: durationSoFar() })
    run.turn.log.warn({ ...facts, error: thrown }, 'A member of a team has failed')
    throw toTeamError(thrown, {
      team: run.config.id,
      member: agentId,
      exposeMember: run.exposeMembers,
    })
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

/** Made once: every call of a member ends with it, and an error is not free. */
const delegationOver = new A2AError('taskCanceled', 'The delegation is over')

interface Try {
  readonly agentId: string
  /** From 1. */
  readonly number: number
  readonly traceparent: string | undefined
}

async function speak(
  call: MemberCall,
  { agentId, number, traceparent }: Try,
): Promise<MemberReply> {
  const { run, delegation, live } = call
  const space = `${delegation.name}:${agentId}`
  // Its own, whatever it does to it: siblings and further tries get the same question.
  const messageId = toMessageId(run.turn, `${space}/${number}`)
  const message: Mutable<Message> = copyOf(call.message)
  message.messageId = messageId
  const found = findAgent(run, agentId)
  const agent = delegation.wrap ? delegation.wrap(found) : found
  const { timeoutSeconds } = delegation
  const link = linkSignal(run.link, {
    clock: run.clock,
    ms: timeoutSeconds === undefined ? undefined : timeoutSeconds * 1_000,
    reason: () =>
      new A2AError('timeout', `Agent "${agentId}" took longer than ${timeoutSeconds} s`),
  })
  const turn = createChildTurn(run.turn, {
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
  })
  try {
    const tools = delegation.tools?.map((tool) => stopping(tool, link)) ?? []
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
    return reply
  } finally {
    // A member that was left behind must not go on working for nobody.
    link.abort(delegationOver)
    link.release()
    const returning = turn.end(run.link)
    if (returning) await returning
  }
}

/** What a tool has to ask the user, or the user's no to it, stops the member that uses the tool: its model is not told. */
function stopping(tool: Tool, link: LinkedSignal): Tool {
  return wrapTool(tool, {
    async execute(args, context) {
      try {
        return await tool.execute(args, context)
      } catch (thrown) {
        if (isUsers(thrown)) link.abort(thrown)
        throw thrown
      }
    },
  })
}

function findAgent(run: Run, agentId: string): Agent {
  const agent = run.manager.get(agentId)
  if (!agent) throw new A2AError('agentUnavailable', `Agent "${agentId}" is not registered`)
  return agent
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
