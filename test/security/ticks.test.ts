import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/index.ts'
import { createServer } from '../../src/server/index.ts'
import { chunk, createScene, status } from '../webhooks/scene.ts'

// How long ticks are is measured by test-slow/security/ticks.test.ts.

let ticks = 0
let isCounting = true
beforeEach(() => {
  isCounting = true
  const count = (): void => {
    ticks++
    if (isCounting) setImmediate(count)
  }
  count()
})
afterEach(() => {
  isCounting = false
})

test('a large message is read in one tick and answered in another', async () => {
  const begun: number[] = []
  const agent = defineAgent({ name: 'Reader' }, () => {
    begun.push(ticks)
    return 'read'
  })
  const server = await createServer({ agents: [agent], logger: false })
  const ask = async (text: string): Promise<number> => {
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text }] }
    const asked = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
    const body = JSON.stringify(asked)
    const before = ticks
    const reply = await server.handle({ method: 'POST', path: '/', query: '', headers, body })
    expect(reply.status).toBe(200)
    return (begun.at(-1) ?? 0) - before
  }
  await ask('short')
  expect(await ask('short')).toBe(0)
  expect(await ask('x'.repeat(200_000))).toBeGreaterThan(0)
  await server.close()
})

test('a large event is written for a webhook in a tick of its own', async () => {
  const scene = createScene()
  const receiver = await scene.receiver()
  const written: number[] = []
  const webhooks = await scene.open({
    encode: (_record, event) => {
      written.push(ticks)
      return { contentType: 'application/json', body: JSON.stringify(event) }
    },
  })
  await scene.append('t', status('TASK_STATE_WORKING'))
  await scene.hook({ config: { url: receiver.url } })
  webhooks.watch('t')
  await scene.seen(1)
  const notify = async (text: string, seq: number): Promise<number> => {
    await scene.append('t', chunk(text))
    const before = ticks
    webhooks.notify('t')
    await scene.seen(seq)
    return (written.at(-1) ?? 0) - before
  }
  expect(await notify('short', 2)).toBe(0)
  expect(await notify('x'.repeat(200_000), 3)).toBeGreaterThan(0)
  await scene.close()
})
