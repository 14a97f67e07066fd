import { Role, SendMessageRequest } from '@a2a-js/sdk'
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { HttpSend } from '../../src/bindings/http.ts'
import { A2AClient } from '../../src/client/index.ts'
import { createHttp } from '../../src/client/node.ts'
import { A2aServer, JsonRpcTransport, type RunningServer } from '../../src/compat/index.ts'
import { systemClock } from '../../src/shared/clock.ts'
import { get, post, rpc } from '../acceptance/serve.ts'
import { serveAgent } from '../server/sockets.ts'

const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hello' }] }

async function run(server: A2aServer): Promise<RunningServer> {
  const running = await server.run({ signals: false })
  onTestFinished(() => running.shutdown())
  return running
}

/** The URL of the first JSON-RPC interface, which is where a client of 002 sends everything. */
async function endpointOf(url: string): Promise<string> {
  const { json: card } = await get(`${url}/.well-known/agent-card.json`)
  return card.supportedInterfaces.find(
    (one: { protocolBinding: string }) => one.protocolBinding === 'JSONRPC',
  ).url
}

/** HTTP that remembers where it went and in which words. */
function recorded(): { readonly send: HttpSend; readonly seen: string[] } {
  const seen: string[] = []
  const http = createHttp({ requestMs: 10_000, idleMs: 10_000, clock: systemClock })
  onTestFinished(() => http.close())
  return {
    seen,
    send: (request) => {
      if (request.method === 'POST')
        seen.push(`${new URL(request.url).pathname} ${JSON.parse(String(request.body)).method}`)
      return http.send(request)
    },
  }
}

