/**
 * `npm run tau2`: everything that tau2's own Python said, against our domains. For every task the hashes after set-up and
 * after the golden actions and each golden output; every recorded answer; every tool schema. Besides, what it costs to
 * open and score a task, and how many worlds were copied as a whole; every recorded verdict, by scoring again; and every
 * task over real A2A, solved by golden agent and user, and with an agent that does nothing. Exits 1 on any difference.
 * At last the latency that a busy run reports, beside the agent's own clock.
 *
 * It needs the data of a tau2 checkout (`CORRAL_TAU2_DATA`, else `../shared/tau2/data`) and the vectors beside it.
 */
import { readFileSync } from 'node:fs'
import { type EvalTask, spoken } from '../src/eval/domain/domain.ts'
import { rescore } from '../src/eval/results/compare.ts'
import { loadResults } from '../src/eval/run/journal.ts'
import { scoreConversation } from '../src/eval/scorers/built-in.ts'
import { compareTask } from '../test/eval/tau2/compare.ts'
import { measureLatency } from '../test/eval/tau2/latency.ts'
import { expected, runReference } from '../test/eval/tau2/oracle.ts'
import { compareRecording, recordings } from '../test/eval/tau2/recorded.ts'
import {
  besideData,
  type GoldenTask,
  goldenTasks,
  hasVectors,
  loadDomain,
  type Tau2Domain,
} from '../test/eval/tau2/vectors.ts'

if (!hasVectors) {
  console.warn('SKIPPED: without the vectors beside the data there is nothing to compare with')
  process.exit(0)
}

/** How many things were compared, and which differ. */
interface Tally {
  right: number
  of: number
}

interface Row {
  readonly domain: string
  readonly hashes: Tally
  readonly outputs: Tally
  readonly recorded: Tally | undefined
  readonly schemas: boolean
  /** Recorded conversations of which every verdict was given again. */
  readonly verdicts: Tally | undefined
  /** Tasks passed over A2A, and how many must be. */
  readonly golden: Tally
  readonly idle: Tally
  /** CPU milliseconds to open and score a task: the median, and the 95th percentile. */
  readonly cpu: readonly [number, number]
  readonly worlds: number
  readonly clones: number
  readonly mostRows: string
}

const began = performance.now()
const rows: Row[] = []
for (const name of ['mock', 'retail', 'airline', 'telecom']) rows.push(await examine(name))
print(rows)
await printLatency()
console.log(`${((performance.now() - began) / 1000).toFixed(1)} s in all`)
process.exit(rows.every(isRight) ? 0 : 1)

async function examine(name: string): Promise<Row> {
  const domain = await loadDomain(name)
  say(name, `${domain.tasks.length} tasks loaded`)
  const golden = goldenTasks(name)
  const [hashes, outputs] = await examineGolden(name, domain, golden)
  say(name, `${text(hashes)} tasks and ${text(outputs)} golden outputs are right`)
  const recorded = name === 'retail' || name === 'airline' ? await replay(name, domain) : undefined
  const schemas = await sameSchemas(name, domain)
  const cost = await measure(domain, golden)
  say(name, `scored ${golden.length} tasks, ${cost.worlds} worlds`)
  const verdicts = recorded && (await scoreAgain(name, domain))
  const runs = { golden: await overA2A(domain, 'golden'), idle: await overA2A(domain, 'idle') }
  return { domain: name, hashes, outputs, recorded, schemas, verdicts, ...runs, ...cost }
}

async function scoreAgain(name: string, domain: Tau2Domain): Promise<Tally> {
  const recordings = await loadResults(besideData(`recorded/to_${name}.json`))
  const { simulations, changes } = await rescore(recordings, { domain })
  for (const change of changes) console.error(JSON.stringify(change).slice(0, 500))
  const changed = new Set(changes.map(({ id }) => id))
  const tally = { right: simulations.length - changed.size, of: simulations.length }
  say(name, `${text(tally)} recorded verdicts are right`)
  return tally
}

/** How many tasks an agent of ours passes, beside how many tau2's Python says that it must. */
async function overA2A(domain: Tau2Domain, kind: 'golden' | 'idle'): Promise<Tally> {
  const name = domain.name.replace('tau2:', '')
  const ids = domain.tasks.map(({ id }) => id)
  const { summary } = await runReference(domain, kind, ids)
  const tally = { right: summary.successes, of: expected[name]?.[kind] ?? 0 }
  say(name, `the ${kind} agent passes ${tally.right} of ${ids.length} tasks over A2A`)
  return tally
}

async function examineGolden(
  name: string,
  domain: Tau2Domain,
  golden: readonly GoldenTask[],
): Promise<[Tally, Tally]> {
  const [hashes, outputs]: [Tally, Tally] = [
    { right: 0, of: golden.length },
    { right: 0, of: 0 },
  ]
  for (const [index, task] of golden.entries()) {
    const { differences, outputs: count } = await compareTask(domain, task)
    const wrong = differences.filter((one) => one.includes(' gave '))
    outputs.of += count
    outputs.right += count - wrong.length
    if (differences.length === wrong.length) hashes.right++
    for (const difference of differences) console.error(difference.slice(0, 500))
    if (index > 0 && index % 500 === 0) say(name, `${index} of ${golden.length}`)
  }
  return [hashes, outputs]
}

