import { describe, expect, test } from 'vitest'
import { A2AClient } from '../../src/client/index.ts'
import { doneTask, serveAgent } from './agent.ts'
import { jsonRpc, rest, testCard } from './cards.ts'
import { serve } from './serve.ts'

const echo = { SendMessage: () => ({ task: doneTask }) }

describe('the choice of an interface', () => {
  test('A011 A012 B007 is the first in the card that we speak, at its URL', async () => {
    const agent = await serveAgent(echo)
    const card = testCard({
      supportedInterfaces: [
        { url: 'http://grpc.example', protocolBinding: 'GRPC', protocolVersion: '1.0' },
        { url: 'http://future.example', protocolBinding: 'JSONRPC', protocolVersion: '2.0' },
        jsonRpc(`${agent.url}/elsewhere`),
        rest('http://127.0.0.1:1'),
      ],
    })
    await new A2AClient({ serverUrl: agent.url, card }).sendMessage('hi')
    expect(agent.received.map(({ path }) => path)).toEqual(['/elsewhere'])
  })

  test('says what a card offers where we speak none of it', async () => {
    const grpc = { url: 'http://a.example:50051', protocolBinding: 'GRPC', protocolVersion: '1.0' }
    const client = (...supportedInterfaces: (typeof grpc)[]): A2AClient =>
      new A2AClient({ serverUrl: 'http://a.example', card: testCard({ supportedInterfaces }) })
    const ours = 'this client speaks JSONRPC and HTTP+JSON in 1.0 and 0.3'
    await expect(client(grpc).sendMessage('hi')).rejects.toMatchObject({
      code: 'versionNotSupported',
      message: `Test agent offers GRPC 1.0 at http://a.example:50051; ${ours}`,
    })
    await expect(client().sendMessage('hi')).rejects.toThrow(
      `Test agent offers no interface; ${ours}`,
    )
  })

  test('B005 ignores the patch of a version', async () => {
    const agent = await serveAgent(echo)
    const card = testCard({ supportedInterfaces: [jsonRpc(`${agent.url}/rpc`, '1.0.7')] })
    await new A2AClient({ serverUrl: agent.url, card }).sendMessage('hi')
    expect(agent.calls[0]?.headers['a2a-version']).toBe('1.0')
  })

  test('B007 can be narrowed to a binding and a version', async () => {
    const server = await serve(() => ({ body: { task: doneTask } }))
    const card = testCard({
      supportedInterfaces: [
        jsonRpc(server.url),
        rest(`${server.url}/v03`, '0.3'),
        rest(server.url),
      ],
    })
    const options = { serverUrl: server.url, card, bindings: ['HTTP+JSON'], versions: ['1.0'] }
    await new A2AClient(options).sendMessage('hi')
    expect(server.received[0]?.path).toBe('/message:send')
  })

  test('A013 sends exactly the tenant of the interface', async () => {
    const agent = await serveAgent({ GetTask: () => doneTask })
    const card = testCard({
      supportedInterfaces: [{ ...jsonRpc(`${agent.url}/rpc`), tenant: 'blue' }],
    })
    await new A2AClient({ serverUrl: agent.url, card }).getTask({ id: 't1', tenant: 'red' })
    expect(agent.calls[0]?.params).toEqual({ id: 't1', tenant: 'blue' })
  })

  test('A013 sends no tenant where the interface has none', async () => {
    const agent = await serveAgent({ GetTask: () => doneTask })
    await new A2AClient(agent.url).getTask({ id: 't1', tenant: 'red' })
    expect(agent.calls[0]?.params).toEqual({ id: 't1' })
  })

  test('A014 is the next one where no connection comes about, and stays so', async () => {
    const gone = await serve(() => ({}))
    await gone.close()
    const server = await serve(() => ({ body: { task: doneTask } }))
    const card = testCard({ supportedInterfaces: [jsonRpc(gone.url), rest(server.url)] })
    const client = new A2AClient({ serverUrl: server.url, card, retry: { maxRetries: 0 } })
    expect(await client.sendMessage('hi')).toEqual({ task: doneTask })
    expect(await client.sendMessage('hi')).toEqual({ task: doneTask })
    expect(server.received).toHaveLength(2)
  })

  test('A014 is the next one where a version is refused', async () => {
    const refuse = { error: { code: -32009, message: 'Version not supported' } }
    const server = await serve(({ headers, body }) =>
      headers['a2a-version'] === '1.0'
        ? { body: { jsonrpc: '2.0', id: JSON.parse(body).id, ...refuse } }
        : {
            body: {
              jsonrpc: '2.0',
              id: JSON.parse(body).id,
              result: { kind: 'task', id: 't1', contextId: 'c1', status: { state: 'working' } },
            },
          },
    )
    const card = testCard({
      supportedInterfaces: [jsonRpc(server.url), jsonRpc(server.url, '0.3')],
    })
    const client = new A2AClient({ serverUrl: server.url, card })
    expect(await client.getTask('t1')).toMatchObject({ status: { state: 'TASK_STATE_WORKING' } })
  })

  test('K011 is none without TLS where the card came over TLS', async () => {
    const card = testCard({ supportedInterfaces: [jsonRpc('http://agent.example/')] })
    const client = new A2AClient({ serverUrl: 'https://agent.example', card })
    await expect(client.sendMessage('hi')).rejects.toMatchObject({ code: 'versionNotSupported' })
  })

  test('fails where the agent speaks nothing that we speak', async () => {
    const card = testCard({ supportedInterfaces: [] })
    const client = new A2AClient({ serverUrl: 'http://agent.example', card })
    await expect(client.sendMessage('hi')).rejects.toMatchObject({ code: 'versionNotSupported' })
  })
})
