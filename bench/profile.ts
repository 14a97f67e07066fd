import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench } from './case.ts'
import { effortFor } from './compare.ts'
import { measure } from './measure.ts'
import { type WorkloadName, workloads } from './workloads.ts'

/** Node's `.cpuprofile`, as far as it is read here. */
interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

interface CallFrame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
}

/** Whether a case's load can be profiled: those that compare processes of several kinds cannot. */
export function isWorkload(name: string): name is WorkloadName {
  return Object.hasOwn(workloads, name)
}

/** Where the time of a load goes: the hottest functions of Corral's process, by their own time. */
export async function profile(bench: Bench, workload: WorkloadName): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'corral-prof-'))
  try {
    const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`]
    await measure(
      bench.load,
      { subject: 'corral', workload, flags },
      effortFor(workload, { quick: false }),
    )
    const files = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'))
    const profiles: readonly CpuProfile[] = files.map((text) => JSON.parse(text))
    return profiles.filter(isOfCorral).flatMap(hottest)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Each thread has a profile of its own, that of the TypeScript loader included. */
function isOfCorral({ nodes }: CpuProfile): boolean {
  return nodes.some(({ callFrame }) => /\/dist\/(server|store)\//.test(callFrame.url))
}

/** Lines such as `12.3 %  parseEnvelope  dist/bindings/jsonrpc/server.js:12`, the hottest 30 first. */
function hottest({ nodes, samples, timeDeltas }: CpuProfile): readonly string[] {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]))
  const times = new Map<string, number>()
  let busy = 0
  for (const [i, id] of samples.entries()) {
    const name = names.get(id) ?? ''
    if (name.startsWith('(idle)') || name.startsWith('(program)')) continue
    const time = timeDeltas[i] ?? 0
    busy += time
    times.set(name, (times.get(name) ?? 0) + time)
  }
  return [...times]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 30)
    .map(([name, time]) => `${((100 * time) / busy).toFixed(1).padStart(5)} %  ${name}`)
}

function nameOf({ functionName, url, lineNumber }: CallFrame): string {
  const place = url.replace(/^file:\/\/.*?\/(dist|node_modules|bench)\//, '$1/')
  const line = place === '' ? '' : `:${lineNumber + 1}`
  return `${functionName || '(anonymous)'}  ${place}${line}`
}
