/**
 * Write a store of your own: the contract that the engine asks for, and the types that it is made of. `createServer` takes
 * whatever fulfils it. Where five methods will do, extend `TaskStore` of `corral/store` instead.
 *
 * @module corral/store/custom
 */

export { fromTaskStore } from '../custom.ts'
export type {
  AgentBuild,
  ClusterFacts,
  Feed,
  FeedListener,
  HeldTask,
  InboxEntry,
  InboxItem,
} from '../feed.ts'
export type { PruneLimits, StoreFacts, StoreKeeper } from '../keeper.ts'
export type {
  AllTasksFilter,
  ClaimRequest,
  DeadLetter,
  LogRecord,
  PushConfigRecord,
  Scope,
  Store,
  StoredTask,
  StoreHealth,
  TaskHead,
  TaskListFilter,
  TaskPage,
  TaskWrite,
  Webhook,
  WebhookFilter,
  Write,
  WriteResult,
} from '../store.ts'
