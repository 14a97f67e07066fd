import { expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import { createServer } from '../../src/server/server.ts'

const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } as const

async function serveRefusal(): Promise<Awaited<ReturnType<typeof createServer>>> {
  const agent = defineAgent({ name: 'Picky' }, () => {
    throw new A2AError('invalidParams', 'I only take numbers')
  })
  return createServer({ agents: [agent], concurrency: 1 })
}

test('what an agent throws at once answers the request in its own words', async () => {
  const server = await serveRefusal()
  const send = server.dispatch()('SendMessage', { message }, {})
  await expect(send).rejects.toMatchObject({
    code: 'invalidParams',
    message: 'I only take numbers',
  })
  await server.close()
})

test('an agent that throws at once gives its slot back', async () => {
  const server = await serveRefusal()
  for (let i = 0; i < 3; i++)
    await expect(server.dispatch()('SendMessage', { message }, {})).rejects.toThrow('numbers')
  await server.close()
})

test('with an idempotency key, what an agent throws at once fails the task in its own words', async () => {
  const server = await serveRefusal()
  const sent = await server.dispatch()('SendMessage', { message }, { idempotencyKey: 'k' })
  const task = 'task' in sent ? sent.task : undefined
  expect(task?.status.state).toBe('TASK_STATE_FAILED')
  expect(task?.status.message?.parts).toEqual([{ text: 'I only take numbers' }])
  await server.close()
})
