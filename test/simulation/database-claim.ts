import { toTimestamp } from '../../src/shared/clock.ts'
import { claimable } from '../../src/store/documents.ts'
import type { DatabaseRow } from '../../src/store/postgres/connection.ts'
import type { LogRecord, TaskHead } from '../../src/store/store.ts'
import { type Database, isLiving, notify, type Row, removeMail } from './database.ts'
import type { Wanted } from './statements.ts'
import { epoch } from './world.ts'

/** Who claims what. */
export interface Claim extends Wanted {
  readonly me: number
  /** The process behind that number. */
  readonly process: string
  /** Who has the locks of this statement; rows that another has are skipped. */
  readonly backend: object
}

/** Takes on tasks with work left whose replica is dead or has left: each gets a record, so that its version moves. */
export async function claimTasks(database: Database, claim: Claim): Promise<readonly TaskHead[]> {
  const { locks, bugs, rows } = database
  const wanted = bugs.has('claim-any-build') ? { ...claim, builds: undefined } : claim
  const free = (await leftToTake(database, { ...wanted, limit: undefined })).filter(
    ({ id }) => !locks.isTaken(id, claim.backend),
  )
  const taken: TaskHead[] = []
  for (const head of free.slice(0, claim.limit)) {
    const row = rows.get(head.id)
    if (row) taken.push(await take(database, { row, head, claim }))
  }
  return taken
}

/** Tasks with work left that no living replica has, in the order in which they are claimed. */
export async function leftToTake(
  database: Database,
  { agent, builds, limit, after }: Wanted,
): Promise<readonly TaskHead[]> {
  const heads: TaskHead[] = []
  for (const { id, build } of orphansOf(database)) {
    const stored = builds?.includes(build) === false ? undefined : await database.memory.get(id)
    // What is left of a task may be in its inbox alone.
    if (stored) heads.push({ ...stored.head, busy: true })
  }
  return claimable(heads, {
    after,
    ...(agent !== undefined && { agent }),
    ...(limit !== undefined && { limit }),
  })
}

/** Tasks with work left that no living replica has. */
export function* orphansOf(database: Database): Iterable<Row> {
  for (const row of database.rows.values())
    if (row.replica !== undefined && !isLiving(database, row.replica)) yield row
}

/** The builds of such tasks, and whether a living replica has each. */
export function servedBuilds(database: Database): readonly DatabaseRow[] {
  const found = new Map<string, DatabaseRow>()
  for (const { agent, build } of orphansOf(database)) {
    const shown = database.bugs.has('claim-any-build') ? '' : build
    found.set(`${agent} ${shown}`, {
      agent,
      build: shown,
      served: isServed(database, agent, build),
    })
  }
  return [...found.values()]
}

function isServed(database: Database, agent: string, build: string): boolean {
  for (const { number, serving } of database.registrations.values())
    if (
      isLiving(database, number) &&
      serving.some((one) => one.agent === agent && one.build === build)
    )
      return true
  return false
}

async function take(
  database: Database,
  { row, head, claim }: { readonly row: Row; readonly head: TaskHead; readonly claim: Claim },
): Promise<TaskHead> {
  const { memory, registrations, observer } = database
  const { me, process } = claim
  const before = { replica: row.replica, process: row.process }
  const served = registrations.get(me)?.serving.find(({ agent }) => agent === row.agent)
  observer?.claimed?.(row, served?.build ?? row.build, me)
  if (database.bugs.has('changes-forgotten')) forgetChanges(database, row)
  row.replica = me
  row.process = process
  row.watchers = row.watchers.filter(
    (number) => registrations.has(number) && isLiving(database, number),
  )
  if (database.bugs.has('claim-without-record')) return head
  const stored = await memory.get(row.id)
  const expectedVersion = stored?.version ?? 0
  const version = expectedVersion + 1
  const at = toTimestamp(epoch + database.now())
  const records: LogRecord[] = [{ seq: version, kind: 'claim', by: me, at }]
  const own = { ...head, busy: row.busy }
  await memory.commit([{ type: 'task', head: own, expectedVersion, records }])
  observer?.stored({ head: own, records, version, by: me, process, before, row })
  for (const watcher of row.watchers)
    if (watcher !== me) notify(database, watcher, { kind: 'grown', taskId: row.id, version })
  return head
}

function forgetChanges(database: Database, row: Row): void {
  const items = database.inbox.get(row.id) ?? []
  const numbers = items.flatMap(({ number, entry }) => (entry.kind === 'amend' ? number : []))
  removeMail(database, row, { numbers, as: 'taken' })
}
