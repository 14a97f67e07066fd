import { expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { bearer } from '../../src/server/index.ts'
import { rpc, serve } from '../acceptance/serve.ts'

const kib = 1024

/** Says as many chunks of 16 KiB as it is told, then waits to be let go. */
function speaker(): { readonly agent: ReturnType<typeof defineAgent>; end(): unknown } {
  const waiting: (() => void)[] = []
  const agent = defineAgent({ name: 'Speaker' }, async function* (message) {
    const [part] = message.parts
    const count = Number(part && 'text' in part ? part.text : 0)
    for (let i = 0; i < count; i++) yield 'x'.repeat(16 * kib)
    await new Promise<void>((resolve) => waiting.push(resolve))
  })
  return { agent, end: () => waiting.splice(0).map((resolve) => resolve()) }
}

test('tasks that run hold so much together, one principal half; what ends makes room', async () => {
  const { agent, end } = speaker()
  const tokens = { a: 'ann', b: 'bob' }
  const { url } = await serve({
    agents: [agent],
    auth: { authenticators: [bearer({ tokens })] },
    limits: { maxLiveBytes: 512 * kib, maxTaskBytes: 200 * kib },
    timeouts: { shutdownMs: 0 },
    logger: false,
  })
  const call = async (token: string, method: string, params: object) =>
    rpc(url, {
      method,
      params,
      headers: { 'a2a-version': '1.0', authorization: `Bearer ${token}` },
    })
  const send = async (token: string): Promise<string> => {
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: '9' }] }
    const configuration = { returnImmediately: true }
    return (await call(token, 'SendMessage', { message, configuration })).result.task.id
  }
  const status = async (token: string, id: string) =>
    (await call(token, 'GetTask', { id })).result.status

  const first = await send('a')
  const second = await send('a')
  await expect.poll(() => status('a', second)).toMatchObject({ state: 'TASK_STATE_FAILED' })
  expect(JSON.stringify(await status('a', second))).toContain('as much as they may together')
  expect(await status('a', first)).toMatchObject({ state: 'TASK_STATE_WORKING' })

  const chat = { model: 'speaker', messages: [{ role: 'user', content: '9' }] }
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer a' },
    body: JSON.stringify(chat),
  })
  expect(answer.status).toBe(503)

  const others = await send('b')
  await new Promise((resolve) => setImmediate(resolve))
  expect(await status('b', others)).toMatchObject({ state: 'TASK_STATE_WORKING' })

  end()
  await expect.poll(() => status('a', first)).toMatchObject({ state: 'TASK_STATE_COMPLETED' })
  const third = await send('a')
  await expect
    .poll(async () => {
      end()
      return status('a', third)
    })
    .toMatchObject({ state: 'TASK_STATE_COMPLETED' })
})
