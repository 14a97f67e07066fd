import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type Bench, type Finding, median, repeat } from './case.ts'
import { type Effort, type Measurement, measure, type Subject, type Usage } from './measure.ts'
import { type Child, here, start } from './processes.ts'
import type { WorkloadName } from './workloads.ts'

/** CPU time that a workflow adds for each of three local members, over one agent that calls the same functions. */
export async function hopCost(bench: Bench): Promise<Finding> {
  return toHopFinding(await repeat(bench.repeats, () => cpuOfHops(bench, 'team', [here])))
}

/** The same where each step has a rule and its answer is data that fits a schema. */
export async function dataHopCost(bench: Bench): Promise<Finding> {
  return toHopFinding(await repeat(bench.repeats, () => cpuOfHops(bench, 'data', [here])))
}

/** What a hop costs in each of several trees. */
export async function compareHops(
  bench: Bench,
  workflow: 'team' | 'data',
  trees: readonly string[],
): Promise<readonly number[]> {
  return (await cpuOfHops(bench, workflow, trees)).map(toHop)
}

/** CPU time per message of an agent that calls three functions itself, and of a workflow with three members. */
interface HopCpu {
  readonly direct: number
  readonly team: number
}

async function cpuOfHops(
  { quick }: Bench,
  workflow: 'team' | 'data',
  trees: readonly string[],
): Promise<readonly HopCpu[]> {
  const children = trees.flatMap((root) =>
    ['direct', workflow].map((side) => start('probes/hop.ts', [side], { root })),
  )
  const cpu = await cpuOf(children, quick ? 6_000 : 20_000)
  return trees.map((_, i) => ({ direct: cpu[2 * i] ?? 0, team: cpu[2 * i + 1] ?? 0 }))
}

function toHop({ direct, team }: HopCpu): number {
  return (team - direct) / 3
}

function toHopFinding(rounds: readonly (readonly HopCpu[])[]): Finding {
  const all = rounds.flat()
  const directCpuMicros = median(all.map(({ direct }) => direct))
  const teamCpuMicros = median(all.map(({ team }) => team))
  return { ratio: median(all.map(toHop)), details: { directCpuMicros, teamCpuMicros } }
}

/** CPU time of the caller's side of SendMessage, as a multiple of bare undici's. */
export async function clientCost(bench: Bench): Promise<Finding> {
  const rounds = (await repeat(bench.repeats, () => cpuOfCallers(bench, [here]))).flat()
  const undici = median(rounds.map((round) => round.undici))
  const ratio = median(rounds.map(toCallerRatio))
  return { ratio, details: { undiciCpuMicros: undici, corralCpuMicros: ratio * undici } }
}

/** What a call costs its caller with the client of each of several trees; all call the server of this one. */
export async function compareClients(
  bench: Bench,
  trees: readonly string[],
): Promise<readonly number[]> {
  return (await cpuOfCallers(bench, trees)).map(toCallerRatio)
}

/** CPU time per call of bare undici and of the client. */
interface CallerCpu {
  readonly undici: number
  readonly corral: number
}

async function cpuOfCallers(
  { quick }: Bench,
  trees: readonly string[],
): Promise<readonly CallerCpu[]> {
  const server = start('subject.ts', ['corral', 'task'])
  try {
    const { port } = (await server.ready) as { port: number } // what subject.ts says first
    const children = trees.flatMap((root) =>
      ['undici', 'corral'].map((caller) =>
        start('probes/caller.ts', [caller, String(port)], { root }),
      ),
    )
    const cpu = await cpuOf(children, quick ? 6_000 : 20_000)
    return trees.map((_, i) => ({ undici: cpu[2 * i] ?? 0, corral: cpu[2 * i + 1] ?? 0 }))
  } finally {
    await server.stop()
  }
}

function toCallerRatio({ undici, corral }: CallerCpu): number {
  return corral / undici
}

/** CPU milliseconds of the slowest built-in guard on 100,000 characters. */
export async function guardCost(bench: Bench): Promise<Finding> {
  const rounds = await repeat(bench.repeats, () => cpuOfGuards(bench))
  const names = Object.keys(rounds[0] ?? {})
  const millis = names.map((name) => median(rounds.map((round) => round[name] ?? 0)) / 1_000)
  const said = names.map((name, i) => `${name} ${millis[i]?.toFixed(2)}`)
  return {
    ratio: Math.max(...millis),
    note: said.join(', '),
    details: Object.fromEntries(names.map((name, i) => [name, millis[i] ?? 0])),
  }
}

async function cpuOfGuards({ quick }: Bench): Promise<Readonly<Record<string, number>>> {
  const child = start('probes/guards.ts', [])
  try {
    await child.ready
    const times = quick ? 50 : 200
    await child.ask(times)
    const { micros } = await child.ask<{ micros: Readonly<Record<string, number>> }>(times)
    return micros
  } finally {
    await child.stop()
  }
}

const slices = 10

/** CPU time per piece of work of several children, after as much work to warm up. They take turns, a slice each. */
async function cpuOf(children: readonly Child[], times: number): Promise<readonly number[]> {
  try {
    for (const child of children) await child.ready
    for (const child of children) await child.ask(times)
    const sums = children.map(() => 0)
    for (let slice = 0; slice < slices; slice++)
      for (const [i, child] of children.entries()) {
        const { cpuMicros } = await child.ask<{ cpuMicros: number }>(times / slices)
        sums[i] = (sums[i] ?? 0) + cpuMicros
      }
    return sums.map((sum) => sum / slices)
  } finally {
    await Promise.all(children.map((child) => child.stop()))
  }
}

