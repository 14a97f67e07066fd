import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { A2AAgent } from '../../src/agents/remote/agent.ts'
import type { Reach } from '../../src/client/index.ts'
import { createMemberGuard } from '../../src/network/guard.ts'
import { jsonRpc, testCard } from '../client/cards.ts'
import { createTurn, runTurn } from '../fixtures/turn.ts'

describe('where requests to a member may go', () => {
  test('a public member leads to public addresses only', () => {
    const reach = createMemberGuard('https://agent.example.com/a2a')
    expect(reach('agent.example.com', ['93.184.216.34'])).toBe(true)
    expect(reach('api.example.com', ['93.184.216.35'])).toBe(true)
    expect(reach('169.254.169.254', ['169.254.169.254'])).toBe(false)
    expect(reach('db.example.com', ['10.0.0.7'])).toBe(false)
    expect(reach('both.example.com', ['93.184.216.35', '127.0.0.1'])).toBe(false)
    expect(reach('::1', ['::1'])).toBe(false)
  })

  test('its own name may not move inside later', () => {
    const reach = createMemberGuard('https://agent.example.com')
    expect(reach('agent.example.com', ['93.184.216.34'])).toBe(true)
    expect(reach('AGENT.example.com.', ['127.0.0.1'])).toBe(false)
  })

  test('a member that the operator has inside may name others inside', () => {
    for (const [endpoint, host, address] of [
      ['http://127.0.0.1:8081/rpc', '127.0.0.1', '127.0.0.1'],
      ['http://localhost:8081', 'localhost', '127.0.0.1'],
      ['https://agents.corp.example', 'agents.corp.example', '10.1.2.3'],
      ['http://[::1]:8081', '::1', '::1'],
    ] as const) {
      const reach = createMemberGuard(endpoint)
      expect(reach(host, [address])).toBe(true)
      expect(reach('10.9.9.9', ['10.9.9.9'])).toBe(true)
    }
  })

  test('nothing inside before the member’s own place is known', () => {
    expect(createMemberGuard('https://agent.example.com')('10.9.9.9', ['10.9.9.9'])).toBe(false)
  })
})

async function listen(listener: RequestListener): Promise<number> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port // a listening TCP server has one
}

test.each(['localhost', '127.1', '[::ffff:127.0.0.1]'])(
  'a card that points to %s is not followed there',
  async (host) => {
    let visits = 0
    const inside = await listen((_request, response) => {
      visits += 1
      response.end('{}')
    })
    const outside = await listen((_request, response) => {
      const card = testCard({ supportedInterfaces: [jsonRpc(`http://${host}:${inside}/`)] })
      response.setHeader('content-type', 'application/json').end(JSON.stringify(card))
    })
    // No test can reach a public member: this one’s own host counts as one, by its first visit.
    let visited = false
    const reach: Reach = (name, addresses) => {
      const isOwn = !visited && name === '127.0.0.1' && addresses.length === 1
      visited = true
      return isOwn
    }
    const agent = new A2AAgent({
      endpoint: `http://127.0.0.1:${outside}`,
      timeoutSeconds: 5,
      maxRetries: 0,
      taskHandling: 'PollUntilComplete',
      reach,
    })
    onTestFinished(() => agent.close())
    await expect(runTurn(agent, createTurn('x'))).rejects.toMatchObject({
      code: 'agentUnavailable',
    })
    expect(visits).toBe(0)
  },
)
