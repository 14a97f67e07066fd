import { toTimestamp } from '../../src/shared/clock.ts'
import { claimable } from '../../src/store/documents.ts'
import type { ClaimRequest, LogRecord, TaskHead } from '../../src/store/store.ts'
import { type Database, isLiving, type Row, removeMail } from './database.ts'
import { epoch } from './world.ts'

/** Who claims what. */
export interface Claim {
  readonly me: number
  /** The process behind that number. */
  readonly process: string
  readonly wanted: ClaimRequest
  /** Whether a task of this build may be taken, where no living replica has that. */
  mayTakeForeign(row: Row): boolean
}

/** Takes on tasks with work left whose replica is dead or has left: each gets a record, so that its version moves. */
export async function claimTasks(database: Database, claim: Claim): Promise<readonly TaskHead[]> {
  const { memory, rows } = database
  const heads: TaskHead[] = []
  for (const row of orphansOf(database)) {
    const stored = isWanted(database, row, claim) ? await memory.get(row.id) : undefined
    if (stored) heads.push(stored.head)
  }
  const { limit, after } = claim.wanted
  // What is left of a task may be in its inbox alone.
  const chosen = claimable(
    heads.map((head) => ({ ...head, busy: true })),
    {
      ...(limit !== undefined && { limit }),
      ...(after && { after }),
    },
  )
  const taken: TaskHead[] = []
  for (const { id } of chosen) {
    const row = rows.get(id)
    const head = heads.find((one) => one.id === id)
    if (row && head) taken.push(await take(database, { row, head, claim }))
  }
  return taken
}

/** Tasks with work left that no living replica has. */
export function* orphansOf(database: Database): Iterable<Row> {
  for (const row of database.rows.values())
    if (row.replica !== undefined && !isLiving(database, row.replica)) yield row
}

function isWanted(database: Database, row: Row, { wanted, mayTakeForeign }: Claim): boolean {
  if (wanted.agent !== undefined && row.agent !== wanted.agent) return false
  if (database.bugs.has('claim-any-build')) return true
  if (wanted.build === undefined || row.build === wanted.build || row.build === '') return true
  return !isServed(database, row) && mayTakeForeign(row)
}

function isServed(database: Database, { agent, build }: Row): boolean {
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
  observer?.claimed?.(row, claim.wanted.build ?? row.build, me)
  if (database.bugs.has('changes-forgotten')) forgetChanges(database, row)
  row.replica = me
  row.process = process
  row.watchers = row.watchers.filter(
    (number) => registrations.has(number) && isLiving(database, number),
  )
  if (database.bugs.has('claim-without-record')) return head
  const version = (await memory.get(row.id))?.version ?? 0
  const at = toTimestamp(epoch + database.now())
  const records: LogRecord[] = [{ seq: version + 1, kind: 'claim', by: me, at }]
  await memory.commit([{ type: 'task', head, expectedVersion: version, records }])
  observer?.stored({ head, records, version: version + 1, by: me, process, before, row })
  return head
}

function forgetChanges(database: Database, row: Row): void {
  const items = database.inbox.get(row.id) ?? []
  const numbers = items.flatMap(({ number, entry }) => (entry.kind === 'amend' ? number : []))
  removeMail(database, row, { numbers, as: 'taken' })
}
