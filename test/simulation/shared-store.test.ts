import type { Store } from '../../src/store/store.ts'
import { describeStore } from '../contracts/store.ts'
import { createDatabase } from './database.ts'
import { createNetwork } from './network.ts'
import { openSharedStore } from './shared-store.ts'
import { createWorld, type World } from './world.ts'

describeStore('simulated', ({ clock, ...options } = {}) => {
  const world = createWorld(1)
  const memory = { ...options, ...(clock && { clock }) }
  const database = createDatabase(() => world.now(), { memory })
  const process = world.start('a')
  const store = openSharedStore({
    world,
    process,
    link: createNetwork(world).link(process),
    database,
  })
  return withPump(world, store)
})

/** Lets the world go on for as long as the store is open. */
function withPump(world: World, store: Store): Store {
  let open = true
  const pump = async (): Promise<void> => {
    while (open) if (!(await world.step())) await new Promise((resolve) => setImmediate(resolve))
  }
  void pump()
  return {
    ...store,
    async close() {
      await store.close()
      open = false
    },
  }
}
