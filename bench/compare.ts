import { type Bench, type Finding, median, repeat } from './case.ts'
import { type Effort, type Measurement, measure, type Subject } from './measure.ts'
import type { WorkloadName } from './workloads.ts'

/** One side of a comparison. */
export interface Side {
  readonly subject: Subject
  readonly workload: WorkloadName
}

/** Load that warms the JIT up and then lasts long enough to measure; a stream counts by its chunks. */
export function effortFor(workload: WorkloadName, { quick }: Pick<Bench, 'quick'>): Effort {
  const chunks = Number(/^stream-(\d+)/.exec(workload)?.[1] ?? 0)
  const weight = 1 + chunks / 10 + (workload.startsWith('list') ? 9 : 0)
  const requests = Math.max(1_000, Math.round((quick ? 8_000 : 12_000) / weight))
  return { warmUp: requests, requests, connections: 32, seconds: quick ? 3 : 8 }
}

/** CPU per request of Corral as a multiple of the floor's, and the peer's where it is asked for. */
export async function againstFloor(
  bench: Bench,
  workload: WorkloadName,
  withPeer = false,
): Promise<Finding> {
  const subjects: readonly Subject[] = withPeer ? ['floor', 'corral', 'peer'] : ['floor', 'corral']
  const sides = subjects.map((subject) => ({ subject, workload }))
  const rounds = await inTurn(bench, sides)
  const multiples = (of: number): number[] =>
    rounds.map((round) => (round[of]?.cpuMicros ?? 0) / (round[0]?.cpuMicros ?? 0))
  const details = Object.fromEntries(
    subjects.map((subject, i) => [subject, middle(rounds.map((round) => round[i]))]),
  )
  const failed = rounds.reduce((sum, round) => sum + (round[1]?.failed ?? 0), 0)
  const ratio = median(multiples(1))
  return { ratio, failed, details, ...(withPeer && { peerRatio: median(multiples(2)) }) }
}

/** CPU per request of one side as a multiple of another's. */
export async function againstEachOther(
  bench: Bench,
  base: WorkloadName,
  other: WorkloadName,
): Promise<Finding> {
  const sides = [base, other].map((workload) => ({ subject: 'corral', workload }) as const)
  const rounds = await inTurn(bench, sides)
  const failed = rounds.flat().reduce((sum, one) => sum + one.failed, 0)
  const ratio = median(
    rounds.map(([a, b]) => (b?.cpuMicros ?? Number.NaN) / (a?.cpuMicros ?? Number.NaN)),
  )
  const at = (i: number): Measurement => middle(rounds.map((round) => round[i]))
  return { ratio, failed, details: { [base]: at(0), [other]: at(1) } }
}

/** Measures the sides one after another, again and again: what disturbs the machine disturbs all of them alike. */
async function inTurn(
  bench: Bench,
  sides: readonly Side[],
): Promise<readonly (readonly Measurement[])[]> {
  return repeat(bench.repeats, async () => {
    const round: Measurement[] = []
    for (const side of sides) {
      const effort = effortFor(side.workload, bench)
      // The peer's cost grows with the square of a stream's length; time bounds it.
      const seconds = side.subject === 'peer' ? effort.seconds / 2 : effort.seconds
      round.push(await measure(bench.load, side, { ...effort, seconds }))
    }
    return round
  })
}

/** The run in the middle, by CPU time. */
function middle(runs: readonly (Measurement | undefined)[]): Measurement {
  const sorted = runs
    .filter((run) => run !== undefined)
    .toSorted((a, b) => a.cpuMicros - b.cpuMicros)
  const run = sorted[sorted.length >> 1]
  if (!run) throw new Error('Nothing was measured')
  return run
}
