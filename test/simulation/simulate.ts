import { newId, newTimedId } from '../../src/shared/ids.ts'
import { createRandom } from '../durability/random.ts'
import { audit } from './audit.ts'
import { createDisturbances } from './audit-streams.ts'
import { createAuditor } from './auditor.ts'
import type { Bug } from './bugs.ts'
import { strike } from './chaos.ts'
import { createDatabase } from './database.ts'
import { createHooks } from './hooks.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { createLiveness } from './liveness.ts'
import { createNetwork } from './network.ts'
import { type Replica, startReplica, timing } from './replica.ts'
import { createUsers } from './users.ts'
import { createWorld, settled, type VirtualProcess, type World } from './world.ts'

/** One run. */
export interface SimulationOptions {
  readonly seed: number
  /** A mistake that is built in. */
  readonly bug?: Bug | undefined
  /** Told of all that happens. */
  readonly trace?: ((line: string) => void) | undefined
}

/** What came of a run. */
export interface SimulationReport {
  readonly seed: number
  readonly steps: number
  /** How long it took in its own time. */
  readonly virtualMs: number
  readonly counts: {
    readonly replicas: number
    readonly tasks: number
    readonly sends: number
    readonly acknowledged: number
    readonly cancels: number
    readonly streams: number
    readonly forwarded: number
    readonly changes: number
    readonly deliveries: number
  }
  readonly violations: readonly string[]
}

/** How long users act and things go wrong, and how long it may take until all is done. */
const activeMs = 8_000
const settleMs = 180_000

/** Lets virtual replicas serve users while things go wrong, and says what should not have happened. */
export async function simulate({ seed, bug, trace }: SimulationOptions): Promise<SimulationReport> {
  const restore = seedChance(seed)
  const ledger = createLedger()
  const unheard = (reason: unknown): void =>
    ledger.violate(`nobody heard of ${reason instanceof Error ? reason.message : reason}`)
  process.on('unhandledRejection', unheard)
  try {
    return await run({ seed, bug, trace }, ledger)
  } finally {
    await settled()
    process.off('unhandledRejection', unheard)
    restore()
  }
}

async function run(
  { seed, bug, trace }: SimulationOptions,
  ledger: Ledger,
): Promise<SimulationReport> {
  const world = createWorld(seed)
  world.trace = trace
  const { random } = world
  const database = createDatabase(world, bug ? { bugs: [bug] } : {})
  const network = createNetwork(world, database, timing.leaseMs)
  const hooks = createHooks(world, ledger, activeMs)
  const auditor = createAuditor(world, database, { ledger, hooks })
  const disturbances = createDisturbances()
  const outages = createDisturbances()
  const hearsCancels = random.chance(0.5)
  // Now and then the database makes a bad plan.
  if (random.chance(0.3))
    database.slow = { what: random.pick(background), ms: random.between(100, 2_500) }
  // Now and then a new version of the agent is rolled out.
  const isMixed = random.chance(0.4)
  let started = 0
  const common = {
    world,
    network,
    database,
    hooks,
    hearsCancels,
    heardCancel: (taskId: string) => void ledger.heardCancels.add(taskId),
    slots: random.chance(0.2) ? 1 : 64,
    stepBegins: auditor.stepBegins,
    lost: (process: VirtualProcess, reason: string) => liveness.lost(process, reason),
  }
  const start = (): Replica =>
    startReplica({
      ...common,
      name: `replica ${++started}`,
      build: isMixed && random.chance(0.5) ? 'two' : 'one',
      clockAheadMs: random.chance(0.2) ? random.between(-3_600_000, 3_600_000) : 0,
    })
  const replicas = Array.from({ length: random.between(2, 4) }, start)
  const liveness = createLiveness({ world, database, ledger, outages, replicas: () => replicas })
  const users = createUsers({ world, ledger, replicas: () => replicas })
  const chaos = {
    world,
    database,
    disturbances,
    outages,
    liveness,
    replicas: () => replicas,
    replace: (replica: Replica, ms: number) =>
      void world.after(ms, {
        what: 'a replica is started',
        happen: () => replicas.splice(replicas.indexOf(replica), 1, start()),
      }),
  }
  scatter(world, random.between(5, 40), () => users.act())
  scatter(world, random.pick([0, 2, 5, 10, 20]), () => strike(chaos))
  const isOver = (): boolean =>
    world.now() > activeMs &&
    users.waiting ===
      ledger.streams.filter(({ outcome, toEnd }) => toEnd && outcome === 'open').length &&
    [...database.rows.values()].every(({ replica }) => replica === undefined) &&
    !hooks.isBehind(auditor.storedAt)
  // What was never told is looked for every five seconds; users who wait for a replica come back meanwhile.
  let calmSince: number | undefined
  while (world.now() < activeMs + settleMs && world.now() - (calmSince ?? world.now()) < 7_000) {
    if (!(await world.step())) break
    auditor.look()
    liveness.look()
    if (ledger.violations.length > 0) break
    calmSince = isOver() ? (calmSince ?? world.now()) : undefined
  }
  liveness.audit()
  if (ledger.violations.length === 0)
    await audit({ database, ledger, auditor, hooks, disturbances, hearsCancels })
  for (const { process } of replicas) process.crash()
  return {
    seed,
    steps: world.steps,
    virtualMs: Math.round(world.now()),
    counts: {
      replicas: started,
      tasks: database.rows.size,
      sends: ledger.sends.length,
      acknowledged: ledger.sends.filter((sent) => sent.acknowledged).length,
      cancels: ledger.cancels.length,
      streams: ledger.streams.length,
      forwarded: auditor.mail.size,
      changes: ledger.changes.filter((one) => one.acknowledged).length,
      deliveries: hooks.delivered,
    },
    violations: ledger.violations,
  }
}

/** Statements that no caller waits for, and that the lease must not wait for either. */
const background = ['look_live', 'orphaned', 'claim', 'deliveries', 'held', 'poll'] as const

/** Does something so often, at random moments of the active time. */
function scatter(world: World, times: number, work: () => void): void {
  for (let i = 0; i < times; i++)
    world.after(world.random.next() * activeMs, { what: 'fate', happen: work })
}

/** Lets ids and jitter follow from the seed, so that whatever is kept by them comes in the same order again. */
function seedChance(seed: number): () => void {
  const { getRandomValues } = crypto
  const { random: drawn } = Math
  const random = createRandom(seed)
  // Apart from the ids: how many of those are drawn at once is no matter of the run.
  const jitter = createRandom(-seed)
  Math.random = () => jitter.next()
  let isFresh = false
  crypto.getRandomValues = (bytes) => {
    isFresh = true
    if (bytes instanceof Uint8Array)
      for (let i = 0; i < bytes.length; i++) bytes[i] = random.between(0, 255)
    return bytes
  }
  // What was drawn before is used up first.
  while (!isFresh) newId()
  isFresh = false
  while (!isFresh) newTimedId(0)
  return () => {
    crypto.getRandomValues = getRandomValues
    Math.random = drawn
  }
}
