/**
 * Keep tasks: in memory, in a SQLite file, in PostgreSQL or in a store of your own, and look after what is kept.
 *
 * @module corral/store
 */

export { copyStore, createStoreKeeper } from './copy.ts'
export { fromTaskStore } from './custom.ts'
export type { StoreKeeper } from './keeper.ts'
export { createMemoryStore } from './memory/store.ts'
export {
  openPostgresStore,
  type PostgresStore,
  type PostgresStoreOptions,
} from './postgres/store.ts'
export { backupSqliteStore, readDeadLetters } from './sqlite/keeper.ts'
export { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from './sqlite/store.ts'
export type { DeadLetter, Store } from './store.ts'
export {
  type FullTaskStore,
  InMemoryTaskStore,
  type TaskFilter,
  TaskStore,
  toTaskStore,
} from './task-store.ts'
