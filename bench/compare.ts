import { type Bench, type Finding, median, repeat } from './case.ts'
import {
  type Effort,
  type Measurement,
  measureInTurn,
  type Subject,
  type Target,
} from './measure.ts'
import type { WorkloadName } from './workloads.ts'

/** Load that warms the JIT up and then lasts long enough to measure; a stream counts by its chunks. */
export function effortFor(workload: WorkloadName, { quick }: Pick<Bench, 'quick'>): Effort {
  if (workload === 'desk') {
    const requests = quick ? 1_000 : 3_000
    return { warmUp: 1_000, requests, slices: 5, connections: 200, seconds: quick ? 15 : 60 }
  }
  const chunks = Number(/^stream-(\d+)/.exec(workload)?.[1] ?? 0)
  const weight = 1 + chunks / 10 + (workload.startsWith('list') ? 9 : 0)
  const many = quick ? 6_000 : 15_000
  const requests = Math.max(1_000, Math.round(many / weight))
  // Whoever is slow has to end what it has begun: of long streams that is less with fewer at once.
  const connections = chunks >= 100 ? 8 : 32
  return { warmUp: many, requests, slices: 10, connections, seconds: quick ? 1.5 : 6 }
}

/** CPU per request of Corral as a multiple of the floor's, and the peer's where it is asked for. */
export async function againstFloor(
  bench: Bench,
  workload: WorkloadName,
  withPeer = false,
): Promise<Finding> {
  const subjects: readonly Subject[] = withPeer ? ['floor', 'corral', 'peer'] : ['floor', 'corral']
  const sides = subjects.map((subject) => ({ subject, workload }))
  const rounds = await inTurn(bench, sides, effortFor(workload, bench))
  const multiples = (of: number): number[] =>
    rounds.map((round) => (round[of]?.cpuMicros ?? 0) / (round[0]?.cpuMicros ?? 0))
  const details = Object.fromEntries(
    subjects.map((subject, i) => [subject, middle(rounds.map((round) => round[i]))]),
  )
  const failed = rounds.reduce((sum, round) => sum + (round[1]?.failed ?? 0), 0)
  const ratio = median(multiples(1))
  return { ratio, failed, details, ...(withPeer && { peerRatio: median(multiples(2)) }) }
}

/** CPU milliseconds of a chat with the support desk, and beside them those of a bare program that calls the same models. */
export async function deskCost(bench: Bench): Promise<Finding> {
  const sides = (['floor', 'corral'] as const).map(
    (subject) => ({ subject, workload: 'desk' }) as const,
  )
  const rounds = await inTurn(bench, sides, effortFor('desk', bench))
  const at = (i: number): Measurement => middle(rounds.map((round) => round[i]))
  const [floor, corral] = [at(0), at(1)]
  const said = (one: Measurement): string => `${Math.round(one.perSecond)} chats/s`
  return {
    ratio: median(rounds.map((round) => (round[1]?.cpuMicros ?? 0) / 1_000)),
    failed: rounds.flat().reduce((sum, one) => sum + one.failed, 0),
    note: `${said(corral)}; floor ${(floor.cpuMicros / 1_000).toPrecision(3)} ms, ${said(floor)}`,
    details: { floor, corral },
  }
}

/** CPU per request of one side as a multiple of another's. */
export async function againstEachOther(
  bench: Bench,
  base: WorkloadName,
  other: WorkloadName,
): Promise<Finding> {
  const sides = [base, other].map((workload) => ({ subject: 'corral', workload }) as const)
  const rounds = await inTurn(bench, sides, effortFor(base, bench))
  const failed = rounds.flat().reduce((sum, one) => sum + one.failed, 0)
  const ratio = median(
    rounds.map(([a, b]) => (b?.cpuMicros ?? Number.NaN) / (a?.cpuMicros ?? Number.NaN)),
  )
  const at = (i: number): Measurement => middle(rounds.map((round) => round[i]))
  return { ratio, failed, details: { [base]: at(0), [other]: at(1) } }
}

/** Measures the sides against each other, in fresh processes each time. */
function inTurn(
  bench: Bench,
  sides: readonly Target[],
  effort: Effort,
): Promise<readonly (readonly Measurement[])[]> {
  return repeat(bench.repeats, () => measureInTurn(bench.load, sides, effort))
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