/** Megabytes above idle after 50,000 small tasks in the memory store. */
export async function memoryAfterTasks({ load, quick }: Bench): Promise<Finding> {
  const effort = { warmUp: 0, requests: 50_000, slices: 1, connections: 32, seconds: 120 }
  const grown = (run: Measurement): number => run.rssMegabytes - run.idleMegabytes
  const corral = await measure(load, { subject: 'corral', workload: 'task' }, effort)
  const finding = { ratio: grown(corral), failed: corral.failed, details: { corral } }
  if (quick) return finding
  const peer = await measure(load, { subject: 'peer', workload: 'task' }, effort)
  return { ...finding, peerRatio: grown(peer), details: { corral, peer } }
}

/** Memory per open subscription as a multiple of bare node:http's; each must get the one event once. */
export async function subscriberCost(): Promise<Finding> {
  const subscribers = 5_000
  const floor = await holdOpen('floor', subscribers)
  const corral = await holdOpen('corral', subscribers)
  return {
    ratio: corral.bytes / floor.bytes,
    failed: subscribers - corral.once,
    details: { subscribers, floorBytes: floor.bytes, corralBytes: corral.bytes },
  }
}

async function holdOpen(
  subject: Subject,
  subscribers: number,
): Promise<{ readonly bytes: number; readonly once: number }> {
  const server = start('subject.ts', [subject, 'subscribe'], { flags: ['--expose-gc'] })
  const watchers = start('probes/subscribers.ts', [])
  try {
    const serving = (await server.ready) as { port: number; taskId?: string } // what subject.ts says first
    await watchers.ready
    const idle = await server.ask<Usage>('live')
    await watchers.ask({ taskId: 'task', ...serving, subscribers })
    const open = await server.ask<Usage>('live')
    await server.ask('fire')
    const { once } = await watchers.ask<{ once: number }>('count')
    return { bytes: (open.rssBytes - idle.rssBytes) / subscribers, once }
  } finally {
    await watchers.stop()
    await server.stop()
  }
}

/** Rounds in which a small and a large store take turns. */
const growthRounds = 7

/** The list that grows most from 10,000 tasks to a million, as a multiple: pages of a context, by time, by state. */
export async function growth({ quick }: Bench, store: string): Promise<Finding> {
  const sizes = [10_000, quick ? 100_000 : 1_000_000]
  const children = sizes.map((size) => start('probes/growth.ts', [store, String(size)]))
  try {
    const said = await Promise.all(children.map(({ ready }) => ready as Promise<Migrated>)) // what growth.ts says first
    const rounds: Record<string, number>[][] = []
    // The first round warms up.
    for (let round = 0; round <= growthRounds; round++) {
      const both: Record<string, number>[] = []
      for (const child of children) both.push(await child.ask(20))
      if (round > 0) rounds.push(both)
    }
    const names = Object.keys(rounds[0]?.[0] ?? {})
    const at = (name: string, side: number): number =>
      median(rounds.map((round) => round[side]?.[name] ?? Number.NaN))
    const found = names.map((name) => ({ name, small: at(name, 0), large: at(name, 1) }))
    const multiples = found.map(({ name, small, large }) => `${name} ${(large / small).toFixed(2)}`)
    const details = found.flatMap(({ name, small, large }) => [
      [`${name}, small, ms`, small],
      [`${name}, large, ms`, large],
    ])
    return {
      ratio: Math.max(...found.map(({ small, large }) => large / small)),
      note: multiples.join(', '),
      details: { ...Object.fromEntries(details), migrationMs: said[1]?.migrationMs ?? 0 },
    }
  } finally {
    await Promise.all(children.map((child) => child.stop()))
  }
}

interface Migrated {
  readonly migrationMs: number
}

/** How many milliseconds later than one alone 95 of 100 concurrent requests are answered. */
export function crowd({ load, quick }: Bench): Promise<Finding> {
  const requests = quick ? 4_000 : 20_000
  return waitBehindOthers(load, 'task', { warmUp: 2_000, requests, slices: 1, seconds: 10 })
}

/** The same with an agent that takes its time, so that all hundred are under way at once. */
export function slowCrowd({ load, quick }: Bench): Promise<Finding> {
  const seconds = quick ? 4 : 10
  return waitBehindOthers(load, 'slow', { warmUp: 100, requests: 5_000, slices: 1, seconds })
}

async function waitBehindOthers(
  load: Child,
  workload: WorkloadName,
  effort: Omit<Effort, 'connections'>,
): Promise<Finding> {
  const side = { subject: 'corral', workload } as const
  const alone = await measure(load, side, { ...effort, connections: 1 })
  const together = await measure(load, side, { ...effort, connections: 100 })
  return {
    ratio: (together.p95 - alone.p95) / 1_000,
    failed: alone.failed + together.failed,
    note: `p95 ${Math.round(together.p95 / 1_000)} ms, alone ${Math.round(alone.p95 / 1_000)} ms`,
    details: { alone, together },
  }
}

/** How long the command takes to say its version, as a multiple of Node doing nothing. */
export async function commandStart({ quick }: Bench): Promise<Finding> {
  const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
  const rounds = await repeat(quick ? 9 : 25, async () => ({
    node: millisOf(['-e', '0']),
    corral: millisOf([main, '--version']),
  }))
  const node = median(rounds.map((round) => round.node))
  const corral = median(rounds.map((round) => round.corral))
  return { ratio: corral / node, details: { nodeMillis: node, corralMillis: corral } }
}

function millisOf(args: readonly string[]): number {
  const before = performance.now()
  const { status } = spawnSync(process.execPath, args, { stdio: 'ignore' })
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}`)
  return performance.now() - before
}
