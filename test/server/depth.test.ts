import { describe, expect, test } from 'vitest'
import { createServer, toFetch } from '../../src/server/index.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import { bodyOf, head, observe, openClient, toChunk } from './wire.ts'

const filler = 'x'.repeat(8 * 1024)
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

/** A message with a data part, long enough that nobody takes it for harmless. */
function message(data: string): string {
  return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"${filler}"},{"data":${data}}]}}`
}

function call(params: string, method = 'SendMessage'): string {
  return `{"jsonrpc":"2.0","id":"mine","method":"${method}","params":${params}}`
}

async function post(url: string, body: string, headers: Record<string, string> = {}) {
  const all = { 'content-type': 'application/json', ...headers }
  return fetch(url, { method: 'POST', headers: all, body })
}

const v10 = { 'a2a-version': '1.0' }

describe('JSON that nests too deep', () => {
  test('is refused with the id of its request and the field at fault', async () => {
    const { url } = await observe()
    const reply = await post(url, call(message(nested(200))), v10)
    expect(await reply.json()).toMatchObject({
      id: 'mine',
      error: {
        code: -32602,
        message: 'message.parts[1].data: must not nest deeper than 64 levels',
      },
    })
  })

  test('is no valid message in RANCH, and in other places no valid params', async () => {
    const { url } = await observe()
    const said = (method: string, params: string) =>
      post(`${url}/rpc`, call(params, method)).then((reply) => reply.json())
    const parts = `{"message":{"role":"user","parts":[{"type":"text","text":"${filler}"},{"type":"data","data":${nested(200)}}]}}`
    expect(await said('message/send', parts)).toMatchObject({ id: 'mine', error: { code: -32001 } })
    const task = `{"task_id":"t","filler":"${filler}","metadata":${nested(200)}}`
    expect(await said('task/get', task)).toMatchObject({ id: 'mine', error: { code: -32602 } })
  })

  test.each([
    ['/message:send', message(nested(200)), v10, { error: { code: 400 } }],
    ['/v1/message:send', message(nested(200)), {}, { code: -32602 }],
    ['/v1/chat', message(nested(200)), {}, { error: { type: 'invalid_request_error' } }],
    ['/mcp', call(message(nested(200))), {}, { jsonrpc: '2.0', id: null }],
  ])('is refused at %s in its own terms', async (path, body, headers, shape) => {
    const { url } = await observe()
    const reply = await post(url + path, body, headers)
    expect(reply.status).toBe(400)
    expect(await reply.json()).toMatchObject(shape)
  })

  test('is refused before it has come to its end, and no more of it is read', async () => {
    const { port, sockets } = await observe()
    const client = await openClient(port)
    client.socket.write(head({ 'content-length': 9 * 1024 * 1024 }))
    await client.pour(Buffer.alloc(32 * 1024, '['), 288)
    const reply = await client.reply()
    expect(bodyOf(reply)).toMatchObject({ id: null, error: { code: -32602 } })
    expect(sockets[0]?.bytesRead).toBeLessThan(512 * 1024)
  })

  test('is as deep as the limit says', async () => {
    const { url } = await observe({ limits: { maxDepth: 10 } })
    const reply = await post(url, call(message(nested(30))), v10)
    expect(await reply.json()).toMatchObject({
      error: { message: expect.stringContaining('deeper than 10 levels') },
    })
  })

  test('is refused under fetch with its id, too', async () => {
    const server = await createServer({ agents: [createScriptedAgent()], logger: false })
    const body = call(message(nested(200)))
    const headers = { 'content-type': 'application/json', ...v10 }
    const request = new Request('http://a.example/', { method: 'POST', headers, body })
    const reply = await toFetch(server)(request)
    expect(await reply.json()).toMatchObject({ id: 'mine', error: { code: -32602 } })
    await server.close()
  })
})

describe('JSON that does not nest too deep', () => {
  test.each([
    ['brackets in a text', message(`{"a":"${'[{'.repeat(500)}"}`)],
    ['brackets behind quotes that are escaped', message(`"\\"${'['.repeat(500)}\\\\"`)],
    ['as deep as may be', message(nested(64))],
    ['wide, not deep', message(`[${Array.from({ length: 500 }, () => '[{}]').join()}]`)],
  ])('is taken, however it is cut: %s', async (_, params) => {
    const { port } = await observe()
    const body = call(params)
    for (const size of [1009, 7, body.length]) {
      const client = await openClient(port)
      client.socket.write(head({ 'transfer-encoding': 'chunked' }))
      for (let at = 0; at < body.length; at += size)
        client.socket.write(toChunk(body.slice(at, at + size)))
      client.socket.write('0\r\n\r\n')
      expect(await client.reply()).toContain('TASK_STATE_COMPLETED')
    }
  })
})
