import { Registry } from '../shared/registry.ts'
import type { LogRecord, Store } from '../store/store.ts'
import { createWatcher, type Watcher, type WatcherOptions } from './watcher.ts'

/** Who is watching which task. Nothing is kept for a task that nobody watches. */
export interface Hub {
  /** Watches a task's log from after a sequence number. The watcher is live when this returns: nothing is missed. */
  watch(taskId: string, options: WatcherOptions): Watcher
  /** Hands freshly stored records to the task's watchers. */
  publish(taskId: string, records: readonly LogRecord[]): void
  /** Ends the task's watchers with a fault, after what they still have to show. */
  fail(taskId: string, fault: Error): void
  /** How many watchers there are, for metrics. */
  count(): number
  /** Ends all watchers. */
  close(): void
}

/** Makes a hub over the log of a store. */
export function createHub(store: Pick<Store, 'records'>): Hub {
  const watchers = new Registry<Set<Watcher>>()
  let closed = false

  function forget(taskId: string, watcher: Watcher): void {
    const set = watchers.get(taskId)
    set?.delete(watcher)
    if (set?.size === 0) watchers.delete(taskId)
  }

  return {
    watch(taskId, options) {
      const watcher = createWatcher(options, {
        read: (after, limit) => store.records(taskId, after, limit),
        leave: () => forget(taskId, watcher),
      })
      if (closed) watcher.end()
      else {
        const set = watchers.get(taskId)
        if (set) set.add(watcher)
        else watchers.set(taskId, new Set([watcher]))
      }
      return watcher
    },
    publish(taskId, records) {
      const set = watchers.get(taskId)
      if (set) for (const watcher of set) watcher.push(records)
    },
    fail(taskId, fault) {
      for (const watcher of watchers.get(taskId) ?? []) watcher.end(fault)
    },
    count() {
      let count = 0
      for (const set of watchers.values()) count += set.size
      return count
    },
    close() {
      closed = true
      for (const set of watchers.values()) for (const watcher of set) watcher.end()
      watchers.clear()
    },
  }
}
