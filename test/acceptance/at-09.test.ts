import { describe, expect, onTestFinished, test } from 'vitest'
import {
  A2AClient,
  A2aClient,
  JsonRpcTransport,
  Role,
  userMessage,
} from '../../src/compat/index.ts'
import { serveTeam } from './team.ts'

function connect(transport: JsonRpcTransport): A2aClient {
  const client = new A2aClient(transport)
  onTestFinished(() => client.close())
  return client
}

describe('AT-9: the client library of 004', () => {
  test('a transport, a client, a message, an answer of the agent', async () => {
    const url = await serveTeam((text) => `${text}, you`)
    const transport = new JsonRpcTransport(url)
    const client = connect(transport)
    const message = userMessage('Hello')
    const response = await client.sendMessage(message)
    if (!('message' in response)) throw new Error('A quick answer is a message')
    expect(response.message.role).toBe(Role.agent)
    expect(response.message.parts).toEqual([{ text: 'Hello, you' }])
  })

  test('the integration test: a free port, "Test message", an answer of the agent', async () => {
    const client = connect(new JsonRpcTransport(await serveTeam((text) => text)))
    const response = await client.sendMessage('Test message')
    expect(response).toMatchObject({ message: { role: 'ROLE_AGENT' } })
  })

  test('the client of 004 and ours are the same', () => {
    expect(A2aClient).toBe(A2AClient)
  })
})
