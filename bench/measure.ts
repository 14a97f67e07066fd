import type { LoadOrder, LoadResult } from './load.ts'
import { type Child, start } from './processes.ts'
import type { WorkloadName } from './workloads.ts'

/** Who answers. */
export type Subject = 'corral' | 'floor' | 'peer'

/** How much load; whichever of requests and seconds is over first ends it. */
export interface Effort {
  readonly warmUp: number
  readonly requests: number
  /** In how many pieces the requests are sent, the subjects taking turns. */
  readonly slices: number
  readonly connections: number
  /** Of the warm-up and of the measurement, each. */
  readonly seconds: number
}

/** Who answers what. */
export interface Target {
  readonly subject: Subject
  readonly workload: WorkloadName
  /** Flags of Node. */
  readonly flags?: readonly string[]
  /** The tree that the subject is of; this one if absent. */
  readonly root?: string
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
export async function measure(load: Child, target: Target, effort: Effort): Promise<Measurement> {
  const [measurement] = await measureInTurn(load, [target], effort)
  if (!measurement) throw new Error('Nothing was measured')
  return measurement
}

/**
 * Measures several subjects, each in a fresh process. All are warmed up, then the load goes to each for a short slice
 * in turn: what disturbs the machine, mostly for longer than a slice, disturbs all of them alike.
 */
export async function measureInTurn(
  load: Child,
  targets: readonly Target[],
  effort: Effort,
): Promise<readonly Measurement[]> {
  const servers = targets.map(({ subject, workload, flags, root }) =>
    start('subject.ts', [subject, workload], { flags, root }),
  )
  try {
    const runs: Run[] = []
    for (const [i, server] of servers.entries()) {
      const { port } = (await server.ready) as { port: number } // what subject.ts says first
      const usage = (): Promise<Usage> => server.ask('usage')
      const target = targets[i]
      if (target) runs.push(new Run({ load, usage, port, target, effort }))
    }
    for (const run of runs) await run.warmUp()
    for (let slice = 0; slice < effort.slices; slice++) for (const run of runs) await run.slice()
    return runs.map((run) => run.measurement())
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}

/** One subject under load. */
class Run {
  readonly #load: Child
  readonly #usage: () => Promise<Usage>
  readonly #order: Omit<LoadOrder, 'requests'>
  readonly #effort: Effort
  readonly #micros: number[] = []
  #idleBytes = 0
  #rssBytes = 0
  #cpuMicros = 0
  #seconds = 0
  #failed = 0

  constructor(setting: {
    readonly load: Child
    readonly usage: () => Promise<Usage>
    readonly port: number
    readonly target: Target
    readonly effort: Effort
  }) {
    const { load, usage, port, target, effort } = setting
    const { connections, slices } = effort
    // The peer's cost grows with the square of a stream's length; time bounds it.
    const seconds = target.subject === 'peer' ? effort.seconds / 2 : effort.seconds
    this.#load = load
    this.#usage = usage
    this.#effort = effort
    this.#order = { port, workload: target.workload, connections, seconds: seconds / slices }
  }

  async warmUp(): Promise<void> {
    this.#idleBytes = (await this.#usage()).rssBytes
    const { warmUp: requests, seconds } = this.#effort
    await this.#load.ask({ ...this.#order, requests, seconds })
  }

  /** Nothing more, once the subject has had its time: the last requests of a slow one last longer than the slice. */
  async slice(): Promise<void> {
    if (this.#seconds >= this.#order.seconds * this.#effort.slices) return
    const requests = Math.ceil(this.#effort.requests / this.#effort.slices)
    const before = await this.#usage()
    const result = await this.#load.ask<LoadResult>({ ...this.#order, requests })
    const after = await this.#usage()
    for (const micros of result.micros) this.#micros.push(micros)
    this.#cpuMicros += after.cpuMicros - before.cpuMicros
    this.#rssBytes = after.rssBytes
    this.#seconds += result.seconds
    this.#failed += result.failed
  }

  measurement(): Measurement {
    const sorted = this.#micros.toSorted((a, b) => a - b)
    const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0
    return {
      cpuMicros: this.#cpuMicros / sorted.length,
      perSecond: sorted.length / this.#seconds,
      p50: at(0.5),
      p95: at(0.95),
      p99: at(0.99),
      rssMegabytes: this.#rssBytes / 1e6,
      idleMegabytes: this.#idleBytes / 1e6,
      requests: sorted.length,
      failed: this.#failed,
    }
  }
}
