import { openPostgresStore, type PostgresStore } from '../../../src/store/postgres/store.ts'
import { type CuttingProxy, openCuttingProxy } from '../../support/cutting-proxy.ts'
import { newSchemaName, postgresUrl, queryPostgres } from '../../support/postgres.ts'
import type { Disk } from './explorer.ts'

/** A database in which one process after the other keeps its tasks; the connections of one that dies end with it. */
export async function openPostgresDisk(): Promise<Disk> {
  const options = { schema: newSchemaName(), logger: false, lookMs: 20 } as const
  const url = await postgresUrl()
  const shown = await openPostgresStore({ ...options, url })
  const lives: { readonly store: PostgresStore; readonly proxy: CuttingProxy }[] = []
  return {
    store: {
      ...shown,
      async close() {
        for (const { store, proxy } of lives) {
          proxy.kill()
          await store.close()
          await proxy.close()
        }
        await shown.close()
        await queryPostgres(`DROP SCHEMA ${options.schema} CASCADE`)
      },
    },
    async next() {
      const proxy = await openCuttingProxy(url)
      const store = await openPostgresStore({ ...options, url: proxy.url })
      lives.push({ store, proxy })
      return { store, die: () => proxy.kill() }
    },
  }
}
