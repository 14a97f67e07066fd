import { checkArgument, checkOptions } from '../shared/options.ts'
import { currentTask } from './documents.ts'
import type { StoredContext, StoreKeeper } from './keeper.ts'
import { isPostgresUrl } from './postgres/connection.ts'
import { createDatabaseKeeper } from './postgres/keeper.ts'
import { weigh } from './size-limits.ts'
import { createFileKeeper } from './sqlite/keeper.ts'
import type {
  DeadLetter,
  LogRecord,
  Store,
  StoredTask,
  TaskCursor,
  TaskWrite,
  Write,
} from './store.ts'

/** Which store of a place is meant. */
export interface KeeperOptions {
  /** The schema of a PostgreSQL database; `corral` if absent. */
  readonly schema?: string
}

/**
 * Makes the keeper of the store at a place: a SQLite file or a `postgres://` URL. Nothing is opened before it is
 * needed.
 */
export function createStoreKeeper(place: string, options: KeeperOptions = {}): StoreKeeper {
  checkArgument('createStoreKeeper', 'the place', place, 'string')
  checkOptions('createStoreKeeper', options, { schema: 'string' })
  const { schema } = options
  return isPostgresUrl(place) ? createDatabaseKeeper(place, schema) : createFileKeeper(place)
}

/** How far a copy has come. */
export interface CopyProgress {
  /** Tasks looked at. */
  readonly tasks: number
  /** Of how many. */
  readonly total: number
  /** Of them, those that were copied now, or whose log was completed. */
  readonly copied: number
}

/** How a copy is made. */
export interface CopyOptions {
  /** Called now and then with how far the copy has come. */
  progress?(progress: CopyProgress): void
}

/**
 * Copies everything from one store into another: tasks with their logs and keys, webhooks and how far they have come, values
 * of contexts, deliveries given up. What is there already stays, so that a copy which was interrupted goes on by being
 * made again. No process may write either store meanwhile.
 *
 * @throws Error where a task of the target is not the same as the one to be copied.
 */