async function replay(name: string, domain: Tau2Domain): Promise<Tally> {
  const tally: Tally = { right: 0, of: 0 }
  for (const recording of recordings(name)) {
    const differences = await compareRecording(domain, recording)
    tally.of += recording.calls.length
    tally.right += recording.calls.length - differences.length
    for (const difference of differences) console.error(difference.slice(0, 500))
  }
  say(name, `${text(tally)} recorded outputs are right`)
  return tally
}

async function sameSchemas(name: string, domain: Tau2Domain): Promise<boolean> {
  const vectors = JSON.parse(readFileSync(besideData('vectors/tool_schemas.json'), 'utf8'))[name]
  const { tools, userTools } = await domain.open({ id: '' })
  const wrap = (all: readonly object[]): string =>
    JSON.stringify(all.map((one) => ({ type: 'function', function: one })))
  return (
    wrap(tools) === JSON.stringify(vectors.tools) &&
    wrap(userTools) === JSON.stringify(vectors.user_tools ?? [])
  )
}

/** Opens and scores every task, with the golden conversation; each world tells at its end what it has copied. */
async function measure(
  domain: Tau2Domain,
  golden: readonly GoldenTask[],
): Promise<Pick<Row, 'cpu' | 'worlds' | 'clones' | 'mostRows'>> {
  const seen = { worlds: 0, clones: 0, rows: 0, total: 0 }
  const open: Tau2Domain['open'] = async (task) => {
    const world = await domain.open(task)
    const close = async (): Promise<void> => {
      const { rows: copied, total } = world.copies()
      seen.worlds++
      if (copied >= total) seen.clones++
      if (copied > seen.rows) Object.assign(seen, { rows: copied, total })
    }
    return { ...world, close }
  }
  const tasks = new Map(domain.tasks.map((task) => [task.id, task]))
  const costs: number[] = []
  for (const one of golden) {
    const task = tasks.get(one.task_id)
    if (task) costs.push(await costOf({ ...domain, open }, task, one))
  }
  costs.sort((a, b) => a - b)
  const at = (share: number): number => costs[Math.floor((costs.length - 1) * share)] ?? 0
  const { worlds, clones, rows: most, total } = seen
  return { cpu: [at(0.5), at(0.95)], worlds, clones, mostRows: `${most} of ${total}` }
}

async function costOf(domain: Tau2Domain, task: EvalTask, golden: GoldenTask): Promise<number> {
  const actions = task.evaluation_criteria?.actions ?? []
  const messages = actions.flatMap(({ name, requestor = 'assistant', arguments: args }, index) => {
    const call = { id: `golden_${index}`, name, requestor, arguments: args }
    const { content = '', ok = true } = golden.actions[index] ?? {}
    const result = { id: call.id, role: 'tool', requestor, content, error: !ok } as const
    return [spoken(requestor, null, [call]), result]
  })
  const signal = new AbortController().signal
  const before = process.cpuUsage()
  const world = await domain.open(task)
  await world.close()
  await scoreConversation({ domain, task, messages, termination: 'user_stop', signal })
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

async function printLatency(): Promise<void> {
  const { simulations, requests, reported, own, lag } = await measureLatency(
    await loadDomain('retail'),
  )
  const words = ([p50, p95]: readonly [number, number]): string =>
    `p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms`
  console.log(`${simulations} simulations, 50 at once, ${requests} requests of 30 ms each:`)
  console.log(`  reported latency   ${words(reported)}`)
  console.log(`  the agent's clock  ${words(own)}`)
  if (lag) console.log(`  event loop late    ${words([lag.p50_ms, lag.p95_ms])}`)
}

function isRight(row: Row): boolean {
  const { hashes, outputs, recorded, verdicts, golden, idle, schemas, clones } = row
  const known = [recorded, verdicts].flatMap((tally) => tally ?? [])
  const all = [hashes, outputs, golden, idle, ...known]
  return all.every(({ right, of }) => right === of) && schemas && clones === 0
}

function text({ right, of }: Tally): string {
  return `${right}/${of}`
}

function say(name: string, words: string): void {
  console.log(`${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s  ${name}: ${words}`)
}

function print(all: readonly Row[]): void {
  const lines = all.map((row) => [
    row.domain,
    text(row.hashes),
    text(row.outputs),
    row.recorded ? text(row.recorded) : '–',
    row.schemas ? 'equal' : 'DIFFERENT',
    row.verdicts ? text(row.verdicts) : '–',
    text(row.golden),
    text(row.idle),
    row.cpu.map((ms) => ms.toFixed(1)).join(' / '),
    `${row.clones} of ${row.worlds}`,
    row.mostRows,
  ])
  const head = [
    ...['domain', 'tasks by hash', 'golden outputs', 'recorded', 'schemas', 'verdicts'],
    ...['golden over A2A', 'idle over A2A'],
    ...['open + score, CPU ms p50 / p95', 'worlds copied whole', 'most rows copied'],
  ]
  const widths = head.map((cell, i) =>
    Math.max(cell.length, ...lines.map((line) => line[i]?.length ?? 0)),
  )
  for (const line of [head, ...lines])
    console.log(line.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '))
}
