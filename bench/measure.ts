import { type ChildProcess, fork } from 'node:child_process'
import { benchFile, type WorkloadName } from './workloads.ts'

/** Who answers. */
export type Subject = 'corral' | 'floor' | 'peer'

/** How much load. */
export interface Effort {
  readonly warmUp: number
  readonly requests: number
  readonly connections: number
}

/** What one run of one subject showed. */
export interface Measurement {
  readonly cpuMicros: number
  readonly perSecond: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly rssMegabytes: number
  readonly failed: number
}

/** Puts a load on a subject, both in fresh processes, and measures the subject's CPU time per request. */
export async function measure(
  subject: Subject,
  workload: WorkloadName,
  effort: Effort,
  execArgv: readonly string[] = [],
): Promise<Measurement> {
  const server = start('subject.ts', [subject, workload], execArgv)
  try {
    const { port } = await next<{ port: number }>(server)
    return await underLoad(server, port, workload, effort)
  } finally {
    await stop(server)
  }
}

async function underLoad(
  server: ChildProcess,
  port: number,
  workload: WorkloadName,
  { warmUp, requests, connections }: Effort,
): Promise<Measurement> {
  const load = start('load.ts', [String(port), workload])
  try {
    await next(load)
    await ask(load, { requests: warmUp, connections })
    const before = await ask<Usage>(server, 'usage')
    const result = await ask<LoadResult>(load, { requests, connections })
    const after = await ask<Usage>(server, 'usage')
    const sorted = result.micros.sort((a, b) => a - b)
    const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0
    return {
      cpuMicros: (after.cpuMicros - before.cpuMicros) / requests,
      perSecond: requests / result.seconds,
      p50: at(0.5),
      p95: at(0.95),
      p99: at(0.99),
      rssMegabytes: after.rssBytes / 1e6,
      failed: result.failed,
    }
  } finally {
    await stop(load)
  }
}

interface Usage {
  readonly cpuMicros: number
  readonly rssBytes: number
}

interface LoadResult {
  readonly micros: number[]
  readonly failed: number
  readonly seconds: number
}

/** Starts a file of the benchmark in a process of its own. */
export function start(
  file: string,
  args: readonly string[],
  execArgv: readonly string[] = [],
): ChildProcess {
  return fork(benchFile(file), args, { execArgv: ['--import', 'tsx', ...execArgv] })
}

/** The next message of a child; its end is an error. */
export function next<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => reject(new Error(`A child ended with ${code}`))
    child.once('exit', onExit)
    child.once('message', (message) => {
      child.off('exit', onExit)
      // Children of the benchmark say what this file expects.
      resolve(message as T)
    })
  })
}

/** Says something to a child and waits for its answer. */
export function ask<T>(child: ChildProcess, message: object | string): Promise<T> {
  child.send(message)
  return next<T>(child)
}

/** Ends a child. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  await new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    if (child.connected) child.disconnect()
    else child.kill()
  })
}