export async function copyStore(
  from: StoreKeeper,
  to: StoreKeeper,
  options: CopyOptions = {},
): Promise<CopyProgress> {
  checkArgument('copyStore', 'the store to copy', from, 'object')
  checkArgument('copyStore', 'the store to fill', to, 'object')
  checkOptions('copyStore', options, { progress: 'function' })
  const source = await from.open()
  try {
    const target = await to.open()
    try {
      const done = await copyTasks(source, target, options)
      for (const context of await from.contexts()) await copyValues(source, target, context)
      // Oldest first, as they came; those of tasks that are gone are left out.
      const known = new Set((await target.deadLetters()).map(({ id }) => id))
      for (const letter of [...(await source.deadLetters())].reverse())
        if (!known.has(letter.id)) await copyLetter(target, letter)
      return done
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

/** Tasks looked at together. */
const perPage = 100

/** Page by page. A target that holds a part of the tasks holds, after the same place, no fewer of a page than there are. */
async function copyTasks(
  source: Store,
  target: Store,
  { progress }: CopyOptions,
): Promise<CopyProgress> {
  const copying = new TaskCopying(source, target)
  let place: { readonly cursor?: TaskCursor } = {}
  let tasks = 0
  let copied = 0
  for (;;) {
    const wanted = { limit: perPage, light: true, ...place }
    const [page, there] = await Promise.all([
      source.listAll(wanted),
      target.listAll({ ...wanted, counted: false }),
    ])
    const versions = new Map(there.tasks.map(({ head, version }) => [head.id, version]))
    for (const { head, version } of page.tasks) {
      const known = versions.get(head.id) ?? 0
      if (known < version && (await copying.copy(head.id, known))) copied++
    }
    await copying.flush()
    tasks += page.tasks.length
    const done = { tasks, total: page.total, copied }
    progress?.(done)
    if (!page.next) return done
    place = { cursor: page.next }
  }
}

/** What is written in one commit, about. */
const perCommitBytes = 2 * 1024 * 1024

/** Records read at once; a log that is longer is copied in parts. */
const perRead = 500

/** Copies tasks with their webhooks; several small ones go into one commit. */
class TaskCopying {
  readonly #source: Store
  readonly #target: Store
  #waiting: Write[] = []
  #bytes = 0

  constructor(source: Store, target: Store) {
    this.#source = source
    this.#target = target
  }

  /**
   * Copies a task; a long log in parts, of which the last has all the rest.
   * @param known The version that the target has; 0 where it has none.
   */
  async copy(id: string, known: number): Promise<boolean> {
    const source = this.#source
    const stored = await source.get(id)
    if (!stored) return false
    const task = await currentTask(source, stored)
    let expectedVersion = known
    for (;;) {
      const records = await source.records(id, expectedVersion, perRead)
      const last = expectedVersion + records.length
      const isLast = last >= stored.version
      // A task of which only a part is there must not be resumed.
      const head = isLast ? stored.head : { ...stored.head, busy: false }
      const write: TaskWrite = { type: 'task', head, expectedVersion, records }
      const key = expectedVersion === 0 ? await keyOf(source, stored, records) : {}
      const snapshot = expectedVersion === 0 || isLast ? { task } : {}
      const configs = isLast ? await source.pushConfigs(id) : []
      const webhooks = configs.map((record): Write => ({ type: 'pushConfig', record }))
      const writes = [{ ...write, ...snapshot, ...key }, ...webhooks]
      this.#waiting.push(...writes)
      this.#bytes += weigh(writes)
      // Two parts of one task in one commit would be two statements all the same.
      if (!isLast || this.#bytes >= perCommitBytes) await this.flush()
      if (isLast) return true
      expectedVersion = last
    }
  }

  async flush(): Promise<void> {
    const writes = this.#waiting
    this.#waiting = []
    this.#bytes = 0
    if (writes.length > 0) await store(this.#target, writes)
  }
}

/** A write that is refused has met another task of the same id, and one that came before stands as it should. */
async function store(target: Store, writes: readonly Write[]): Promise<void> {
  const results = await target.commit(writes)
  for (const [i, result] of results.entries()) {
    const write = writes[i]
    if ('version' in result || write === undefined) continue
    const id = write.type === 'task' ? write.head.id : 'taskId' in write ? write.taskId : ''
    const last = write.type === 'task' ? write.expectedVersion + write.records.length : 0
    if ('conflict' in result && last > 0 && result.conflict === last) continue
    const reason = Object.entries(result).map(([name, value]) => `${name} ${value}`)
    throw new Error(`The target has another task ${id}, or does not take it: ${reason.join()}`)
  }
}

/** The key that made a task stands in the request of its first message. */
async function keyOf(
  source: Store,
  { head }: StoredTask,
  records: readonly LogRecord[],
): Promise<{ readonly idempotencyKey?: string }> {
  const first = records.find((record) => record.kind === 'message')
  const key = first?.kind === 'message' ? first.request.idempotencyKey : undefined
  if (key === undefined || (await source.findByKey(head.scope, key)) !== head.id) return {}
  return { idempotencyKey: key }
}

async function copyValues(
  source: Store,
  target: Store,
  { scope, contextId }: StoredContext,
): Promise<void> {
  const values = await source.contextValues(scope, contextId)
  const writes = [...values].map(
    ([key, value]): Write => ({ type: 'contextValue', scope, contextId, key, value }),
  )
  if (writes.length > 0) await store(target, writes)
}

/** A letter is written by its webhook; where that was removed since, one is there for as long as it takes. */
async function copyLetter(target: Store, deadLetter: DeadLetter): Promise<void> {
  const { taskId, configId, seq } = deadLetter
  const stored = await target.get(taskId)
  if (!stored) return
  const config = (await target.pushConfigs(taskId)).find(({ id }) => id === configId)
  const cursor = config?.cursor ?? seq
  const letter: Write = { type: 'cursor', taskId, id: configId, cursor, deadLetter }
  if (config) return store(target, [letter])
  const { agent } = stored.head.scope
  const standIn = { id: configId, taskId, url: 'https://removed.invalid' }
  const webhook = {
    taskId,
    id: configId,
    config: standIn,
    dialect: '1.0',
    cursor: seq,
    agent,
  } as const
  const removal: Write = { type: 'deletePushConfig', taskId, id: configId }
  return store(target, [{ type: 'pushConfig', record: webhook }, letter, removal])
}
