import { mkdir, readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, resolve } from 'node:path'
import { resolveLimits } from '../server/limits.ts'
import type { Logger } from '../shared/log.ts'
import { createMemoryStore } from '../store/memory/store.ts'
import { openPostgresStore, type PostgresStoreOptions } from '../store/postgres/store.ts'
import { isPostgresUrl } from '../store/postgres/url.ts'
import { openSqliteStore, type SqliteStoreOptions } from '../store/sqlite/store.ts'
import type { Store } from '../store/store.ts'
import { serverDefaults } from './config/defaults.ts'
import type { PostgresConfig, PostgresTlsConfig } from './config/postgres.ts'
import type { ServerConfig } from './config/server.ts'
import type { RetentionConfig } from './config/server-parts.ts'
import { whenGiven } from './config/values.ts'

/** Whose store is meant: a configuration's, or another that is named instead. */
export interface StoreChoice {
  /** The configuration's file. */
  readonly path: string
  /** Where tasks are kept, whatever the file says: `memory`, a file or a `postgres://` URL. */
  readonly store?: string
}

/** What kind of store a place is. */
export function storeKind(place: string): 'memory' | 'sqlite' | 'postgres' {
  if (place === 'memory') return 'memory'
  return isPostgresUrl(place) ? 'postgres' : 'sqlite'
}

/**
 * Tells where a configuration keeps its tasks: `memory`, a file or a URL. What the configuration says of a file is
 * relative to itself.
 */
export function storePlace(config: ServerConfig, { path, store }: StoreChoice): string {
  if (store !== undefined) return store
  if (config.store === undefined) return serverDefaults.store
  return storeKind(config.store) === 'sqlite' ? resolve(dirname(path), config.store) : config.store
}

/** What a store is opened with. */
interface OpenDeps {
  readonly config: ServerConfig
  /** The configuration's file: other files are named relative to it. */
  readonly path: string
  readonly logger?: Logger | false | undefined
}

/**
 * Opens the store at a place, with the limits of the `[server.retention]` table, those of `[server.limits]` in memory, and
 * `[server.postgres]` where it is a database.
 */
export async function openStore(place: string, deps: OpenDeps): Promise<Store> {
  const { maxBytes, ...kept } = toRetention(deps.config.retention ?? {})
  switch (storeKind(place)) {
    case 'memory': {
      const { memoryStoreBytes } = resolveLimits(whenGiven('limits', deps.config.limits))
      return createMemoryStore({ ...kept, maxBytes: memoryStoreBytes })
    }
    case 'postgres':
      if (maxBytes !== undefined)
        throw new Error(
          'max_bytes in [server.retention] bounds a file, not a PostgreSQL database: take it out, or use max_age_days or max_tasks',
        )
      return openPostgresStore({ ...kept, ...(await toPostgresOptions(place, deps)) })
    case 'sqlite':
      // What prevents the directory prevents the file too, and is told with the file's name.
      await mkdir(dirname(place), { recursive: true }).catch(() => {})
      return openSqliteStore(place, { ...kept, ...whenGiven('maxBytes', maxBytes) })
  }
}

const dayMs = 86_400_000

function toRetention({
  maxAgeDays,
  maxTasks,
  maxBytes,
  waitingDays,
}: RetentionConfig): Pick<
  SqliteStoreOptions,
  'maxAgeMs' | 'maxTasks' | 'maxBytes' | 'maxWaitingMs'
> {
  return {
    ...(maxAgeDays !== undefined && { maxAgeMs: maxAgeDays * dayMs }),
    ...whenGiven('maxTasks', maxTasks),
    ...whenGiven('maxBytes', maxBytes),
    ...(waitingDays !== undefined && { maxWaitingMs: waitingDays * dayMs }),
  }
}

async function toPostgresOptions(url: string, deps: OpenDeps): Promise<PostgresStoreOptions> {
  const { readers, tls, ...config } = deps.config.postgres ?? {}
  return {
    url,
    name: `corral ${hostname().slice(0, 40)} ${process.pid}`,
    ...toTimes(config),
    ...whenGiven('schema', config.schema),
    ...whenGiven('sessionUrl', config.sessionUrl),
    ...whenGiven('leaseMs', config.leaseMs),
    ...whenGiven('beatMs', config.beatMs),
    ...whenGiven('lookMs', config.lookMs),
    ...whenGiven('chunkGapMs', config.chunkGapMs),
    ...(readers !== undefined && { pool: { readers } }),
    ...(tls !== undefined && { tls: typeof tls === 'boolean' ? tls : await readTls(tls, deps) }),
    ...whenGiven('logger', deps.logger),
  }
}

function toTimes(
  config: PostgresConfig,
): Pick<PostgresStoreOptions, 'statementTimeoutMs' | 'commitTimeoutMs' | 'foreignBuildAfterMs'> {
  const { statementTimeoutSeconds, commitTimeoutSeconds, foreignBuildAfterSeconds } = config
  const toMs = (seconds: number): number => Math.ceil(seconds * 1000)
  return {
    ...(statementTimeoutSeconds !== undefined && {
      statementTimeoutMs: toMs(statementTimeoutSeconds),
    }),
    ...(commitTimeoutSeconds !== undefined && { commitTimeoutMs: toMs(commitTimeoutSeconds) }),
    ...(foreignBuildAfterSeconds !== undefined && {
      foreignBuildAfterMs:
        foreignBuildAfterSeconds === 'fail' ? 'fail' : toMs(foreignBuildAfterSeconds),
    }),
  }
}

/** The files of `[server.postgres.tls]`. A certificate that does not hold is refused. */
async function readTls(
  { ca, cert, key }: PostgresTlsConfig,
  { path }: OpenDeps,
): Promise<NonNullable<PostgresStoreOptions['tls']>> {
  const read = async (name: string, file: string | undefined): Promise<string | undefined> => {
    if (file === undefined) return undefined
    try {
      return await readFile(resolve(dirname(path), file), 'utf8')
    } catch (cause) {
      throw new Error(`Cannot read ${file}, which ${name} in [server.postgres.tls] names`, {
        cause,
      })
    }
  }
  return {
    ...whenGiven('ca', await read('ca', ca)),
    ...whenGiven('cert', await read('cert', cert)),
    ...whenGiven('key', await read('key', key)),
  }
}
