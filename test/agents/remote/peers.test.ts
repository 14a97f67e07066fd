import { createServer as createHttp, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { Agent } from '../../../src/agents/agent.ts'
import type { AgentConfig } from '../../../src/agents/config.ts'
import { createAgentFromConfig } from '../../../src/agents/create.ts'
import { defineAgent } from '../../../src/agents/function.ts'
import { A2AClient } from '../../../src/client/client.ts'
import { textOf } from '../../../src/protocol/task.ts'
import { bearer, createServer, listen } from '../../../src/server/index.ts'
import { serveSdkAgent } from '../../client/sdk-agent.ts'
import { createTurn, foldEvents, runTurn, type ScriptedTurn } from '../../fixtures/turn.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function remote(endpoint: string, change: Partial<AgentConfig> = {}): Promise<Agent> {
  const config: AgentConfig = { id: 'peer', name: 'Peer', endpoint, protocol: 'a2a', ...change }
  const agent = await createAgentFromConfig(config, { directory: '.', random: () => 0 })
  closing.push(async () => agent.close?.())
  return agent
}

async function serveHttp(listener: RequestListener): Promise<string> {
  const server = createHttp(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(async () => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo // a listening TCP server has one
  return `http://127.0.0.1:${port}`
}

async function answer(agent: Agent, turn: ScriptedTurn): Promise<string> {
  const [artifact] = foldEvents(turn, await runTurn(agent, turn)).artifacts ?? []
  return textOf(artifact?.parts ?? [])
}

describe('a member that is a server of the A2A SDK', () => {
  test.each(['', '/rpc'])('answers in chunks, configured by its URL and %s', async (path) => {
    const { url } = await serveSdkAgent()
    const agent = await remote(`${url}${path}`)
    const turn = createTurn('hello')
    const events = await runTurn(agent, turn)
    expect(events.filter((event) => Object.hasOwn(Object(event), 'artifactUpdate'))).toHaveLength(2)
    const { artifacts, status } = foldEvents(turn, events)
    expect(textOf(artifacts?.[0]?.parts ?? [])).toBe('Echo: hello')
    expect(status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('may answer with a lone message, and then nothing is kept', async () => {
    const { url } = await serveSdkAgent()
    const turn = createTurn('talk')
    const [event] = await runTurn(await remote(url), turn)
    expect(event).toMatchObject({
      role: 'ROLE_AGENT',
      contextId: turn.contextId,
      parts: [{ text: 'Just talk' }],
    })
    expect(turn.saved.size).toBe(0)
  })

  test('passes a lone message with every task handling', async () => {
    const { url } = await serveSdkAgent()
    for (const task_handling of ['return', 'reject']) {
      const agent = await remote(url, { metadata: { task_handling } })
      const [event] = await runTurn(agent, createTurn('talk'))
      expect(event).toMatchObject({ parts: [{ text: 'Just talk' }] })
    }
  })

  test('is served with the modes of its card, which it enforces itself', async () => {
    const { url } = await serveSdkAgent()
    const server = await createServer({ agents: [await remote(url)] })
    closing.push(() => server.close())
    const client = new A2AClient({ dispatch: server.dispatch() })
    closing.push(() => client.close())
    const part = { text: 'talk', mediaType: 'text/markdown' }
    const sent = await client.sendMessage({
      message: { messageId: 'm', role: 'ROLE_USER', parts: [part] },
    })
    expect(sent).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } })
  })

  test('is cancelled with our turn', async () => {
    const { url } = await serveSdkAgent()
    const turn = createTurn('wait')
    const events = (await remote(url)).process(turn.message, turn) as AsyncGenerator // a remote agent's reply is one
    await events.next()
    const next = events.next()
    turn.cancel(new Error('enough'))
    await expect(next).rejects.toThrow('enough')
  })

  test('is taken up again after a crash', async () => {
    const { url, release } = await serveSdkAgent()
    const first = createTurn('wait')
    const interrupted = (await remote(url)).process(first.message, first) as AsyncGenerator // as above
    await interrupted.next()
    const again = createTurn(first.message, { saved: first.saved })
    const answered = answer(await remote(url), again)
    release()
    expect(await answered).toBe('Echo: wait')
  })
})

describe('what the configuration says reaches the wire', () => {
  test('tokens of an OAuth2 server, fetched with the client’s credentials', async () => {
    const asked: string[] = []
    const identity = await serveHttp((request, response) => {
      let body = ''
      request.on('data', (chunk) => {
        body += chunk
      })
      request.on('end', () => {
        asked.push(body)
        response.setHeader('content-type', 'application/json')
        response.end(
          JSON.stringify({ access_token: 'fresh', token_type: 'bearer', expires_in: 60 }),
        )
      })
    })
    const agent = defineAgent({ name: 'Far' }, (_message, turn) => `for ${turn.caller.userId}`)
    const authenticators = [bearer({ tokens: { fresh: 'corral' } })]
    const server = await createServer({ agents: [agent], auth: { authenticators } })
    const listening = await listen(server, { port: 0, host: '127.0.0.1' })
    closing.push(listening.close)
    const auth = {
      type: 'oauth2',
      tokenUrl: `${identity}/token`,
      clientId: 'team',
      clientSecret: 's3cret',
      scopes: ['write'],
    } as const
    const member = await remote(listening.url, { auth })
    expect(await answer(member, createTurn('hi'))).toBe('for corral')
    expect(await answer(member, createTurn('again'))).toBe('for corral')
    expect(asked).toHaveLength(1)
    expect(asked[0]).toContain('grant_type=client_credentials')
    expect(asked[0]).toContain('scope=write')
  })

  test.each([
    [0, 1],
    [2, 3],
  ])('%i retries are %i requests, not more', async (maxRetries, expected) => {
    let requests = 0
    const url = await serveHttp((_request, response) => {
      requests += 1
      response.statusCode = 503
      response.end()
    })
    const agent = await remote(url, { maxRetries })
    await expect(runTurn(agent, createTurn('go'))).rejects.toMatchObject({
      code: 'agentUnavailable',
    })
    expect(requests).toBe(expected)
  })

  test('the timeout bounds a member that never answers', async () => {
    const url = await serveHttp(() => {})
    const agent = await remote(url, { timeoutSeconds: 0.1, maxRetries: 0 })
    await expect(runTurn(agent, createTurn('go'))).rejects.toMatchObject({ code: 'timeout' })
  })
})
