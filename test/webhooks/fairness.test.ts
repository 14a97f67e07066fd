import type { LookupFunction } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createGuard } from '../../src/network/guard.ts'
import type { Store } from '../../src/store/store.ts'
import type { Receiver } from './receiver.ts'
import { chunk, createScene, type Scene } from './scene.ts'

let scene: Scene
let receiver: Receiver

beforeEach(async () => {
  scene = createScene()
  receiver = await scene.receiver()
})
afterEach(() => scene.close())

/** Every name is this machine's. */
const lookup: LookupFunction = (_host, { all }, callback) => {
  if (all) callback(null, [{ address: '127.0.0.1', family: 4 }])
  else callback(null, '127.0.0.1', 4)
}

/** A guard under which all names lead to the receivers of the test. */
function openGuard() {
  return createGuard({ allow: ['127.0.0.0/8'], allowHttp: true, lookup })
}

describe('places to deliver', () => {
  test('one principal’s 240 tarpits leave half of them to others', async () => {
    const guard = openGuard()
    receiver.answer = () => {} // never
    const honest = await scene.receiver()
    for (let i = 0; i < 240; i++) {
      await scene.begin(`m${i}`, 'mallory')
      const url = `http://h${i}.tarpit.example:${receiver.port}/`
      await scene.hook({ taskId: `m${i}`, config: { url } })
    }
    const webhooks = await scene.open({ guard: () => guard })
    await receiver.received(32)
    await scene.begin('t', 'ann')
    await scene.hook({ config: { url: `http://hooks.example:${honest.port}/` } })
    webhooks.watch('t', 'h')
    await scene.seen(1) // without a step of the clock: no attempt of mallory has ended
    expect(honest.requests).toHaveLength(1)
    expect(receiver.requests).toHaveLength(32)
    await guard.close()
  })

  test('a host whose attempts time out gets fewer at once, and all again as it answers', async () => {
    receiver.answer = () => {} // never
    for (let i = 0; i < 8; i++) {
      await scene.begin(`t${i}`, 'ann')
      await scene.hook({ taskId: `t${i}`, config: { url: receiver.url } })
    }
    const webhooks = await scene.open()
    await receiver.received(8)
    const held: (() => void)[] = []
    receiver.answer = (_request, response) => void held.push(() => void response.end())
    scene.clock.advance(15_000) // all eight time out
    // Their second attempts wait.
    while (scene.clock.pending().filter((ms) => ms === 1_000).length < 8)
      await new Promise((resolve) => setImmediate(resolve))
    scene.clock.advance(1_000)
    await receiver.received(9)
    // A whole delivery elsewhere gives the others time to come, if they could.
    const other = await scene.receiver()
    await scene.begin('t', 'ann')
    await scene.hook({ config: { url: other.url } })
    webhooks.watch('t', 'h')
    await scene.seen(1)
    expect(held).toHaveLength(1)
    for (let count = 9; count <= 16; count++) {
      await receiver.received(count)
      while (held.length > 0) held.shift()?.()
    }
    await scene.until(async () => (await scene.store.claimDeliveries()).length === 0)
    expect(receiver.requests).toHaveLength(16)
  })
})

test('a new webhook of a task wakes itself and none of the others', async () => {
  const reads = { pushConfigs: 0, records: 0 }
  const { store } = scene
  const counted: Store = {
    ...store,
    pushConfigs(taskId) {
      reads.pushConfigs++
      return store.pushConfigs(taskId)
    },
    records(...args) {
      reads.records++
      return store.records(...args)
    },
  }
  await scene.append('t', chunk('1'))
  const webhooks = await scene.open({ store: counted })
  for (let i = 0; i < 10; i++) {
    await scene.hook({ id: `h${i}`, config: { url: receiver.url } })
    webhooks.watch('t', `h${i}`)
    await scene.seen(1, `h${i}`)
  }
  await webhooks.close()
  expect(receiver.requests).toHaveLength(10)
  // Each looks for its event, and once more when it has delivered it.
  expect(reads.records).toBeLessThanOrEqual(20)
  expect(reads.pushConfigs).toBeLessThanOrEqual(40)
})
