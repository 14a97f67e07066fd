import { expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/index.ts'
import { A2AClient } from '../../src/client/index.ts'
import { A2AError, textOf } from '../../src/index.ts'
import { serve } from '../../src/server/index.ts'
import { serveAgent } from './agent.ts'

/** A client of an agent that books, asks or fails. */
async function clientOfDesk(): Promise<A2AClient> {
  const desk = defineAgent({ name: 'Desk' }, async function* ({ parts }, turn) {
    const text = textOf(parts)
    if (text === 'fail') throw new A2AError('taskFailed', 'No room')
    if (text === 'ask') yield turn.ask('How many days?')
    else for (const word of ['Booked: ', text]) yield word
  })
  const { url, close } = await serve(desk, { port: 0, logger: false })
  const client = new A2AClient(url)
  onTestFinished(async () => {
    await client.close()
    await close()
  })
  return client
}

test('send gives the text of the answer and its task', async () => {
  const client = await clientOfDesk()
  const { text, task } = await client.send('two days')
  expect(text).toBe('Booked: two days')
  expect(task?.status.state).toBe('TASK_STATE_COMPLETED')
  expect(await client.run('two days')).toBe(text)
})

test('send gives the question of an agent that asks, and the next message is the answer', async () => {
  const client = await clientOfDesk()
  const { text, task } = await client.send('ask')
  expect(text).toBe('How many days?')
  expect(task?.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
  const { id: taskId = '' } = task ?? {}
  expect(await client.send('two days', { taskId })).toMatchObject({ text: 'Booked: two days' })
})

test('send gives a question that is data alone as JSON', async () => {
  const message = { messageId: 'm1', role: 'ROLE_AGENT', parts: [{ data: { days: '?' } }] } as const
  const status = { state: 'TASK_STATE_INPUT_REQUIRED', message } as const
  const agent = await serveAgent(
    { SendMessage: () => ({ task: { id: 't', contextId: 'c', status } }) },
    { capabilities: {} },
  )
  expect((await new A2AClient(agent.url).send('hi')).text).toBe('{"days":"?"}')
})

test('send gives a message alone where the agent answers with one', async () => {
  const message = { messageId: 'm1', role: 'ROLE_AGENT', parts: [{ text: 'Hello' }] } as const
  const agent = await serveAgent({ SendMessage: () => ({ message }) }, { capabilities: {} })
  expect(await new A2AClient(agent.url).send('hi')).toEqual({ text: 'Hello', message })
})

test('send fails where the task does', async () => {
  const client = await clientOfDesk()
  await expect(client.send('fail')).rejects.toMatchObject({ code: 'taskFailed' })
})

test('stream gives the events of the task until it ends, by either of its names', async () => {
  const client = await clientOfDesk()
  for (const events of [client.stream('two days'), client.sendAndFollow('two days')]) {
    const states: string[] = []
    for await (const event of events)
      if ('statusUpdate' in event) states.push(event.statusUpdate.status.state)
    expect(states.at(-1)).toBe('TASK_STATE_COMPLETED')
  }
})
