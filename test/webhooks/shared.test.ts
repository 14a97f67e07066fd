import { afterEach, expect, test } from 'vitest'
import { createDeferred } from '../../src/shared/async.ts'
import type { Feed } from '../../src/store/feed.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/store.ts'
import type { Webhooks } from '../../src/webhooks/webhooks.ts'
import type { Receiver } from './receiver.ts'
import { chunk, createScene, type Scene, told } from './scene.ts'

let scene: Scene
afterEach(() => scene.close())

/** A store whose other replicas do what a test says; those have claimed the webhooks of the tasks that it names. */
function shared(taken: ReadonlySet<string>): Store {
  const store = createMemoryStore()
  const feed: Partial<Feed> = { replicas: 2, wakeDeliveries() {} }
  return {
    ...store,
    feed: feed as Feed, // nothing else of it is asked for here
    claimDeliveries: async (taskId) =>
      (await store.claimDeliveries(taskId)).filter((config) => !taken.has(config.taskId)),
  }
}

test('a webhook that has seen everything is left to whoever claims what comes next', async () => {
  const taken = new Set<string>()
  const store = shared(taken)
  let isFirst = true
  scene = createScene({
    ...store,
    async commit(writes) {
      const results = await store.commit(writes)
      if (writes[0]?.type === 'cursor' && isFirst) {
        isFirst = false
        // Another replica stores the next event, and has claimed its delivery before this one looks again.
        taken.add('t')
        await scene.append('t', chunk('2'))
      }
      return results
    },
  })
  const [receiver, other] = [await scene.receiver(), await scene.receiver()]
  await scene.append('t', chunk('1'))
  await scene.hook({ config: { url: receiver.url } })
  const webhooks = await scene.open()
  await scene.seen(1)
  await deliverTo(other, webhooks, 'u')
  expect(told(receiver)).toEqual(['1'])
  // Where the other one dies, its deliveries are claimed here.
  taken.delete('t')
  await webhooks.start()
  await scene.seen(2)
  expect(told(receiver)).toEqual(['1', '2'])
})

test('a claim that is answered when its webhook has seen everything counts no more', async () => {
  const taken = new Set<string>()
  const store = shared(taken)
  const [claimed, answered] = [createDeferred<void>(), createDeferred<void>()]
  let [claims, isFirst] = [0, true]
  scene = createScene({
    ...store,
    async claimDeliveries(taskId) {
      const mine = await store.claimDeliveries(taskId)
      if (taskId === 't' && claims++ === 0) {
        claimed.resolve()
        await answered.promise
      }
      return mine
    },
    async commit(writes) {
      const isMove = writes[0]?.type === 'cursor' && isFirst
      if (!isMove) return store.commit(writes)
      isFirst = false
      // It is asked for once more before it has noted that it is through.
      webhooks.heard('t')
      await claimed.promise
      const results = await store.commit(writes)
      taken.add('t')
      await scene.append('t', chunk('2'))
      return results
    },
  })
  const [receiver, other] = [await scene.receiver(), await scene.receiver()]
  await scene.append('t', chunk('1'))
  await scene.hook({ config: { url: receiver.url } })
  const webhooks = await scene.open()
  await scene.seen(1)
  await deliverTo(other, webhooks, 'u')
  answered.resolve()
  await deliverTo(other, webhooks, 'v')
  expect(told(receiver)).toEqual(['1'])
})

/** A whole delivery elsewhere gives others time to go on, if they would. */
async function deliverTo(receiver: Receiver, webhooks: Webhooks, taskId: string): Promise<void> {
  await scene.append(taskId, chunk('1', taskId))
  await scene.hook({ taskId, config: { url: receiver.url } })
  webhooks.watch(taskId)
  const { store } = scene
  await scene.until(async () => (await store.pushConfigs(taskId)).every(({ cursor }) => cursor > 0))
}
