import type { Disturbances } from './audit-streams.ts'
import type { Database } from './database.ts'
import type { Liveness } from './liveness.ts'
import type { Connection } from './network.ts'
import type { Replica } from './replica.ts'
import type { World } from './world.ts'

/** What may go wrong in a run. */
export interface ChaosOptions {
  readonly world: World
  readonly database: Database
  readonly disturbances: Disturbances
  /** Those of whole processes, of which nothing is expected meanwhile. */
  readonly outages: Disturbances
  readonly liveness: Pick<Liveness, 'locked'>
  replicas(): readonly Replica[]
  /** Starts a replica in place of one that is gone, after so long. */
  replace(replica: Replica, ms: number): void
}

/** Lets something go wrong at random; what, and where. */
export function strike(options: ChaosOptions): void {
  const { world, disturbances, outages, replicas, replace } = options
  const { random } = world
  const living = replicas().filter(({ process }) => process.alive)
  if (living.length === 0) return
  const replica = random.pick(living)
  const { process, link } = replica
  const kind = random.pick(kinds)
  world.trace?.(`${world.now().toFixed(2)} --- ${kind} ${process.name}`)
  const ms = random.chance(0.5) ? random.between(50, 900) : random.between(1_100, 4_000)
  // A session that breaks takes until it is known, and made anew.
  const whom = kind === 'restart of the database' || kind === 'foreign lock' ? '' : process.name
  const open = link.open()
  const one = open.length > 0 ? random.pick(open) : undefined
  const note = (): void => {
    const longer = kind === 'stop in a transaction' ? 2_500 : 0
    const until = world.now() + ms + longer + recoverMs
    disturbances.note(whom, world.now(), until)
    if (!isSmall(kind, one)) outages.note(whom, world.now(), until)
  }
  const block = (forMs = ms): void => {
    link.block()
    world.after(forMs, { what: `${process.name} is reachable`, happen: () => link.unblock() })
  }
  note()
  switch (kind) {
    case 'crash':
      process.crash()
      replace(replica, random.between(20, 1_500))
      return
    case 'drain':
      void replica.drain()
      replace(replica, random.between(0, 500))
      return
    case 'pause':
      process.pause(ms)
      return
    case 'block':
      block()
      return
    case 'stop in a transaction':
      link.trap(() => {
        note()
        // Longer than a lease: others have to continue what is locked.
        if (random.chance(0.5)) process.pause(ms + 2_500)
        else block(ms + 2_500)
      })
      return
    case 'cut one':
      one?.cut()
      return
    case 'silence one':
      one?.silence()
      return
    case 'cut all':
      for (const connection of open) connection.cut()
      return
    case 'foreign lock':
      lockRow(options, ms)
      return
    case 'restart of the database':
      for (const each of living) for (const connection of each.link.open()) connection.cut()
      return
    case 'clock':
      process.setTime(random.between(-3_600_000, 3_600_000))
      return
  }
}

const recoverMs = 4_000

/** Whether it befalls no more than one connection: a replica that has its session is expected to go on. */
function isSmall(kind: (typeof kinds)[number], one: Connection | undefined): boolean {
  const isOne = kind === 'cut one' || kind === 'silence one'
  return kind === 'clock' || kind === 'foreign lock' || (isOne && one?.kind !== 'session')
}

/** A foreign client locks a task's row for so long: a person with an open transaction, or a script. */
function lockRow({ world, database, liveness }: ChaosOptions, ms: number): void {
  const ids = [...database.rows.keys()]
  if (ids.length === 0) return
  const taskId = world.random.pick(ids)
  const client = {}
  void database.locks.take(client, [taskId])
  liveness.locked(taskId, world.now() + ms)
  world.after(ms, {
    what: `a foreign client frees ${taskId}`,
    happen: () => database.locks.free(client),
  })
}

const kinds = [
  'crash',
  'crash',
  'crash',
  'drain',
  'drain',
  'pause',
  'pause',
  'pause',
  'block',
  'block',
  'stop in a transaction',
  'stop in a transaction',
  'cut one',
  'cut one',
  'cut one',
  'cut all',
  'silence one',
  'silence one',
  'silence one',
  'foreign lock',
  'restart of the database',
  'clock',
] as const
