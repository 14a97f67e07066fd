import type { Store } from '../../src/store/store.ts'
import type { FeedWorld, SharedStore } from '../contracts/feed/world.ts'
import { describeFeed } from '../contracts/feed.ts'
import { describeStore, type OpenStore } from '../contracts/store.ts'
import { createDatabase } from './database.ts'
import { createNetwork, type Link } from './network.ts'
import { openSharedStore } from './shared-store.ts'
import { createWorld, type VirtualProcess, type World } from './world.ts'

const openSimulated: OpenStore = ({ clock, ...options } = {}) => {
  const world = createWorld(1)
  const memory = { ...options, ...(clock && { clock }) }
  const database = createDatabase(world, { memory })
  const process = world.start('a')
  const link = createNetwork(world, database).link(process)
  const store = openSharedStore({ world, process, link, database })
  const stop = letGoOn(world)
  return closing(store, stop)
}

describeStore('simulated', openSimulated, { trimming: 'in commits' })

describeFeed('simulated', async () => createFeedWorld())

function createFeedWorld(): FeedWorld {
  const world = createWorld(7)
  const database = createDatabase(world)
  const network = createNetwork(world, database)
  const machines = new Map<Store, { readonly process: VirtualProcess; readonly link: Link }>()
  const stop = letGoOn(world)

  function machineOf(store: Store): { readonly process: VirtualProcess; readonly link: Link } {
    const machine = machines.get(store)
    if (!machine) throw new Error('The store is of another world')
    return machine
  }

  return {
    async open({ name = 'replica', clockAheadMs = 0, foreignBuildAfterMs } = {}) {
      const process = world.start(name)
      process.setTime(clockAheadMs)
      const link = network.link(process)
      const patience = foreignBuildAfterMs !== undefined && { foreignBuildAfterMs }
      const store: SharedStore = openSharedStore({ world, process, link, database, ...patience })
      machines.set(store, { process, link })
      return store
    },
    async kill(store) {
      machineOf(store).process.crash()
    },
    async cut(store) {
      machineOf(store).link.block()
    },
    async heal(store) {
      database.observer = undefined
      machineOf(store).link.unblock()
    },
    async drop(store) {
      for (const connection of machineOf(store).link.open()) connection.cut()
    },
    async loseAnswer(store) {
      const { link } = machineOf(store)
      const mailed = (): void => {
        for (const connection of link.open()) connection.cut()
        link.block()
      }
      database.observer = { mailed, stored() {} }
    },
    async until(condition) {
      const latest = world.now() + 120_000
      while (!(await condition())) {
        if (world.now() > latest) throw new Error('It never came to hold')
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
    async close() {
      stop()
    },
  }
}

/** Lets the world go on, until the returned function is called. */
function letGoOn(world: World): () => void {
  let isOpen = true
  const goOn = async (): Promise<void> => {
    while (isOpen) if (!(await world.step())) await new Promise((resolve) => setImmediate(resolve))
  }
  void goOn()
  return () => {
    isOpen = false
  }
}

function closing(store: Store, then: () => void): Store {
  return {
    ...store,
    async close() {
      await store.close()
      then()
    },
  }
}
