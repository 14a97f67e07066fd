import { A2AError } from '../../protocol/errors.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import { type Logger, toLogger } from '../../shared/log.ts'
import { checkArgument, checkOptions, type OptionTable } from '../../shared/options.ts'
import { checkWrites, defaultMaxTaskBytes } from '../size-limits.ts'
import type { Store } from '../store.ts'
import { keepsAll, Upkeep } from '../upkeep.ts'
import {
  type DriverName,
  type FileRequest,
  isDamage,
  isFinding,
  reasonOf,
  toFault,
  toOpenError,
  toStoreError,
} from './driver.ts'
import { openReader } from './reader.ts'
import {
  CommitGroup,
  type Request,
  type StartedThread,
  startThread,
  type Thread,
  type WriterState,
} from './thread.ts'
import { limitsAt, toPages } from './trim.ts'

/** How a SQLite store keeps its promises, and how much it keeps. */
export interface SqliteStoreOptions {
  /**
   * `FULL`, the default: a commit is answered once it is on the disk, so not even a power cut loses it. `NORMAL`: once
   * the operating system has it; a crash of the process loses nothing, a power cut may lose the last moments.
   */
  readonly synchronous?: 'FULL' | 'NORMAL'
  /** Finished tasks to keep, the newest; all by default. */
  readonly maxTasks?: number
  /** How long a finished task is kept, in milliseconds by its status timestamp; for ever by default. */
  readonly maxAgeMs?: number
  /**
   * How long a task may wait for input, in milliseconds, before it is dropped like a finished one; for ever by
   * default.
   */
  readonly maxWaitingMs?: number
  /**
   * A bound on the file's size, in bytes. At nine tenths of it the oldest finished tasks go; where that is not enough,
   * writes fail as on a full disk.
   */
  readonly maxBytes?: number
  /** The largest write of one task, in bytes; 32 MiB by default. A larger one is refused alone. */
  readonly maxTaskBytes?: number
  /** Which SQLite: `node:sqlite` where the runtime has it, else `libsql`, by default. */
  readonly driver?: DriverName
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Where it is logged that a large file of an older version is migrated; warnings and errors to stderr by default, `false` for nowhere. */
  readonly logger?: Logger | false
}

const sqliteOptions: OptionTable<SqliteStoreOptions> = {
  synchronous: 'string',
  maxTasks: 'number',
  maxAgeMs: 'number',
  maxWaitingMs: 'number',
  maxBytes: 'number',
  maxTaskBytes: 'number',
  driver: 'string',
  clock: 'object',
  logger: 'object|boolean',
}

/** A store in one SQLite file. */
export interface SqliteStore extends Store {
  /** Copies the file as it is at this moment, while it is in use; a copy already there is replaced. */
  backup(path: string): Promise<void>
}

/**
 * Opens a SQLite file as a store, and makes it where there is none. One process at a time has it open.
 *
 * After a failed write (disk full, file read-only) reads go on, `health()` says why, and writing resumes by itself
 * once it is possible. A damaged file is not written any more.
 *
 * @throws A2AError `unavailable` that names the file and the reason: in use, newer, read-only, no store of Corral.
 */
export async function openSqliteStore(
  path: string,
  options: SqliteStoreOptions = {},
): Promise<SqliteStore> {
  checkArgument('openSqliteStore', 'the path', path, 'string')
  checkOptions('openSqliteStore', options, sqliteOptions)
  const { driver } = options
  const { thread, checked } = await startWriter(path, options)
  try {
    const { group, upkeep } = createWriting(thread, options)
    const reader = await openReader({ path, driver }, (fault) => {
      if (isDamage(fault)) group.damaged(reasonOf(fault))
    })
    upkeep.trim()
    const checking = checked ? undefined : checkBehind({ path, driver }, group)
    let closing: Promise<void> | undefined

    async function close(): Promise<void> {
      upkeep.stop()
      await group.idle()
      await checking?.stop()
      await stop(thread)
      await reader.close()
    }

    return {
      ...reader,
      async commit(writes) {
        if (closing) throw new A2AError('unavailable', 'The store is closed')
        checkWrites(writes)
        return group.commit(writes)
      },
      health: () => (closing ? { writable: false, reason: 'The store is closed' } : group.health()),
      async backup(target) {
        const first = await startThread({ type: 'backup', path, target, driver }).first
        if ('fault' in first) throw toStoreError('be backed up', first.fault)
      },
      close: () => (closing ??= close()),
    }
  } catch (error) {
    await stop(thread)
    throw toOpenError(path, toFault(error))
  }
}

async function startWriter(
  path: string,
  options: SqliteStoreOptions,
): Promise<{ readonly thread: Thread } & WriterState> {
  const { driver, synchronous = 'FULL', maxBytes } = options
  const maxPages = maxBytes === undefined ? undefined : toPages(maxBytes)
  const openOptions = { path, driver, synchronous, maxPages }
  const logger = toLogger(options.logger)
  const clock = options.clock ?? systemClock
  let since: number | undefined
  const thread = startThread(
    { type: 'write', options: openOptions },
    {
      progress(step) {
        since ??= clock.elapsed()
        logger.info(
          { path, ...step },
          'Migrates the task store to a newer schema before it is used',
        )
      },
    },
  )
  const first = await thread.first
  if ('fault' in first) throw toOpenError(path, first.fault)
  if (since !== undefined)
    logger.info({ path, ms: Math.round(clock.elapsed() - since) }, 'The task store is migrated')
  return { thread, ...(first.ok as WriterState) } // what a writing thread answers first
}

/** The writing half: commits, and what is done beside them. */
function createWriting(thread: Thread, options: SqliteStoreOptions) {
  const { clock = systemClock, maxTaskBytes = defaultMaxTaskBytes } = options
  const ask = async (request: Request): Promise<unknown> => {
    const answer = await thread.ask(request)
    if ('fault' in answer) throw toStoreError('write', answer.fault)
    return answer.ok
  }
  const upkeep = new Upkeep({
    clock,
    trim:
      keepsAll(options) && options.maxBytes === undefined
        ? undefined
        : async () => (await ask({ type: 'trim', ...limitsAt(clock.now(), options) })) === true,
    probe: () => ask({ type: 'probe' }),
    recovered: () => group.recovered(),
  })
  const events = {
    committed: (writes: number) => upkeep.committed(writes),
    failed() {
      upkeep.failed()
      // A file at its bound may have finished tasks to drop.
      upkeep.trim()
    },
  }
  const group = new CommitGroup(thread, events, maxTaskBytes)
  return { group, upkeep }
}

/** Reads the whole file beside everything else: a large one takes a while, and the store opens without it. */
function checkBehind(file: FileRequest, group: CommitGroup): StartedThread {
  const thread = startThread({ type: 'check', ...file }, { background: true })
  void thread.first.then((answer) => {
    if ('fault' in answer && isFinding(answer.fault)) group.damaged(reasonOf(answer.fault))
  })
  return thread
}

async function stop(thread: Thread): Promise<void> {
  await thread.ask({ type: 'close' })
  await thread.ended()
}
