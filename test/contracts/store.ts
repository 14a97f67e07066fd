import { afterEach, beforeEach, describe } from 'vitest'
import type { Clock } from '../../src/shared/clock.ts'
import type { Store } from '../../src/store/store.ts'
import { describeContexts } from './store/contexts.ts'
import { describeFaults } from './store/faults.ts'
import { describeLists } from './store/lists.ts'
import { describeRetention, type Trimming } from './store/retention.ts'
import { describeTotals, describeTrimmedTotals } from './store/totals.ts'
import { describeWebhooks } from './store/webhooks.ts'
import { describeWrites } from './store/writes.ts'

/** What the suite asks of a store that it opens. */
export interface StoreTestOptions {
  readonly maxTasks?: number
  readonly maxAgeMs?: number
  readonly maxWaitingMs?: number
  readonly maxTaskBytes?: number
  readonly clock?: Clock
}

/** Opens a fresh, empty store. */
export type OpenStore = (options?: StoreTestOptions) => Store | Promise<Store>

/** The store of the running test, and how to open another one. */
export interface StoreUnderTest {
  readonly store: Store
  readonly open: OpenStore
}

/** What every store owes its callers. A new store passes this; these rules are tested nowhere else. */
export function describeStore(
  name: string,
  open: OpenStore,
  { trimming = 'every minute' }: { readonly trimming?: Trimming | 'none' } = {},
): void {
  describe(`${name} store`, () => {
    let opened: Store[] = []
    const keep: OpenStore = async (options) => {
      const store = await open(options)
      opened.push(store)
      return store
    }
    let store: Store
    const under: StoreUnderTest = {
      get store() {
        return store
      },
      open: keep,
    }
    beforeEach(async () => {
      store = await keep()
    })
    afterEach(async () => {
      await Promise.all(opened.map((one) => one.close()))
      opened = []
    })
    describeWrites(under)
    describeLists(under)
    describeWebhooks(under)
    describeContexts(under)
    describeFaults(under)
    if (trimming !== 'none') {
      describeRetention(under, trimming)
      // A store of five methods reads all of its tasks for each list.
      describeTotals(under)
      describeTrimmedTotals(under)
    }
  })
}
