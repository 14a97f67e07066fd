import { describe, expect, onTestFinished, test } from 'vitest'
import * as compat from '../../src/compat/index.ts'
import type { JSONRPCErrorResponse, JsonRpcRequest, JsonRpcResponse } from '../../src/index.ts'
import * as corral from '../../src/index.ts'
import { get, jsonReply, rpc, scripted, serve } from '../acceptance/serve.ts'

async function run(server: compat.A2aServer): Promise<string> {
  const running = await server.run({ signals: false })
  onTestFinished(() => running.shutdown())
  return running.url
}

const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hello' }] }
const sent = { method: 'message/send', params: { message } }

describe('S002-29: routes of one’s own', () => {
  test('one that is async and answers undefined passes the request on', async () => {
    const url = await run(
      compat.A2aServer.echo()
        .bind('127.0.0.1:0')
        .additionalRoutes(async () => undefined)
        .additionalRoutes(async ({ path }) => (path === '/one' ? jsonReply(1) : undefined))
        .additionalRoutes(({ path }) => (path === '/two' ? jsonReply(2) : undefined))
        .rpcPath('/a2a'),
    )
    expect((await get(`${url}/one`)).json).toBe(1)
    expect((await get(`${url}/two`)).json).toBe(2)
    expect((await get(`${url}/health`)).status).toBe(200)
    for (const path of ['/v1/rpc', '/a2a', '/'])
      expect((await rpc(`${url}${path}`, sent)).result.task.status.state).toBe(
        'TASK_STATE_COMPLETED',
      )
    expect((await get(`${url}/.well-known/agent-card.json`)).json.name).toBe('Echo Agent')
  })

  test('so does the option of a server', async () => {
    const { url } = await serve({ agents: [scripted('hi')], routes: async () => undefined })
    expect((await get(`${url}/health`)).status).toBe(200)
    expect((await rpc(`${url}/v1/rpc`, sent)).result.task.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('one that rejects is told as a failure, and the next request works', async () => {
    let broken = true
    const route = async (): Promise<undefined> => {
      if (broken) throw new Error('secret')
    }
    const url = await run(compat.A2aServer.echo().bind('127.0.0.1:0').additionalRoutes(route))
    const { status, text } = await get(`${url}/health`)
    expect([status, text.includes('secret')]).toEqual([500, false])
    broken = false
    expect((await get(`${url}/health`)).status).toBe(200)
  })
})

describe('S002-12, S002-16, S002-17: the helpers', () => {
  test('new_message takes the context as a string, as 002 has it', () => {
    expect(compat.newMessage('ROLE_USER', 'hi', 'ctx-1')).toEqual({
      messageId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      role: 'ROLE_USER',
      parts: [{ text: 'hi' }],
      contextId: 'ctx-1',
    })
    expect(compat.newMessage('ROLE_USER', 'hi', { contextId: 'c', taskId: 't' })).toMatchObject({
      contextId: 'c',
      taskId: 't',
    })
    // None in 002
    for (const none of [undefined, null])
      expect(compat.newMessage('ROLE_AGENT', 'hi', none)).not.toHaveProperty('contextId')
  })

  test('success, error and the types of JSON-RPC are in corral too', () => {
    const request: JsonRpcRequest = { jsonrpc: '2.0', method: 'tasks/get', id: 1 }
    const response: JsonRpcResponse = corral.success(1, { id: 'abc-123' })
    expect(response).toEqual({ jsonrpc: '2.0', result: { id: 'abc-123' }, id: request.id })
    const refused: JSONRPCErrorResponse = corral.error(1, -32001, 'Task not found', { at: 3 })
    expect(refused.error).toEqual({ code: -32001, message: 'Task not found', data: { at: 3 } })
    expect(corral.success).toBe(compat.success)
    expect(corral.error).toBe(compat.error)
  })
})
