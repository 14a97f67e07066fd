import type { JsonObject } from '../protocol/types.ts'

/** One call of a member, as the trace of a run tells it. */
export interface TracedDelegation {
  /** Whose member it is. */
  readonly team: string
  readonly member: string
  /** The step, round or hop in which it was asked. */
  readonly step: string
  /** What it was asked. */
  readonly text: string
  /** Which try it was, from 1. */
  readonly try: number
  /** What it said; absent where it failed, or was left behind. */
  readonly answer?: string
  /** The code of the error by which it failed. */
  readonly reason?: string
  /** The way through nested teams by which it was reached. */
  readonly path?: string
}

/** The calls that a trace tells of, in the order in which they began. */
export function toDelegations(trace: readonly JsonObject[]): readonly TracedDelegation[] {
  return trace.flatMap((entry, index) =>
    entry.type === 'delegation' ? [toDelegation(entry, trace.slice(index + 1))] : [],
  )
}

function toDelegation(entry: JsonObject, later: readonly JsonObject[]): TracedDelegation {
  const isOfSameCall = (other: JsonObject): boolean =>
    ['team', 'call', 'member', 'path'].every((key) => other[key] === entry[key])
  const end = later.find(
    (other) => (other.type === 'reply' || other.type === 'failure') && isOfSameCall(other),
  )
  return {
    team: String(entry.team),
    member: String(entry.member),
    step: String(entry.step),
    text: String(entry.text),
    try: Number(entry.try),
    ...(end?.type === 'reply' && { answer: String(end.text) }),
    ...(end?.type === 'failure' && { reason: String(end.reason) }),
    ...(typeof entry.path === 'string' && { path: entry.path }),
  }
}
