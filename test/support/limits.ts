import { availableParallelism, loadavg } from 'node:os'

/** How many times as long as alone this machine takes, as it is busy with other work already: 1 to 10. */
const busy = Math.min(10, Math.max(1, (loadavg()[0] ?? 0) / availableParallelism()))

/** A limit for what never happens, in milliseconds: longer where the machine has other work to do. */
export function patiently(ms: number): number {
  return Math.round(ms * busy)
}
