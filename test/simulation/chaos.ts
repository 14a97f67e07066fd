import type { Disturbances } from './audit-streams.ts'
import type { Replica } from './replica.ts'
import type { World } from './world.ts'

/** What may go wrong in a run. */
export interface ChaosOptions {
  readonly world: World
  readonly disturbances: Disturbances
  replicas(): readonly Replica[]
  /** Starts a replica in place of one that is gone, after so long. */
  replace(replica: Replica, ms: number): void
}

/** Lets something go wrong at random; what, and where. */
export function strike({ world, disturbances, replicas, replace }: ChaosOptions): void {
  const { random } = world
  const living = replicas().filter(({ process }) => process.alive)
  if (living.length === 0) return
  const replica = random.pick(living)
  const { process, link } = replica
  const kind = random.pick(kinds)
  world.trace?.(`${world.now().toFixed(2)} --- ${kind} ${process.name}`)
  const ms = random.chance(0.5) ? random.between(50, 900) : random.between(1_100, 4_000)
  // A session that breaks takes until it is known, and made anew.
  const whom = kind === 'restart of the database' ? '' : process.name
  disturbances.note(whom, world.now(), world.now() + ms + recoverMs)
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
      link.block()
      world.after(ms, {
        what: `${process.name} is reachable`,
        happen: () => link.unblock(),
      })
      return
    case 'cut one': {
      const open = link.open()
      if (open.length > 0) random.pick(open).cut()
      return
    }
    case 'cut all':
      for (const connection of link.open()) connection.cut()
      return
    case 'restart of the database':
      for (const one of living) for (const connection of one.link.open()) connection.cut()
      return
    case 'clock':
      process.setTime(random.between(-3_600_000, 3_600_000))
      return
  }
}

const recoverMs = 4_000

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
  'cut one',
  'cut one',
  'cut one',
  'cut all',
  'restart of the database',
  'clock',
] as const
