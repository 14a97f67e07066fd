/**
 * One server under load, in a process of its own: `subject.ts <corral|floor|peer> <workload>`.
 * Tells its port, then answers `usage` with the CPU time and memory it has used so far.
 */
import { serveCorral } from './subjects/corral.ts'
import { serveFloor } from './subjects/floor.ts'
import { servePeer } from './subjects/peer.ts'
import { type Workload, type WorkloadName, workloadOf } from './workloads.ts'

const serve: Readonly<Record<string, (workload: Workload) => Promise<number>>> = {
  corral: serveCorral,
  floor: serveFloor,
  peer: servePeer,
}

const [subject = '', name = ''] = process.argv.slice(2)
// The names come from the benchmark's own tables.
const port = await serve[subject]?.(workloadOf(name as WorkloadName))
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ cpuMicros: user + system, rssBytes: process.memoryUsage.rss() })
})
process.on('disconnect', () => process.exit(0))
process.send?.({ port })
