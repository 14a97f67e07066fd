import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { type Audit, audit } from '../audit.ts'
import { createCaller } from '../caller.ts'
import { createHooks, type Hooks } from '../hooks.ts'
import { type Count, createLedger, type Ledger } from '../ledger.ts'
import { createRandom } from '../random.ts'
import { createSigns } from '../signs.ts'
import { torturedAgents } from '../torture.ts'
import { type Surroundings, work } from '../workload.ts'
import { type Fleet, startFleet } from './fleet.ts'
import { type Ground, openGround } from './ground.ts'
import { createMoments, type Point, points } from './moments.ts'
import { settle } from './rest.ts'
import { type Struck, strikeOften } from './strikes.ts'
import {
  type Blow,
  blows,
  type Durations,
  measureTakeovers,
  sum,
  type Takeovers,
} from './takeovers.ts'

/** How hard it is. */
export interface MatrixOptions {
  readonly replicas: number
  readonly kills: number
  readonly seed: number
  /** How many callers there are at once that do a bit of everything; 10 if absent. */
  readonly callers?: number
  /** How many callers besides follow long tasks all the time; 8 if absent. */
  readonly walkers?: number
  /** Told after each kill. */
  progress?(kills: number): void
}

/** What was done, what was found, and what must be empty: the violations. */
export interface MatrixReport extends Takeovers {
  readonly seed: number
  /** Where the files are, if there are violations. */
  readonly folder: string
  readonly replicas: number
  readonly blows: Readonly<Record<Blow, number>>
  readonly points: Readonly<Record<Point, number>>
  /** Kills of a replica that was just starting, besides. */
  readonly killsWhileStarting: number
  /** How often a replica that was not paused was taken for dead. */
  readonly falseDeaths: number
  readonly seconds: number
  readonly followers: number
  readonly reconnects: number
  readonly counts: Readonly<Record<Count, number>>
  readonly audit: Audit
  readonly deadLetters: number
  /** From SIGTERM to the end of the process. */
  readonly drains: Durations
  readonly violations: readonly string[]
}

/**
 * Lets callers loose on several replicas of a server on one PostgreSQL, behind a load balancer, and strikes one of them
 * again and again: each kind of blow at each point of its work. What is left in the database is held against a ledger
 * that was kept outside.
 */
export async function tortureReplicas(options: MatrixOptions): Promise<MatrixReport> {
  const ground = await openGround()
  let keepsFiles = true
  try {
    const report = await run(options, ground)
    keepsFiles = report.violations.length > 0
    return report
  } finally {
    await ground.close(keepsFiles)
  }
}

async function run(options: MatrixOptions, ground: Ground): Promise<MatrixReport> {
  const { seed, replicas: count, kills, progress } = options
  const began = Date.now()
  const random = createRandom(seed)
  const signs = createSigns()
  const ledger = createLedger(signs.sign)
  const moments = createMoments()
  const { setup, folder } = ground
  const fleet = await startFleet({ count, setup, folder, moments })
  const hooks = await createHooks(createRandom(seed + 1), (name) => {
    signs.sign()
    moments.reached('webhook', fleet.runnerOf(name))
  })
  const { server } = fleet
  const caller = createCaller(server.url)
  const around: Surroundings = {
    ...{ server, caller, hooks, ledger, random, sign: signs.sign },
    reached: (point, taskId) => moments.reached(point, fleet.runnerOf(taskId)),
  }
  try {
    const stop = new AbortController()
    const working = Promise.all(workAll(around, options, stop.signal))
    const struck = await strikeOften({ fleet, moments, signs, ledger, random }, kills, progress)
    stop.abort()
    await settle(ground, ledger, working)
    await stopAll(fleet, ground, ledger)
    return {
      ...(await toReport(ground, { fleet, struck, ledger, hooks })),
      seed,
      folder,
      replicas: count,
      seconds: Math.round((Date.now() - began) / 1000),
    }
  } finally {
    await fleet.close()
    await caller.close()
    await hooks.close()
  }
}

function workAll(
  around: Surroundings,
  { callers = 10, walkers = 8 }: MatrixOptions,
  stop: AbortSignal,
): readonly Promise<void>[] {
  const walking: Surroundings = { ...around, plan: ['walk'] }
  return Array.from({ length: callers + walkers }, (_, number) =>
    work(number < callers ? around : walking, number, stop),
  )
}

async function stopAll(fleet: Fleet, { remote }: Ground, ledger: Ledger): Promise<void> {
  for (const one of [...fleet.replicas, remote]) {
    const code = await one.stop()
    if (code !== 0) ledger.violation(`The last stop ended with ${code}`)
  }
}

interface Found {
  readonly fleet: Fleet
  readonly struck: Struck
  readonly ledger: Ledger
  readonly hooks: Hooks
}

async function toReport(
  ground: Ground,
  { fleet, struck, ledger, hooks }: Found,
): Promise<Omit<MatrixReport, 'seed' | 'folder' | 'replicas' | 'seconds'>> {
  const { store, setup, remoteFile, remoteEffects } = ground
  const { strikes, killsWhileStarting, drains } = struck
  const remoteStore = await openSqliteStore(remoteFile)
  try {
    const remote = { store: remoteStore, effects: remoteEffects }
    const agents = [...torturedAgents, 'walk']
    const { effects } = setup
    const counted = {
      blows: countBy(blows, strikes, ({ blow }) => blow),
      points: countBy(points, strikes, ({ point }) => point),
    }
    return {
      ...counted,
      killsWhileStarting,
      falseDeaths: fleet.lost() - counted.blows.SIGSTOP,
      followers: ledger.followers.length + ledger.clients.length,
      reconnects: ledger.followers.reduce((all, { connections }) => all + connections - 1, 0),
      counts: ledger.counts,
      audit: await audit(store, { ledger, hooks, effects, agents, remote }),
      deadLetters: (await store.deadLetters()).length,
      ...(await measureTakeovers(store, strikes)),
      drains: sum(drains),
      violations: await lookedInto(ground, ledger),
    }
  } finally {
    await remoteStore.close()
  }
}

/** The violations; the logs of the tasks that they name are kept beside the other files. */
async function lookedInto(
  { store, folder }: Ground,
  { violations }: Ledger,
): Promise<readonly string[]> {
  for (const violation of violations) {
    const [id] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(violation) ?? []
    if (id === undefined) continue
    const records = await store.records(id, 0)
    await writeFile(join(folder, `${id}.json`), JSON.stringify(records, null, 1))
  }
  return violations
}

function countBy<T, Key extends string>(
  keys: readonly Key[],
  items: readonly T[],
  keyOf: (item: T) => Key,
): Record<Key, number> {
  const counts = keys.map((key) => [key, items.filter((item) => keyOf(item) === key).length])
  return Object.fromEntries(counts) // each key is among them
}
