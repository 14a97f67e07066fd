import { checkArgument, checkOptions } from '../shared/options.ts'
import type { StoreKeeper } from './keeper.ts'
import { isPostgresUrl } from './postgres/connection.ts'
import { createDatabaseKeeper } from './postgres/keeper.ts'
import { createFileKeeper } from './sqlite/keeper.ts'

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
