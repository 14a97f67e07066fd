import { afterEach, expect, test } from 'vitest'
import type { Feed } from '../../src/store/feed.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/store.ts'
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
  // A whole delivery elsewhere gives this one time to go on, if it would.
  await scene.append('u', chunk('1', 'u'))
  await scene.hook({ taskId: 'u', config: { url: other.url } })
  webhooks.watch('u')
  await other.received(1)
  await scene.until(async () => (await store.pushConfigs('u')).every(({ cursor }) => cursor > 0))
  expect(told(receiver)).toEqual(['1'])
  // Where the other one dies, its deliveries are claimed here.
  taken.delete('t')
  await webhooks.start()
  await scene.seen(2)
  expect(told(receiver)).toEqual(['1', '2'])
})
