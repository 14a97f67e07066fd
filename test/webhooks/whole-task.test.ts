import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { encodeWebhook } from '../../src/bindings/dialects/rpc-dialects.ts'
import type { Receiver } from './receiver.ts'
import { chunk, createScene, type Scene, status } from './scene.ts'

let scene: Scene
let receiver: Receiver

beforeEach(async () => {
  scene = createScene()
  receiver = await scene.receiver()
})
afterEach(() => scene.close())

/** State and text of each task that came, in order. */
const told = (): readonly string[] =>
  receiver.requests.map(({ body }) => {
    const { status: now, artifacts = [] } = JSON.parse(body)
    const parts: readonly { text: string }[] = artifacts[0]?.parts ?? []
    return `${now.state} ${parts.map(({ text }) => text).join('')}`
  })

describe.each(['0.3', '0.3-rest'] as const)('a webhook of %s', (dialect) => {
  test('gets one task for chunks that piled up, and one for every change of state', async () => {
    await scene.append('t', status('TASK_STATE_WORKING'))
    await scene.append('t', chunk('1'), chunk('2'), chunk('3'))
    await scene.hook({ config: { url: receiver.url }, dialect })
    const webhooks = await scene.open({ encode: encodeWebhook })
    await scene.seen(4)
    expect(told()).toEqual(['working ', 'working 123'])
    await scene.append('t', chunk('4'))
    await scene.append('t', status('TASK_STATE_INPUT_REQUIRED'), status('TASK_STATE_WORKING'))
    webhooks.notify('t')
    await scene.seen(7)
    expect(
      told()
        .slice(2)
        .map((line) => line.split(' ')[0]),
    ).toEqual(['input-required', 'working'])
  })

  test('counts the attempts at a pile that grows meanwhile', async () => {
    receiver.answer = (_request, response) => void response.writeHead(503).end()
    await scene.append('t', status('TASK_STATE_WORKING'))
    await scene.append('t', chunk('1'))
    await scene.hook({ config: { url: receiver.url }, dialect, cursor: 1 })
    const webhooks = await scene.open({ encode: encodeWebhook, retry: { maxAttempts: 3 } })
    for (const [text, ms] of [
      ['2', 1_000],
      ['3', 2_000],
    ] as const) {
      await scene.clock.timer((delay) => delay === ms)
      await scene.append('t', chunk(text))
      scene.clock.advance(ms)
    }
    await scene.seen(4)
    expect(told()).toEqual(['working 1', 'working 12', 'working 123'])
    expect(await webhooks.deadLetters()).toMatchObject([{ attempts: 3, seq: 4 }])
  })
})
