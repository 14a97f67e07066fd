import { describe, expect, test } from 'vitest'
import { type CardCache, createCardCache } from '../../src/client/discovery.ts'
import { A2AClient, bearer } from '../../src/client/index.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { doneTask, serveAgent } from './agent.ts'
import { jsonRpc, testCard } from './cards.ts'
import { serve } from './serve.ts'

const echo = { SendMessage: () => ({ task: doneTask }) }

describe('the card', () => {
  test('is fetched once for many calls and clients that share a cache', async () => {
    const agent = await serveAgent(echo)
    const cardCache = createCardCache()
    for (let n = 0; n < 2; n++)
      await new A2AClient({ serverUrl: agent.url, cardCache }).sendMessage('hi')
    expect(agent.received.filter(({ method }) => method === 'GET')).toHaveLength(1)
  })

  test('that one client fetched anew is used by all who share the cache', async () => {
    const clock = createFakeClock()
    const cardCache = createCardCache({ clock })
    let endpoint = '/one'
    const agent = await serve(({ method, body }) =>
      method === 'GET'
        ? { body: testCard({ supportedInterfaces: [jsonRpc(agent.url + endpoint)] }) }
        : { body: { jsonrpc: '2.0', id: JSON.parse(body).id, result: doneTask } },
    )
    const clients = [1, 2].map(() => new A2AClient({ serverUrl: agent.url, cardCache, clock }))
    for (const client of clients) await client.getTask('t1')
    endpoint = '/two'
    clock.advance(300_000)
    for (const client of clients) await client.getTask('t1')
    const card = '/.well-known/agent-card.json'
    const asked = [card, '/one', '/one', card, '/two', '/two']
    expect(agent.received.map(({ path }) => path)).toEqual(asked)
  })

  test('may come from a cache that has only promises to give', async () => {
    const agent = await serveAgent(echo)
    const inner = createCardCache()
    const cardCache: CardCache = { get: inner.get, invalidate: inner.invalidate }
    const client = new A2AClient({ serverUrl: agent.url, cardCache })
    for (let n = 0; n < 2; n++) await client.sendMessage('hi')
    expect(agent.received.map(({ method }) => method)).toEqual(['GET', 'POST', 'POST'])
  })

  test('C-29 is fetched again after invalidate', async () => {
    const agent = await serveAgent(echo)
    const client = new A2AClient(agent.url)
    await client.fetchAgentCard()
    client.invalidate()
    await client.fetchAgentCard()
    expect(agent.received).toHaveLength(2)
  })

  test('is asked for once per call where the server forbids to keep it', async () => {
    const agent = await serve(({ path, body }) => {
      if (path === '/')
        return { body: { jsonrpc: '2.0', id: JSON.parse(body).id, result: doneTask } }
      const headers = { 'cache-control': 'no-store' }
      return { body: testCard({ supportedInterfaces: [jsonRpc(`${agent.url}/`)] }), headers }
    })
    const client = new A2AClient(agent.url)
    for (let n = 0; n < 2; n++) await client.getTask('t1')
    expect(agent.received.map(({ method }) => method)).toEqual(['GET', 'POST', 'GET', 'POST'])
  })

  test('H004 is replaced by the extended card for the session', async () => {
    const extended = testCard({ name: 'Extended', capabilities: { extendedAgentCard: true } })
    const agent = await serveAgent(
      { GetExtendedAgentCard: () => extended },
      { capabilities: { extendedAgentCard: true } },
    )
    const client = new A2AClient(agent.url)
    expect((await client.getExtendedAgentCard()).name).toBe('Extended')
    expect((await client.fetchAgentCard()).name).toBe('Extended')
    client.invalidate()
    expect((await client.fetchAgentCard()).name).toBe('Test agent')
  })

  test('is used on where it cannot be had for a while', async () => {
    const clock = createFakeClock()
    let down = false
    const agent = await serve(({ path, body }) => {
      if (path === '/')
        return { body: { jsonrpc: '2.0', id: JSON.parse(body).id, result: doneTask } }
      return down
        ? { status: 503 }
        : { body: testCard({ supportedInterfaces: [jsonRpc(`${agent.url}/`)] }) }
    })
    const client = new A2AClient({ serverUrl: agent.url, clock, retry: { maxRetries: 0 } })
    await client.getTask('t1')
    down = true
    clock.advance(300_000)
    expect(await client.getTask('t1')).toEqual(doneTask)
  })

  test('is asked for with credentials only where the server wants them', async () => {
    const agent = await serve(({ headers }) =>
      headers.authorization === 'Bearer t' ? { body: testCard() } : { status: 401 },
    )
    const client = new A2AClient({ serverUrl: agent.url, auth: bearer('t') })
    expect((await client.fetchAgentCard()).name).toBe('Test agent')
    expect(agent.received.map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      'Bearer t',
    ])
  })
})
