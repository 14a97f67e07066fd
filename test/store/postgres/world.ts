import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, systemClock } from '../../../src/shared/clock.ts'
import { openPostgresStore, type PostgresStoreOptions } from '../../../src/store/postgres/store.ts'
import type { FeedWorld, MemberOptions, SharedStore } from '../../contracts/feed/world.ts'
import {
  type CuttingProxy,
  type MessageTap,
  openCuttingProxy,
} from '../../support/cutting-proxy.ts'
import type { TestDatabase } from '../../support/postgres.ts'

/** Processes on one PostgreSQL, each behind a proxy of its own. */
export interface PostgresWorld extends FeedWorld {
  /** The schema that they share. */
  readonly schema: string
  /** @param tap Sees each message between the process and the database. */
  open(
    options?: MemberOptions & Partial<PostgresStoreOptions>,
    tap?: MessageTap,
  ): Promise<SharedStore>
  /** The proxy between a process and the database. */
  proxyOf(store: SharedStore): CuttingProxy
}

/** How long leases are here: no longer than a test likes to wait, no shorter than a busy machine pauses. */
const leaseMs = 1_500

/**
 * When feeds read what they may have missed: often, so that no test waits for it, never, so that none relies on it, or as many
 * milliseconds apart.
 */
type Polls = 'often' | 'never' | number

/** Opens a world in a schema of its own. */
export function openPostgresWorld(
  database: Pick<TestDatabase, 'url' | 'newSchema'>,
  polls: Polls,
): PostgresWorld {
  const schema = database.newSchema()
  const proxies = new Map<SharedStore, CuttingProxy>()
  const losses = new Map<SharedStore, Promise<void>>()

  function proxyOf(store: SharedStore): CuttingProxy {
    const proxy = proxies.get(store)
    if (!proxy) throw new Error('The store is not of this world')
    return proxy
  }

  return {
    schema,
    proxyOf,
    async open(options = {}, tap) {
      const proxy = await openCuttingProxy(database.url, tap)
      const { serving, clockAheadMs = 0, ...rest } = options
      const store = await openPostgresStore({
        url: proxy.url,
        schema,
        leaseMs,
        beatMs: 200,
        lookMs: 50,
        clock: createPollingClock(clockAheadMs, polls),
        logger: false,
        ...rest,
      })
      proxies.set(store, proxy)
      return store
    },
    kill: async (store) => proxyOf(store).kill(),
    cut: async (store) => proxyOf(store).cut(),
    async heal(store) {
      // What was stored may be seen before its answer is lost; a loss after the healing would stay.
      await losses.get(store)
      proxyOf(store).heal()
    },
    drop: async (store) => proxyOf(store).reset(),
    async loseAnswer(store) {
      const lost = proxyOf(store).loseAnswer(
        (statement) => statement.includes('INSERT INTO') && statement.includes('.inbox'),
      )
      losses.set(store, lost)
    },
    async until(condition) {
      for (let i = 0; i < 2_000; i++) {
        if (await condition()) return
        await sleep(10)
      }
      throw new Error('It never came to hold')
    },
    async close() {
      for (const [store, proxy] of proxies) {
        proxy.heal()
        await store.close()
        await proxy.close()
      }
    },
  }
}

/** How often a feed reads what it may have missed. */
const pollMs = 5_000

/** A clock for a process whose checks for missed notices come as `polls` says. */
export function createPollingClock(aheadMs: number, polls: Polls): Clock {
  return {
    ...systemClock,
    now: () => systemClock.now() + aheadMs,
    after(ms, callback) {
      if (ms !== pollMs) return systemClock.after(ms, callback)
      if (polls === 'never') return () => {}
      return systemClock.after(polls === 'often' ? 100 : polls, callback)
    },
  }
}
