import type { JsonObject, Part, TaskState } from '../protocol/types.ts'
import { toAmounts, type Usage } from '../protocol/usage.ts'
import { replyParts } from './reply.ts'
import { toStepResult } from './schedulers/result.ts'
import type { MemberReply } from './schedulers/scheduler.ts'

/**
 * What a team writes into its task's trace, one entry for each thing that happens. Entries about one call share its
 * `call` id; those of nested teams have `at`, the way by which they were reached. Guards write entries of the type
 * `guard`, with the `side` that they stand on, with which their `at` also ends.
 */
export type TraceEntry =
  /** A member is being called; `try` counts from 1. */
  | (CallFacts & { readonly type: 'delegation'; readonly try: number; readonly text: string })
  /** It has answered. */
  | (CallFacts & {
      readonly type: 'reply'
      readonly state: TaskState
      readonly durationMs: number
      readonly inputTokens?: number
      readonly outputTokens?: number
      readonly costUsd?: number
      readonly text: string
    })
  /** It has failed; `reason` is an error code. */
  | (CallFacts & {
      readonly type: 'failure'
      readonly reason: string
      readonly durationMs: number
    })
  /** It will be tried again. */
  | (CallFacts & { readonly type: 'retry'; readonly try: number; readonly delayMs: number })
  /** Another member answers in its place. */
  | (CallFacts & { readonly type: 'fallback'; readonly to: string })
  /** A supervisor or router has decided who goes on. */
  | {
      readonly type: 'decision'
      readonly team: string
      readonly member: string
      readonly recipients: readonly string[]
      readonly reason?: string
    }
  /** The user has answered an approval: `approved`, `rejected`, `feedback` for an earlier step, or `unclear` and asked again. */
  | {
      readonly type: 'approval'
      readonly team: string
      readonly step: string
      readonly verdict: 'approved' | 'rejected' | 'feedback' | 'unclear'
      readonly text: string
    }
  /** A workflow step was left out because its condition does not hold, or no case of a branch applies. */
  | { readonly type: 'skip'; readonly team: string; readonly step: string }
  /** A branch goes on by one of its cases, counted from 1. */
  | {
      readonly type: 'branch'
      readonly team: string
      readonly step: string
      readonly case: number
    }
  /** A map goes through so many items. */
  | {
      readonly type: 'map'
      readonly team: string
      readonly step: string
      readonly items: number
    }

/** Which call of a member an entry of the trace is about. */
export type CallFacts = {
  readonly call: string
  readonly team: string
  readonly member: string
  readonly step: string
}

const longest = 2_000

/** The text of parts, or the data where they are data alone, short enough for a trace. */
export function clip(parts: readonly Part[], length: number = longest): string {
  const { text } = toStepResult(parts)
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}

/** The entry for a reply, which used so much. */
export function replyEntry(
  { call, team, member, step }: CallFacts,
  reply: MemberReply,
  { durationMs, usage }: { readonly durationMs: number; readonly usage: Usage | undefined },
): JsonObject {
  const { state } = reply
  const text = clip(replyParts(reply))
  const entry: TraceEntry = { type: 'reply', state, text, call, team, member, step, durationMs }
  return toEntry(usage ? { ...entry, ...toAmounts(usage) } : entry)
}

/** An entry as the log takes it. */
export function toEntry(entry: TraceEntry): JsonObject {
  return entry
}
