import { A2AError } from '../../src/protocol/errors.ts'
import { checkWrites } from '../../src/store/size-limits.ts'
import type { TaskWrite, Write, WriteResult } from '../../src/store/store.ts'
import { type Database, type Note, notify, type Row, removeMail } from './database.ts'
import { deliveryKey, wakeRunner, writeCursor } from './database-deliveries.ts'

/** A group of writes, and who makes them. */
export interface Group {
  readonly me: number
  /** The process behind that number. */
  readonly process: string
  readonly writes: readonly Write[]
  /** Whether it was sent before, and nobody knows what became of it. */
  readonly again: boolean
}

/** What became of a group, and whom it tells: with the commit, where nothing is wrong. */
export interface GroupResult {
  readonly results: readonly WriteResult[]
  readonly untold: readonly Told[]
}

interface Told {
  readonly replica: number
  readonly note: Note
}

/** Writes a group in one transaction: each write by itself, in order. */
export async function commitGroup(database: Database, group: Group): Promise<GroupResult> {
  if (!database.memory.health().writable) throw new A2AError('unavailable', 'The store is closed')
  checkWrites(group.writes)
  const results: WriteResult[] = []
  const told: Told[] = []
  for (const write of group.writes) results.push(await writeOne(database, group, write))
  for (const { id, version } of grownBy(group.writes, results)) {
    for (const replica of database.rows.get(id)?.watchers ?? [])
      if (replica !== group.me) told.push({ replica, note: { kind: 'grown', taskId: id, version } })
  }
  if (database.bugs.has('notify-after-commit')) return { results, untold: told }
  tell(database, told)
  return { results, untold: [] }
}

/** Tells replicas what a commit has done. */
export function tell(database: Database, told: readonly Told[]): void {
  for (const { replica, note } of told) notify(database, replica, note)
}

async function writeOne(database: Database, group: Group, write: Write): Promise<WriteResult> {
  const { memory } = database
  switch (write.type) {
    case 'task':
      return writeTask(database, group, write)
    case 'cursor':
      return writeCursor(database, group.me, write)
    case 'deleteTask':
      for (const replica of database.rows.get(write.id)?.watchers ?? [])
        notify(database, replica, { kind: 'grown', taskId: write.id, version: 0 })
      database.rows.delete(write.id)
      database.inbox.delete(write.id)
      break
    case 'pushConfig':
      database.observer?.hooked?.(write)
      wakeRunner(database, group.me, write.record.taskId)
      break
    case 'deletePushConfig':
      database.observer?.hooked?.(write)
      database.deliverers.delete(deliveryKey(write.taskId, write.id))
      wakeRunner(database, group.me, write.taskId)
      break
  }
  return only(await memory.commit([write]))
}

async function writeTask(
  database: Database,
  { me, process, again }: Group,
  write: TaskWrite,
): Promise<WriteResult> {
  const { memory, rows } = database
  const { head, expectedVersion, records } = write
  const version = expectedVersion + records.length
  const known = rows.get(head.id)
  if (again && (await isStored(database, write))) return { version }
  const result = only(await memory.commit([write]))
  if (!('version' in result)) return result
  const row = known ?? createRow(write)
  const before = known && { replica: known.replica, process: known.process }
  rows.set(head.id, row)
  row.build = head.build
  row.busy = head.busy
  removeMail(database, row, { numbers: write.takes ?? [], as: 'taken' })
  row.replica = head.busy || row.mail > 0 ? me : undefined
  row.process = process
  database.observer?.stored({ head, records, version, by: me, process, before, row })
  return result
}

/** Whether these very records stand in the log: then it does not matter who has gone on from there. */
async function isStored({ memory }: Database, write: TaskWrite): Promise<boolean> {
  const { head, expectedVersion, records } = write
  const stored = await memory.records(head.id, expectedVersion, records.length)
  return records.length > 0 && records.every((record, index) => record === stored[index])
}

function createRow({ head }: TaskWrite): Row {
  return {
    id: head.id,
    agent: head.scope.agent,
    build: head.build,
    busy: head.busy,
    mail: 0,
    replica: undefined,
    process: '',
    watchers: [],
  }
}

function* grownBy(
  writes: readonly Write[],
  results: readonly WriteResult[],
): Iterable<{ readonly id: string; readonly version: number }> {
  for (const [index, write] of writes.entries()) {
    const result = results[index]
    if (write.type === 'task' && result && 'version' in result)
      yield { id: write.head.id, version: result.version }
  }
}

function only(results: readonly WriteResult[]): WriteResult {
  const [result] = results
  if (!result) throw new Error('A write has no result')
  return result
}
