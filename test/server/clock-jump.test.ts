import { describe, expect, test } from 'vitest'
import { createCardCache } from '../../src/client/discovery.ts'
import { A2AClient, clientCredentials } from '../../src/client/index.ts'
import { createHttp } from '../../src/client/node.ts'
import { AgentManager } from '../../src/team/manager.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { serveAgent as serveByHand } from '../client/agent.ts'
import { clients, startAuthorizationServer } from '../client/authorization-server.ts'
import { testCard } from '../client/cards.ts'
import { serve } from '../client/serve.ts'
import { member } from '../fixtures/members.ts'
import { rpc, serveAgent, text } from './sockets.ts'

const hour = 3_600_000
const minute = 60_000

/** The time of day may be set at any moment, by hand or by the network; what takes its time goes on as it was. */
describe.each([
  ['back', -hour],
  ['forth', hour],
])('when the time of day is set %s by an hour', (_, jump) => {
  test('a quiet stream goes on beating at its pace', async () => {
    const clock = createFakeClock(Date.now())
    const { url } = await serveAgent({ clock })
    const response = await fetch(`${url}/`, rpc('SendStreamingMessage', text('hold')))
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    await reader?.read()
    for (let beat = 0; beat < 2; beat++) {
      const next = reader?.read()
      clock.advance(14_999)
      clock.jump(jump)
      clock.advance(1)
      expect((await next)?.value).toBe(': heartbeat\n\n')
    }
    await reader?.cancel()
  })

  test('a card is fetched again when it is five minutes old, and not before', async () => {
    const clock = createFakeClock()
    const cache = createCardCache({ clock })
    const { send } = createHttp({ clock })
    const server = await serve(() => ({ body: testCard() }))
    await cache.get(server.url, { send })
    clock.jump(jump)
    clock.advance(5 * minute - 1)
    await cache.get(server.url, { send })
    expect(server.received).toHaveLength(1)
    clock.advance(1)
    await cache.get(server.url, { send })
    expect(server.received).toHaveLength(2)
  })

  test('a token is renewed before it ends, and not before that', async () => {
    const server = await startAuthorizationServer()
    const clock = createFakeClock(Date.now())
    const { tokenUrl } = server.endpoints
    const auth = clientCredentials({ ...clients.service, tokenUrl, allowInsecure: true, clock })
    const request = { method: 'GET', url: 'http://h/', headers: {} }
    await auth.apply(request)
    clock.jump(jump)
    clock.advance(9 * minute)
    await auth.apply(request)
    expect(server.tokenRequests).toHaveLength(1)
    clock.advance(minute / 2)
    await auth.apply(request)
    expect(server.tokenRequests).toHaveLength(2)
  })

  test('the health of a member is asked for again after two seconds, and not before', async () => {
    const clock = createFakeClock(Date.now())
    const manager = new AgentManager({ clock })
    let asked = 0
    const health = async () => ({ healthy: ++asked > 0 })
    manager.registerWithId('a', member('a', undefined, { health }))
    await manager.health('a')
    clock.jump(jump)
    clock.advance(1_999)
    await manager.health('a')
    expect(asked).toBe(1)
    clock.advance(1)
    await manager.health('a')
    expect(asked).toBe(2)
  })

  test('polling ends at its deadline', async () => {
    const clock = createFakeClock()
    const status = { state: 'TASK_STATE_WORKING' }
    const agent = await serveByHand({ GetTask: () => ({ id: 't1', contextId: 'c', status }) })
    const client = new A2AClient({ serverUrl: agent.url, clock })
    const poll = client.pollUntilComplete('t1', { deadlineMs: 2_500 })
    const failed = expect(poll).rejects.toMatchObject({ code: 'timeout' })
    await clock.elapse(1_000)
    clock.jump(jump)
    await clock.elapse(1_000)
    await failed
    expect(agent.calls).toHaveLength(3)
  })
})
