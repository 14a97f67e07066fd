/** The three stores in code, and what can be done with one. Run: node kinds.mjs orders.db */
// #region kinds
import { createMemoryStore, openPostgresStore, openSqliteStore } from 'corral/store'

const day = 86_400_000

export const kinds = {
  memory: () => createMemoryStore({ maxTasks: 10_000 }),
  sqlite: (path) =>
    openSqliteStore(path, {
      synchronous: 'FULL', // or 'NORMAL'
      maxTasks: 100_000, // finished tasks to keep
      maxAgeMs: 90 * day,
      maxBytes: 2_000_000_000,
      maxWaitingMs: 30 * day,
    }),
  postgres: (url) => openPostgresStore({ url, maxTasks: 100_000, maxAgeMs: 90 * day }),
}

// #endregion kinds

// #region keep
import { backupSqliteStore, copyStore, createStoreKeeper } from 'corral/store'

export async function lookAfter(path, backup) {
  const keeper = createStoreKeeper(path)
  const { counts, states } = await keeper.facts()
  const dropped = await keeper.prune({ maxAgeMs: 90 * day })
  await backupSqliteStore(path, backup)
  return { counts, states, dropped }
}

export function move(from, to) {
  return copyStore(createStoreKeeper(from), createStoreKeeper(to))
}

// #endregion keep

// #region own
import { fromTaskStore, TaskStore } from 'corral/store'

class MapStore extends TaskStore {
  #tasks = new Map()

  async create(task) {
    this.#tasks.set(task.id, structuredClone(task))
    return task
  }

  async get(id) {
    return structuredClone(this.#tasks.get(id))
  }

  async update(task) {
    return this.create(task)
  }

  async delete(id) {
    return this.#tasks.delete(id)
  }

  async list({ contextId } = {}) {
    const all = [...this.#tasks.values()]
    return all.filter((task) => contextId === undefined || task.contextId === contextId)
  }
}

export const ownStore = () => fromTaskStore(new MapStore())
// #endregion own

const [, , path] = process.argv
if (path?.endsWith('.db')) {
  const kept = await kinds.sqlite('copy.db')
  await kept.close()
  const { counts, dropped } = await lookAfter(path, 'backup.db')
  const { copied } = await move(path, 'copy.db')
  console.log(`${counts.tasks} tasks, ${dropped} dropped, ${copied} copied`)
}
