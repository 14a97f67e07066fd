import type { AgentBuild, ClusterFacts, HeldTask } from '../../src/store/feed.ts'
import { type Database, isLiving, type Note, notify, type Registration } from './database.ts'
import { orphansOf } from './database-claim.ts'
import { deliveryKey } from './database-deliveries.ts'

/** Who registers. */
export interface Joining {
  readonly name: string
  readonly serving: readonly AgentBuild[]
  readonly leaseMs: number
  tell(note: Note): void
}

/** What a beat or a look brings back. */
export interface Pulse {
  /** Whether the registration still holds. */
  readonly alive: boolean
  /** The database's time. */
  readonly now: number
  readonly replicas: number
}

/** Registers a replica under a number that was never used; its session holds the lock from here on. */
export function register(
  database: Database,
  { name, serving, leaseMs, tell }: Joining,
): Registration {
  const registration: Registration = {
    number: database.nextNumber(),
    name,
    serving,
    aliveUntil: database.now() + leaseMs,
    locked: true,
    tell,
  }
  database.registrations.set(registration.number, registration)
  return registration
}

/** Extends a lease that still holds. */
export function beat(database: Database, number: number, leaseMs: number): Pulse {
  const known = database.registrations.get(number)
  const alive = known !== undefined && known.aliveUntil > database.now()
  if (alive) known.aliveUntil = database.now() + leaseMs
  return { alive, now: database.now(), replicas: countLiving(database) }
}

/** Whether there is something that no living replica has. */
export async function hasOrphans(database: Database): Promise<boolean> {
  for (const _ of orphansOf(database)) return true
  for (const { taskId, id } of await database.memory.claimDeliveries()) {
    const deliverer = database.deliverers.get(deliveryKey(taskId, id))
    if (deliverer !== undefined && !isLiving(database, deliverer)) return true
  }
  return false
}

/** Leaves: what was this replica's is free, and the others are told. */
export function leave(database: Database, number: number): void {
  free(database, number)
  for (const [key, deliverer] of database.deliverers)
    if (deliverer === number) database.deliverers.set(key, 0)
  database.registrations.delete(number)
  tellOrphans(database)
}

/** Frees this replica's tasks of an agent, and tells the others. */
export function release(database: Database, number: number, agent: string): void {
  free(database, number, agent)
  tellOrphans(database)
}

function free({ rows }: Database, number: number, agent?: string): void {
  for (const row of rows.values())
    if (row.replica === number && (agent ?? row.agent) === row.agent) row.replica = 0
}

function tellOrphans(database: Database): void {
  for (const other of database.registrations.keys()) notify(database, other, { kind: 'orphans' })
}

/** Tasks of a replica. */
export function heldBy({ rows }: Database, number: number, agent?: string): readonly HeldTask[] {
  return [...rows.values()].flatMap((row) =>
    row.replica === number && (agent === undefined || row.agent === agent)
      ? [{ id: row.id, mail: row.mail }]
      : [],
  )
}

/** Names a replica among the watchers of tasks, or no longer. */
export function setWatching(
  { rows }: Database,
  number: number,
  changes: ReadonlyMap<string, boolean>,
): void {
  for (const [taskId, isWatching] of changes) {
    const row = rows.get(taskId)
    if (!row) continue
    const others = row.watchers.filter((one) => one !== number)
    row.watchers = isWatching ? [...others, number] : others
  }
}

/** How far tasks are; 0 for those that are not there. */
export async function versionsOf(
  { memory }: Database,
  taskIds: Iterable<string>,
): Promise<ReadonlyMap<string, number>> {
  const versions = new Map<string, number>()
  for (const taskId of taskIds) versions.set(taskId, (await memory.get(taskId))?.version ?? 0)
  return versions
}

/** How the replicas stand. */
export function factsOf(database: Database, replica: number): ClusterFacts {
  const { registrations, inbox } = database
  const members = [...registrations.values()].map(({ number, name, serving, aliveUntil }) => ({
    number,
    name,
    agents: serving,
    alive: isLiving(database, number),
    leaseMs: aliveUntil - database.now(),
    tasks: heldBy(database, number).length,
  }))
  const orphans = [...orphansOf(database)].length
  const waiting = [...inbox.values()].reduce((sum, items) => sum + items.length, 0)
  return { replica, members, orphans, inbox: waiting, synchronousStandby: false }
}

function countLiving(database: Database): number {
  let count = 0
  for (const number of database.registrations.keys()) if (isLiving(database, number)) count++
  return count
}
