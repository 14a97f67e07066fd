import type { AgentBuild, HeldTask } from '../../src/store/feed.ts'
import type { DatabaseRow } from '../../src/store/postgres/connection.ts'
import { type Database, isLiving, type Note, notify, type Registration } from './database.ts'
import { orphansOf } from './database-claim.ts'
import { deliveryKey } from './database-deliveries.ts'
import { epoch } from './world.ts'

/** Who registers. */
export interface Joining {
  readonly name: string
  readonly serving: readonly AgentBuild[]
  readonly leaseMs: number
  /** The number that this process had before; its lease is over. */
  readonly former: number
  tell(note: Note): void
}

/** Registers a replica under a number that was never used; its session holds the lock from here on. */
export function register(
  database: Database,
  { name, serving, leaseMs, former, tell }: Joining,
): Registration {
  const before = database.registrations.get(former)
  if (before) before.aliveUntil = database.now()
  const registration: Registration = {
    number: database.nextNumber(),
    name,
    since: database.now(),
    serving,
    aliveUntil: database.now() + leaseMs,
    locked: true,
    tell,
  }
  database.registrations.set(registration.number, registration)
  return registration
}

/** Extends a lease that still holds; false where it does not. */
export function beat(database: Database, number: number, leaseMs: number): boolean {
  const known = database.registrations.get(number)
  const alive = known !== undefined && known.aliveUntil > database.now()
  if (alive) known.aliveUntil = database.now() + leaseMs
  return alive
}

/** The database's time of day. */
export function timeOf(database: Database): number {
  return epoch + database.now()
}

/** Which replicas live, and which do not though there is work of theirs. */
export async function lookForDead(database: Database): Promise<DatabaseRow> {
  const live = [...database.registrations.keys()].filter((number) => isLiving(database, number))
  const orphaned = new Set<number>()
  for (const { replica } of orphansOf(database)) orphaned.add(replica ?? 0)
  for (const { taskId, id } of await database.memory.claimDeliveries()) {
    const deliverer = database.deliverers.get(deliveryKey(taskId, id))
    if (deliverer !== undefined && !isLiving(database, deliverer)) orphaned.add(deliverer)
  }
  return { live, orphaned: [...orphaned] }
}

/** Removes registrations that are long over and have nothing left. */
export function forgetDead(database: Database): void {
  const delivering = new Set(database.deliverers.values())
  for (const { number, aliveUntil } of [...database.registrations.values()])
    if (aliveUntil < database.now() - 60_000 && heldBy(database, number).length === 0)
      if (!delivering.has(number)) database.registrations.delete(number)
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
  taskIds: readonly string[],
  isWatching: boolean,
): void {
  for (const taskId of taskIds) {
    const row = rows.get(taskId)
    if (!row) continue
    const others = row.watchers.filter((one) => one !== number)
    row.watchers = isWatching ? [...others, number] : others
  }
}

/** How far tasks are, and whether they name a replica among their watchers; without those that are not there. */
export async function versionsOf(
  { memory, rows }: Database,
  taskIds: Iterable<string>,
  number: number,
): Promise<readonly DatabaseRow[]> {
  const found: DatabaseRow[] = []
  for (const id of taskIds) {
    const version = (await memory.get(id))?.version
    const listed = rows.get(id)?.watchers.includes(number) === true
    if (version !== undefined) found.push({ id, version, listed })
  }
  return found
}

/** The replicas, for people. */
export function membersOf(database: Database): readonly DatabaseRow[] {
  return [...database.registrations.values()].map(({ number, name, serving, aliveUntil }) => ({
    number,
    name,
    agents: serving.map(({ agent }) => agent),
    builds: serving.map(({ build }) => build),
    alive: isLiving(database, number),
    lease_ms: aliveUntil - database.now(),
    tasks: heldBy(database, number).length,
  }))
}
