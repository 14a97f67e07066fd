import { expect, test } from 'vitest'
import { createDeferred } from '../../src/shared/async.ts'
import { get, rpc, scripted, serve } from './serve.ts'
import { serveTeam } from './team.ts'

const send = {
  method: 'message/send',
  params: { message: { role: 'user', parts: [{ type: 'text', text: 'Hello' }] } },
}

test('AT-11: 100 requests at once all succeed', async () => {
  const { url } = await serve(scripted('hello'))
  const answers = await Promise.all(Array.from({ length: 100 }, () => rpc(`${url}/rpc`, send)))
  expect(answers.map(({ result }) => result.message.role)).toEqual(Array(100).fill('agent'))
})

test('AT-11: 100 requests to a member that holds all until the hundredth has begun are answered with messages', async () => {
  const all = createDeferred<void>()
  let begun = 0
  const url = await serveTeam(async (_text, turn) => {
    begun += 1
    if (begun === 100) all.resolve()
    await all.promise
    return turn.reply('hello')
  })
  const answers = await Promise.all(Array.from({ length: 100 }, () => rpc(url, send)))
  expect(answers.map(({ result }) => result.message?.role)).toEqual(Array(100).fill('agent'))
})

test('AT-11: 100 tasks are polled without a refusal', async () => {
  const { url } = await serve({
    agents: [scripted('hello')],
    rateLimit: { requests: 100, windowSeconds: 3_600 },
  })
  const params = { ...send.params, immediate: false }
  const ids: string[] = []
  for (let i = 0; i < 100; i++)
    ids.push((await rpc(`${url}/rpc`, { ...send, params })).result.task.id)
  const polls = ids.map((task_id) =>
    rpc(`${url}/rpc`, { method: 'task/status', params: { task_id } }),
  )
  for (const { result } of await Promise.all(polls)) expect(result.state).toBe('completed')
  expect((await get(`${url}/health`)).status).toBe(200)
})
