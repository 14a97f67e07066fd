import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { post, rpc, serve } from '../acceptance/serve.ts'

const inputSchema = {
  type: 'object',
  properties: { topic: { type: 'string' } },
  required: ['topic'],
}

const research = {
  id: 'research_topic',
  name: 'Research',
  description: 'R',
  tags: ['r'],
  inputSchema,
}

const free = { id: 'talk', name: 'Talk', description: 'T', tags: ['t'] }

async function ask(skills: readonly (typeof free)[], parts: readonly object[]) {
  const { url } = await serve(defineAgent({ name: 'A', skills }, () => 'done'))
  return rpc(`${url}/v1/rpc`, {
    method: 'message/send',
    params: { message: { messageId: 'm', role: 'ROLE_USER', parts } },
  })
}

describe('C-10: the schemas of skills', () => {
  test('let in data that fits one of them', async () => {
    expect((await ask([research], [{ data: { topic: 'bees' } }])).result.task.status.state).toBe(
      'TASK_STATE_COMPLETED',
    )
  })

  test.each([
    [{ depth: 'detailed' }, 'message.parts[0].data.topic'],
    [{ topic: 7 }, 'message.parts[0].data.topic'],
    ['bees', 'message.parts[0].data'],
  ])('refuse %j and name the place', async (data, field) => {
    const { error } = await ask([research], [{ data }])
    expect(error.code).toBe(-32602)
    expect(error.message).toContain(field)
  })

  test('are -32001 in RANCH, where the message is at fault', async () => {
    const { url } = await serve(defineAgent({ name: 'A', skills: [research] }, () => 'done'))
    const message = { role: 'user', parts: [{ type: 'data', data: {} }] }
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'message/send',
      params: { message },
    })
    expect((await post(`${url}/rpc`, body)).json.error.code).toBe(-32001)
  })

  test('say nothing of data beside words, nor where a skill takes anything', async () => {
    const data = { data: { depth: 'detailed' } }
    const beside = await ask([research], [{ text: 'Research quantum computing' }, data])
    expect(beside.result.task.status.state).toBe('TASK_STATE_COMPLETED')
    expect((await ask([research, free], [data])).result.task.status.state).toBe(
      'TASK_STATE_COMPLETED',
    )
  })
})
