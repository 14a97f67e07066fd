/**
 * Keep tasks: in memory, in a SQLite file, in PostgreSQL or in a store of your own, and look after what is kept.
 *
 * @module corral/store
 */

export type { FailureNote } from '../protocol/failure.ts'
export {
  type CopyOptions,
  type CopyProgress,
  copyStore,
  createStoreKeeper,
  type KeeperOptions,
} from './copy.ts'
export { type CustomStoreOptions, fromTaskStore } from './custom.ts'
export type {
  AgentBuild,
  ClusterFacts,
  Feed,
  FeedListener,
  HeldTask,
  InboxEntry,
  InboxItem,
  ReplicaFacts,
  TurnRequest,
} from './feed.ts'
export type {
  PruneLimits,
  StoreCounts,
  StoredContext,
  StoreFacts,
  StoreKeeper,
} from './keeper.ts'
export { createMemoryStore, type MemoryStoreOptions } from './memory/store.ts'
export { isPostgresUrl, toShownStore } from './postgres/connection.ts'
export {
  openPostgresStore,
  type PostgresStore,
  type PostgresStoreOptions,
} from './postgres/store.ts'
export type { RetentionOptions } from './postgres/upkeep.ts'
export type { DriverName } from './sqlite/driver.ts'
export { backupSqliteStore, readDeadLetters } from './sqlite/keeper.ts'
export { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from './sqlite/store.ts'
export type {
  AllTasksFilter,
  ClaimRequest,
  DeadLetter,
  Deaths,
  ListConditions,
  LogRecord,
  PushConfigRecord,
  RecordDraft,
  Scope,
  Store,
  StoredTask,
  StoreHealth,
  TaskCursor,
  TaskHead,
  TaskListFilter,
  TaskPage,
  TaskParts,
  TaskWrite,
  Webhook,
  WebhookFilter,
  Write,
  WriteResult,
} from './store.ts'
export {
  type FullTaskStore,
  InMemoryTaskStore,
  type TaskFilter,
  TaskStore,
  toTaskStore,
} from './task-store.ts'
