import type { Json } from '../protocol/types.ts'
import { type CustomTasks, revisionKey, revisionOf } from './custom-tasks.ts'
import type { Scope, Store, Write, WriteResult } from './store.ts'

/** The values of contexts over a custom store, which knows tasks only: the tasks of a context take them along. */
interface CustomContexts {
  /** The values of a context, from the custom store where memory has none. */
  values(context: Context): Promise<ReadonlyMap<string, Json>>
  /** Keeps a value in memory; the next task of its context that is written takes it along. */
  keep(write: ValueWrite): Promise<WriteResult>
  /** Writes the values of a context with its last task. */
  settle(context: Context): Promise<void>
}

/** A value that is kept with a context. */
export type ValueWrite = Extract<Write, { type: 'contextValue' }>

interface Context {
  readonly scope: Scope
  readonly contextId: string
}

/** Makes the values of a custom store; all is to be called in turn. */
export function createCustomContexts(memory: Store, tasks: CustomTasks): CustomContexts {
  async function load({ scope, contextId }: Context): Promise<ReadonlyMap<string, Json>> {
    const known = await memory.contextValues(scope, contextId)
    if (known.size > 0) return known
    const found = await tasks.values(scope, contextId)
    await keepAll({ scope, contextId }, found)
    return found
  }

  async function keepAll(
    { scope, contextId }: Context,
    values: Iterable<readonly [string, Json]>,
  ): Promise<void> {
    const writes = [...values].map(
      ([key, value]): Write => ({ type: 'contextValue', scope, contextId, key, value }),
    )
    await memory.commit(writes)
  }

  return {
    async values(context) {
      const values = new Map(await load(context))
      values.delete(revisionKey)
      return values
    },
    async keep(write) {
      const revision = 1 + revisionOf(await load(write))
      const [result = { version: 0 }] = await memory.commit([write])
      if (!('refused' in result)) await keepAll(write, [[revisionKey, revision]])
      return result
    },
    async settle({ scope, contextId }) {
      const { tasks: page } = await memory.list({ scope, contextId, limit: 1, artifacts: false })
      const last = page[0]?.head
      // As it is there: somebody else may have changed it.
      const found = last && (await tasks.get(last.id))
      if (!found) return
      const values = await memory.contextValues(scope, contextId)
      await tasks.put(found.task, last, { isNew: false, values })
    },
  }
}
