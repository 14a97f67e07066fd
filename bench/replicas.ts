import { createCaller } from '../test/durability/caller.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { type Bench, type Finding, median, repeat } from './case.ts'
import type { LoadOrder, LoadResult } from './load.ts'
import { startLoad } from './measure.ts'
import type { ReplicaOrder } from './probes/replica.ts'
import { type Child, start } from './processes.ts'

/** A replica in a process of its own. */
interface Replica {
  readonly child: Child
  readonly port: number
  ask<T>(order: ReplicaOrder): Promise<T>
}

/** How many milliseconds later than a reader on the replica that runs a task one on another has an event, p50. */
export function eventElsewhere({ quick }: Bench): Promise<Finding> {
  return withReplicas(['ends', 'ends'], async ([a, b]) => {
    const ticks = quick ? 100 : 500
    const { taskId } = await a.ask<{ taskId: string }>({ tick: ticks })
    const [here, there] = await Promise.all([arrivals(a, taskId), arrivals(b, taskId)])
    // What was there before a reader came says nothing.
    const late = [...here].slice(-ticks / 2).map(([seq, at]) => (there.get(seq) ?? Number.NaN) - at)
    const sorted = late.toSorted((x, y) => x - y)
    const p99 = sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN
    const failed = late.filter(Number.isNaN).length
    const p50 = median(late)
    return { ratio: p50, failed, note: `p99 ${p99.toFixed(1)} ms`, details: { p50, p99 } }
  })
}

/** When each event came, by its sequence number. */
async function arrivals({ port }: Replica, id: string): Promise<ReadonlyMap<number, number>> {
  const caller = createCaller(() => `http://127.0.0.1:${port}`)
  const seen = new Map<number, number>()
  const headers = { 'last-event-id': '0' }
  const question = { agent: 'ticker', method: 'SubscribeToTask', params: { id }, headers }
  for await (const { seq } of caller.stream(question)) seen.set(seq, performance.now())
  await caller.close()
  return seen
}

/** How many milliseconds after the death of a replica another one runs all of its thousand tasks. */
export async function takeover({ quick }: Bench): Promise<Finding> {
  const tasks = 1_000
  const rounds = await repeat(quick ? 1 : 3, () =>
    withReplicas(['waits', 'ends'], async ([dying, other]) => {
      await dying.ask({ begin: tasks })
      const all = other.ask({ await: tasks })
      const before = performance.now()
      await dying.child.stop()
      await all
      return performance.now() - before
    }),
  )
  return { ratio: median(rounds), details: { tasks, millis: median(rounds) } }
}

/** The time that two replicas take for as many tasks as one, which has the machine to itself then. */
export async function twoReplicas({ load, quick }: Bench): Promise<Finding> {
  const other = await startLoad()
  try {
    return await withReplicas(['ends', 'ends'], async ([a, b]) => {
      const order = { requests: 1_000_000, connections: 32, seconds: quick ? 2 : 6 }
      await Promise.all([send(load, a, order), send(other, b, order)])
      const alone = await send(load, a, order)
      const both = await Promise.all([send(load, a, order), send(other, b, order)])
      const [one, two] = [rateOf([alone]), rateOf(both)]
      const failed = [alone, ...both].reduce((sum, run) => sum + run.failed, 0)
      const note = `${Math.round(two)} tasks a second against ${Math.round(one)}`
      return { ratio: one / two, failed, note, details: { onePerSecond: one, twoPerSecond: two } }
    })
  } finally {
    await other.stop()
  }
}

function send(
  load: Child,
  { port }: Replica,
  order: Omit<LoadOrder, 'port' | 'workload'>,
): Promise<LoadResult> {
  return load.ask({ ...order, port, workload: 'task' })
}

function rateOf(runs: readonly LoadResult[]): number {
  return runs.reduce((sum, { micros, seconds }) => sum + micros.length / seconds, 0)
}

/** Starts two replicas on a PostgreSQL of their own. */
async function withReplicas<T>(
  roles: readonly [string, string],
  work: (replicas: readonly [Replica, Replica]) => Promise<T>,
): Promise<T> {
  const postgres = await startPostgres({ durable: true })
  const children = roles.map((role) => start('probes/replica.ts', [postgres.url, role]))
  try {
    const [a, b] = await Promise.all(children.map(toReplica))
    if (!a || !b) throw new Error('There are two replicas')
    return await work([a, b])
  } finally {
    await Promise.all(children.map((child) => child.stop()))
    await postgres.stop()
  }
}

async function toReplica(child: Child): Promise<Replica> {
  const { port } = (await child.ready) as { port: number } // what replica.ts says first
  return { child, port, ask: (order) => child.ask(order) }
}
