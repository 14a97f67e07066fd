import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { A2AError } from '../../src/protocol/errors.ts'
import type { Receiver } from './receiver.ts'
import { chunk, createScene, type Scene, status, told } from './scene.ts'

let scene: Scene
let receiver: Receiver
beforeEach(async () => {
  scene = createScene()
  receiver = await scene.receiver()
})
afterEach(() => scene.close())

const isBackoff = (ms: number): boolean => ms !== 15_000 && ms !== 5_000
const remove = (id = 'h') => scene.store.commit([{ type: 'deletePushConfig', taskId: 't', id }])

describe('a deleted webhook', () => {
  test('G007 is not called again, neither by a retry nor for later events', async () => {
    receiver.answer = (_request, response) => void response.writeHead(503).end()
    await scene.append('t', chunk('1'), chunk('2'))
    await scene.hook({ config: { url: receiver.url } })
    const webhooks = await scene.open()
    await scene.clock.timer(isBackoff)
    await remove()
    webhooks.forget('t', 'h')
    await scene.append('t', chunk('3'))
    webhooks.notify('t')
    scene.clock.advance(3_600_000)
    await webhooks.close()
    expect(told(receiver)).toEqual(['1'])
    expect(scene.clock.pending()).toEqual([])
  })

  test('G007 has its attempt under way broken off', async () => {
    let broken: Promise<void> | undefined
    receiver.answer = (_request, response) => {
      broken = new Promise((resolve) => response.once('close', resolve))
    }
    await scene.append('t', chunk('1'))
    await scene.hook({ config: { url: receiver.url } })
    const webhooks = await scene.open()
    await receiver.received(1)
    await remove()
    webhooks.forget('t', 'h')
    await broken
    await webhooks.close()
    expect(await scene.store.deadLetters()).toEqual([])
  })

  test('is not called although nobody said that it is gone', async () => {
    receiver.answer = (_request, response) => void response.writeHead(503).end()
    await scene.append('t', chunk('1'))
    await scene.hook({ config: { url: receiver.url } })
    const webhooks = await scene.open()
    const ms = await scene.clock.timer(isBackoff)
    await remove()
    scene.clock.advance(ms)
    await webhooks.close()
    expect(receiver.requests).toHaveLength(1)
  })

  test('may be stored again under its id, and is served again', async () => {
    receiver.answer = () => {}
    await scene.append('t', chunk('1'))
    await scene.hook({ config: { url: receiver.url } })
    const webhooks = await scene.open()
    await receiver.received(1)
    await remove()
    webhooks.forget('t', 'h')
    const other = await scene.receiver()
    await scene.hook({ config: { url: other.url }, cursor: 1 })
    await scene.append('t', chunk('2'))
    webhooks.watch('t')
    await scene.seen(2)
    expect(told(other)).toEqual(['2'])
  })
})

test('a replaced webhook gets the next attempt at its new place', async () => {
  receiver.answer = (_request, response) => void response.writeHead(503).end()
  const other = await scene.receiver()
  await scene.append('t', chunk('1'), chunk('2'))
  await scene.hook({ config: { url: receiver.url } })
  const webhooks = await scene.open()
  const ms = await scene.clock.timer(isBackoff)
  await scene.hook({ config: { url: other.url, token: 'new' } })
  webhooks.watch('t')
  scene.clock.advance(ms)
  await scene.seen(2)
  expect(told(other)).toEqual(['1', '2'])
  expect(other.requests[0]?.headers['x-a2a-notification-token']).toBe('new')
})

