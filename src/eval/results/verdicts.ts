import { builtInScorers } from '../scorers/built-in.ts'
import type { RewardChecks, RewardInfo } from '../scorers/scorer.ts'
import { isSuccess } from './simulation.ts'

/** A verdict on a recorded conversation that is another one now: the reward, or one of the checks that it is made of. */
export interface VerdictChange {
  /** `reward`, or the part and what it looked at. */
  readonly what: string
  readonly recorded: number | boolean | null
  readonly now: number | boolean | null
}

/** What was said of a conversation before. */
interface Recorded {
  readonly reward: number | null
  readonly checks: RewardChecks
}

/** Every verdict of a record that scoring again does not repeat. What the record does not mention is no change. */
export function changedVerdicts(recorded: Recorded, info: RewardInfo): readonly VerdictChange[] {
  const checks = Object.values(builtInScorers).flatMap((scorer) => {
    const now = counted(scorer.reasons(info) ?? [])
    return [...counted(scorer.reasons(recorded.checks) ?? [])].flatMap(([what, met]) => {
      const verdict = now.get(what) ?? null
      return verdict === met
        ? []
        : [{ what: `${scorer.name}: ${what}`, recorded: met, now: verdict }]
    })
  })
  const reward = { what: 'reward', recorded: recorded.reward, now: info.reward }
  return [...(sameReward(recorded.reward, info.reward) ? [] : [reward]), ...checks]
}

function sameReward(a: number | null, b: number | null): boolean {
  return a === b || (a !== null && b !== null && isSuccess(1 + a - b))
}

/** Verdicts by what they are of; the second of the same thing is told apart from the first. */
function counted(
  checks: readonly { readonly what: string; readonly met: boolean }[],
): ReadonlyMap<string, boolean> {
  const verdicts = new Map<string, boolean>()
  for (const { what, met } of checks) {
    let name = what
    for (let n = 2; verdicts.has(name); n++) name = `${what} (${n})`
    verdicts.set(name, met)
  }
  return verdicts
}
