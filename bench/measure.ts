import type { LoadOrder, LoadResult } from './load.ts'
import { type Child, start } from './processes.ts'
import type { WorkloadName } from './workloads.ts'

/** Who answers. */
export type Subject = 'corral' | 'floor' | 'peer'

/** How much load; whichever of requests and seconds is over first ends it. */
export interface Effort {
  readonly warmUp: number
  readonly requests: number
  readonly connections: number
  /** Of the warm-up and of the measurement, each. */
  readonly seconds: number
}

/** What one run of one subject showed. */
export interface Measurement {
  readonly cpuMicros: number
  readonly perSecond: number
  /** Microseconds. */
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly rssMegabytes: number
  /** What the subject had before the first request. */
  readonly idleMegabytes: number
  readonly requests: number
  readonly failed: number
}

/** What a server process has used so far. */
export interface Usage {
  readonly cpuMicros: number
  readonly rssBytes: number
}

/** Starts the process that makes the load; one serves a whole run of the benchmark. */
export async function startLoad(): Promise<Child> {
  const load = start('load.ts', [])
  await load.ready
  return load
}

/** Puts a load on a subject in a fresh process, and measures the subject's CPU time per request. */
export async function measure(
  load: Child,
  target: {
    readonly subject: Subject
    readonly workload: WorkloadName
    readonly flags?: readonly string[]
  },
  effort: Effort,
): Promise<Measurement> {
  const server = start('subject.ts', [target.subject, target.workload], target.flags)
  try {
    const { port } = (await server.ready) as { port: number } // what subject.ts says first
    const order = { port, workload: target.workload, ...effort }
    return await underLoad(load, server, order, effort.warmUp)
  } finally {
    await server.stop()
  }
}

async function underLoad(
  load: Child,
  server: Child,
  order: LoadOrder,
  warmUp: number,
): Promise<Measurement> {
  const idle = await server.ask<Usage>('usage')
  await load.ask({ ...order, requests: warmUp })
  const before = await server.ask<Usage>('usage')
  const { micros, seconds, failed } = await load.ask<LoadResult>(order)
  const after = await server.ask<Usage>('usage')
  const sorted = micros.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0
  return {
    cpuMicros: (after.cpuMicros - before.cpuMicros) / micros.length,
    perSecond: micros.length / seconds,
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    rssMegabytes: after.rssBytes / 1e6,
    idleMegabytes: idle.rssBytes / 1e6,
    requests: micros.length,
    failed,
  }
}
