import { Registry } from '../shared/registry.ts'
import type { LogRecord, Store } from '../store/store.ts'
import { createWatcher, type Watcher, type WatcherOptions } from './watcher.ts'

/** Who is watching which task. Nothing is kept for a task that nobody watches. */
export interface Hub {
  /** Watches a task's log from after a sequence number. The watcher is live when this returns: nothing is missed. */
  watch(taskId: string, options: WatcherOptions): Watcher
  /** Hands freshly stored records to the task's watchers. */
  publish(taskId: string, records: readonly LogRecord[]): void
  /** Has the task's watchers hear of what other replicas store, for as long as there are any. */
  follow(taskId: string): void
  /** Says that a task's log has grown to this version elsewhere; 0 where it is gone. */
  grown(taskId: string, version: number): void
  /** Ends the task's watchers with a fault, after what they still have to show. */
  fail(taskId: string, fault: Error): void
  /** How many watchers there are, for metrics. */
  count(): number
  /** Ends all watchers. */
  close(): void
}

/** Makes a hub over the log of a store. */
export function createHub(store: Pick<Store, 'records' | 'feed'>): Hub {
  const watchers = new Registry<Set<Watcher>>()
  const followed = new Set<string>()
  const { feed } = store
  let closed = false

  function forget(taskId: string, watcher: Watcher): void {
    const set = watchers.get(taskId)
    set?.delete(watcher)
    if (set?.size !== 0) return
    watchers.delete(taskId)
    if (followed.delete(taskId)) feed?.unwatch(taskId)
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
    follow(taskId) {
      const set = watchers.get(taskId)
      if (!feed || closed || !set) return
      // How far the task is was told once, maybe before these came.
      if (followed.has(taskId)) for (const watcher of set) watcher.look()
      else {
        followed.add(taskId)
        feed.watch(taskId)
      }
    },
    grown(taskId, version) {
      for (const watcher of watchers.get(taskId) ?? [])
        if (version === 0) watcher.end()
        else watcher.grown(version)
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
      followed.clear()
    },
  }
}