describe('a client of 002 that follows the card', () => {
  test('S002-43, S002-54: from card to poll_until_complete it hears 1.0-rc, with no version named', async () => {
    const { url, agent } = await serveAgent()
    const endpoint = await endpointOf(url)
    const configuration = { returnImmediately: true }
    const held = { ...message, parts: [{ text: 'hold' }] }
    const sent = await rpc(endpoint, {
      method: 'message/send',
      params: { message: held, configuration },
    })
    const { task } = sent.result
    expect(task.status.state).toMatch(/^TASK_STATE_/)
    const poll = (): Promise<{ result: { id: string; status: { state: string } } }> =>
      rpc(endpoint, { method: 'tasks/get', params: { id: task.id } })
    const first = await poll()
    expect(first.result).toMatchObject({ id: task.id, status: { state: 'TASK_STATE_WORKING' } })
    expect(first.result).not.toHaveProperty('kind')
    agent.release()
    let polled = first
    while (polled.result.status.state === 'TASK_STATE_WORKING') polled = await poll()
    expect(polled.result.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('S002-43: the 1.0 interface is /v1/rpc, the one of 0.3 stays at the root', async () => {
    const { url } = await run(A2aServer.echo().bind('127.0.0.1:0'))
    const { json: card } = await get(`${url}/.well-known/agent-card.json`)
    const offers = card.supportedInterfaces.map(
      (one: { protocolBinding: string; protocolVersion: string; url: string }) =>
        `${one.protocolBinding} ${one.protocolVersion} ${new URL(one.url).pathname}`,
    )
    expect(offers).toEqual([
      'JSONRPC 1.0 /v1/rpc',
      'HTTP+JSON 1.0 /',
      'JSONRPC 0.3 /',
      'HTTP+JSON 0.3 /',
      'urn:corral:bindings:ranch 0.3 /rpc',
      'urn:corral:bindings:jsonrpc-1.0-rc 1.0 /v1/rpc',
    ])
    expect(new URL(card.url).pathname).toBe('/')
  })

  test.each(['/v1/rpc', '/v1/rpc/'])('S002-44: every dialect is understood at %s', async (path) => {
    const { url } = await run(A2aServer.echo().bind('127.0.0.1:0'))
    const at = `${url}${path}`
    const v10 = await rpc(at, { method: 'SendMessage', params: { message } })
    expect(v10.result.task.status.state).toBe('TASK_STATE_COMPLETED')
    const rc = await rpc(at, { method: 'message/send', params: { message } })
    expect(rc.result.task.status.state).toBe('TASK_STATE_COMPLETED')
    const kind = {
      ...message,
      kind: 'message',
      role: 'user',
      parts: [{ kind: 'text', text: 'Hi' }],
    }
    const v03 = await rpc(at, { method: 'message/send', params: { message: kind } })
    expect(v03.result).toMatchObject({ kind: 'task', status: { state: 'completed' } })
    const parts = [{ type: 'text', text: 'Hi' }]
    const ranch = await rpc(at, {
      method: 'message/send',
      params: { message: { role: 'user', parts } },
    })
    expect(ranch.result.message.parts[0].type).toBe('text')
    const { headers } = await fetch(at, { method: 'OPTIONS' })
    expect(headers.get('access-control-allow-methods')).toBe('POST, OPTIONS')
  })

  test('S002-44: at the URL of 0.3 a request without a version is 0.3', async () => {
    const { url } = await run(A2aServer.echo().bind('127.0.0.1:0'))
    const sent = await rpc(`${url}/v1/rpc`, { method: 'message/send', params: { message } })
    const params = { id: sent.result.task.id }
    const read = await rpc(`${url}/`, { method: 'tasks/get', params })
    expect(read.result).toMatchObject({ kind: 'task', status: { state: 'completed' } })
  })

  test('S002-54: our own client speaks 1.0 where the card leads it, 1.0-rc by the bare URL', async () => {
    const { url } = await run(A2aServer.echo().bind('127.0.0.1:0'))
    const { send, seen } = recorded()
    const byCard = new A2AClient({ serverUrl: url, send })
    const answer = await byCard.sendMessage('Hello')
    if ('task' in answer) await byCard.pollUntilComplete(answer.task.id)
    const byUrl = new A2AClient({ transport: new JsonRpcTransport(`${url}/v1/rpc`), send })
    await byUrl.sendMessage('Hello')
    expect(seen).toEqual(['/v1/rpc SendMessage', '/v1/rpc GetTask', '/v1/rpc message/send'])
  })

  test('S002-54: @a2a-js/sdk follows the same card', async () => {
    const { url } = await run(A2aServer.echo().bind('127.0.0.1:0'))
    const posted: string[] = []
    const fetchImpl: typeof fetch = (input, init) => {
      if (init?.method === 'POST') posted.push(new URL(String(input)).pathname)
      return fetch(input, init)
    }
    const client = await new ClientFactory({
      transports: [new JsonRpcTransportFactory({ fetchImpl })],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    }).createFromUrl(url)
    const parts = [{ text: 'Hello' }]
    const sent = await client.sendMessage(
      SendMessageRequest.fromJSON({ message: { messageId: 'm', role: Role.ROLE_USER, parts } }),
    )
    if (!('status' in sent)) throw new Error('The echo answers with a task')
    const task = await client.getTask({ tenant: '', id: sent.id })
    expect(task.id).toBe(sent.id)
    expect(posted).toEqual(['/v1/rpc', '/v1/rpc'])
  })
})

describe('a path of one’s own', () => {
  test.each(['/v1/rpc', '/rpc', '/', '/a2a'])(
    'S002-44: rpcPath(%s) answers in 1.0-rc',
    async (path) => {
      const { url } = await run(A2aServer.echo().bind('127.0.0.1:0').rpcPath(path))
      const { status, json } = await post(
        `${url}${path}`,
        JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 'none' } }),
      )
      expect(status).toBe(200)
      expect(json.error).toMatchObject({ code: -32001, data: [{ reason: 'TASK_NOT_FOUND' }] })
    },
  )

  test('S002-44: a REST prefix of /v1 leaves JSON-RPC where it is', async () => {
    const server = A2aServer.echo().bind('127.0.0.1:0').restPrefix('/v1').rpcPath('/a2a')
    const { url } = await run(server)
    for (const path of ['/v1/rpc', '/a2a']) {
      const sent = await rpc(`${url}${path}`, { method: 'message/send', params: { message } })
      expect(sent.result.task.status.state).toBe('TASK_STATE_COMPLETED')
      const read = await rpc(`${url}${path}`, { method: 'tasks/get', params: { id: 'none' } })
      expect(read.error).toMatchObject({ code: -32001, data: [{ reason: 'TASK_NOT_FOUND' }] })
    }
    const { json } = await get(`${url}/v1/tasks`)
    expect(json).toHaveProperty('totalSize')
  })
})