describe('a delivery that is given up', () => {
  test('A-W4 becomes a dead letter at once where trying again is useless, and the next event follows', async () => {
    receiver.answer = ({ body }, response) =>
      void response.writeHead(body.includes('"1"') ? 410 : 200).end()
    await scene.append('t', chunk('1'), chunk('2'))
    await scene.hook({ config: { url: receiver.url } })
    const webhooks = await scene.open()
    await scene.seen(2)
    expect(told(receiver)).toEqual(['1', '2'])
    expect(await webhooks.deadLetters()).toEqual([
      {
        id: 't:h:1',
        taskId: 't',
        configId: 'h',
        seq: 1,
        attempts: 1,
        reason: 'HTTP 410',
        at: '2026-01-01T00:00:00.000Z',
      },
    ])
  })

  test('becomes a dead letter when its attempts are used up', async () => {
    receiver.answer = (_request, response) => void response.writeHead(500).end()
    await scene.append('t', chunk('1'))
    await scene.hook({ config: { url: receiver.url } })
    const webhooks = await scene.open({ retry: { maxAttempts: 3 } })
    for (const ms of [1_000, 2_000]) {
      expect(await scene.clock.timer(isBackoff)).toBe(ms)
      scene.clock.advance(ms)
    }
    await scene.seen(1)
    expect(await webhooks.deadLetters()).toMatchObject([{ attempts: 3, reason: 'HTTP 500' }])
  })

  test('becomes a dead letter when the next attempt would be after the deadline of 24 hours', async () => {
    const answers = ['86400', '1', '86400']
    receiver.answer = (_request, response) =>
      void response.writeHead(503, { 'retry-after': answers.shift() ?? '' }).end()
    await scene.append('t', chunk('1'))
    await scene.hook({ config: { url: receiver.url } })
    const webhooks = await scene.open()
    expect(await scene.clock.timer(isBackoff)).toBe(86_400_000)
    scene.clock.advance(86_400_000)
    await scene.seen(1)
    expect(await webhooks.deadLetters()).toMatchObject([{ attempts: 2, reason: 'HTTP 503' }])
  })

  test('becomes a dead letter at the deadline, however the time of day is set', async () => {
    const answers = ['43200', '43200', '1']
    receiver.answer = (_request, response) =>
      void response.writeHead(503, { 'retry-after': answers.shift() ?? '' }).end()
    await scene.append('t', chunk('1'))
    await scene.hook({ config: { url: receiver.url } })
    const webhooks = await scene.open()
    for (const jump of [-86_400_000, 0]) {
      expect(await scene.clock.timer(isBackoff)).toBe(43_200_000)
      scene.clock.jump(jump)
      scene.clock.advance(43_200_000)
    }
    await scene.seen(1)
    expect(await webhooks.deadLetters()).toMatchObject([{ attempts: 3, reason: 'HTTP 503' }])
  })

  test('is delivered again on demand, and leaves the list', async () => {
    receiver.answer = (_request, response) => void response.writeHead(404).end()
    await scene.append('t', chunk('1'))
    await scene.hook({ config: { url: receiver.url } })
    const webhooks = await scene.open()
    await scene.seen(1)
    const again = { kind: 'refused', reason: 'HTTP 404' }
    expect(await webhooks.redrive('t:h:1')).toEqual(again)
    expect(await webhooks.deadLetters()).toHaveLength(1)
    receiver.answer = (_request, response) => void response.end()
    expect(await webhooks.redrive('t:h:1')).toEqual({ kind: 'delivered' })
    expect(await webhooks.deadLetters()).toEqual([])
    expect(told(receiver)).toEqual(['1', '1', '1'])
    await expect(webhooks.redrive('t:h:1')).rejects.toBeInstanceOf(A2AError)
  })

  test('cannot be delivered again when its webhook is gone or the webhooks are closed', async () => {
    receiver.answer = (_request, response) => void response.writeHead(404).end()
    await scene.append('t', chunk('1'))
    await scene.hook({ config: { url: receiver.url } })
    const webhooks = await scene.open()
    await scene.seen(1)
    await remove()
    await expect(webhooks.redrive('t:h:1')).rejects.toMatchObject({ code: 'invalidParams' })
    await webhooks.close()
    await expect(webhooks.redrive('t:h:1')).rejects.toMatchObject({ code: 'unavailable' })
  })
})

describe('the end of a process', () => {
  test('between a delivery and its cursor delivers again, and loses nothing', async () => {
    await scene.append('t', chunk('1'), chunk('2'))
    await scene.hook({ config: { url: receiver.url } })
    const dying = { ...scene.store, commit: () => Promise.reject(new Error('killed')) }
    const before = await scene.open({ store: dying })
    await scene.clock.timer(isBackoff)
    await before.close()
    await scene.open()
    await scene.seen(2)
    expect(told(receiver)).toEqual(['1', '1', '2'])
    const [first, second] = receiver.requests
    expect(first?.headers['x-a2a-event-id']).toBe(second?.headers['x-a2a-event-id'])
  })

  test('lets the attempt under way end, and stores that it was delivered', async () => {
    let release = (): void => {}
    receiver.answer = (_request, response) => {
      release = () => void response.end()
    }
    await scene.append('t', chunk('1'), chunk('2'))
    await scene.hook({ config: { url: receiver.url } })
    const webhooks = await scene.open()
    await receiver.received(1)
    const closing = webhooks.close()
    release()
    await closing
    expect((await scene.store.pushConfigs('t'))[0]?.cursor).toBe(1)
    expect(told(receiver)).toEqual(['1'])
    await webhooks.close()
  })

  test('breaks off an attempt that outlives the grace, without a dead letter', async () => {
    receiver.answer = () => {}
    await scene.append('t', chunk('1'))
    await scene.hook({ config: { url: receiver.url } })
    const webhooks = await scene.open({ graceMs: 5_000 })
    await receiver.received(1)
    const closing = webhooks.close()
    scene.clock.advance(5_000)
    await closing
    expect(scene.clock.pending()).toEqual([])
    expect(await scene.store.deadLetters()).toEqual([])
    expect(await scene.store.claimDeliveries()).toHaveLength(1)
  })
})

describe('the limits', () => {
  test('hold one host back and let another pass', async () => {
    const held: (() => void)[] = []
    receiver.answer = (_request, response) => void held.push(() => void response.end())
    const other = await scene.receiver()
    for (const id of ['t1', 't2', 't3']) {
      await scene.append(id, status('TASK_STATE_WORKING', id))
      await scene.hook({ taskId: id, config: { url: receiver.url } })
    }
    await scene.append('t', chunk('1'))
    await scene.hook({ config: { url: other.url } })
    await scene.open({ limits: { perHost: 2 } })
    await receiver.received(2)
    await scene.seen(1)
    expect(receiver.requests).toHaveLength(2)
    held[0]?.()
    await receiver.received(3)
    for (const release of held) release()
    await scene.until(async () => (await scene.store.claimDeliveries()).length === 0)
  })
})
