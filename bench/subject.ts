/**
 * One server under load, in a process of its own: `subject.ts <corral|floor|peer> <workload>`. Tells its port, then
 * answers `usage` with the CPU time and memory it has used so far, and `fire` once its open streams have their event.
 */
import { type Workload, type WorkloadName, workloadOf } from './workloads.ts'

/** A subject that serves. */
export interface Serving {
  readonly port: number
  /** The task to watch, where the workload keeps streams open. */
  readonly taskId?: string
  /** Sends one event to all open streams. */
  fire?(): void
}

const serve: Readonly<Record<string, () => Promise<(workload: Workload) => Promise<Serving>>>> = {
  corral: async () => (await import('./subjects/corral.ts')).serveCorral,
  floor: async () => (await import('./subjects/floor.ts')).serveFloor,
  peer: async () => (await import('./subjects/peer.ts')).servePeer,
}

const [subject = '', name = ''] = process.argv.slice(2)
// The names come from the benchmark's own tables.
const serving = await (await serve[subject]?.())?.(workloadOf(name as WorkloadName))
process.on('message', (message) => {
  if (message === 'fire') serving?.fire?.()
  // Where the flags allow it, memory is measured without garbage.
  if (message === 'live') globalThis.gc?.()
  const { user, system } = process.cpuUsage()
  process.send?.({ cpuMicros: user + system, rssBytes: process.memoryUsage.rss() })
})
process.on('disconnect', () => process.exit(0))
process.send?.({ port: serving?.port, taskId: serving?.taskId })
