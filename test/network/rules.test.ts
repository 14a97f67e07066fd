import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { A2AAgent } from '../../src/agents/remote/agent.ts'
import {
  createNamedRules,
  type AddressGuard as Reach,
  type Rules,
} from '../../src/network/guard.ts'
import { toTarget } from '../../src/shared/text.ts'
import { jsonRpc, testCard } from '../client/cards.ts'
import { createTurn, runTurn } from '../fixtures/turn.ts'

/** Whether rules let a host be reached at these addresses, by its URL and by what its name resolves to. */
function reaches(rules: Rules, url: string, ...addresses: string[]): boolean {
  const target = toTarget(url)
  if (!target || rules.refuse(target) !== undefined) return false
  const { host } = target
  return !rules.refuseAddresses({ host, addresses, named: rules.isNamed(target) })
}

describe('where requests to a member may go', () => {
  test('a public member leads to public addresses only', () => {
    const rules = createNamedRules(['https://agent.example.com/a2a'])
    expect(reaches(rules, 'https://agent.example.com', '93.184.216.34')).toBe(true)
    expect(reaches(rules, 'https://api.example.com', '93.184.216.35')).toBe(true)
    expect(reaches(rules, 'http://169.254.169.254', '169.254.169.254')).toBe(false)
    expect(reaches(rules, 'https://db.example.com', '10.0.0.7')).toBe(false)
    expect(reaches(rules, 'https://both.example.com', '93.184.216.35', '127.0.0.1')).toBe(false)
    expect(reaches(rules, 'https://[::1]', '::1')).toBe(false)
  })

  test('its own name may not move inside later', () => {
    const rules = createNamedRules(['https://agent.example.com'])
    expect(reaches(rules, 'https://agent.example.com', '93.184.216.34')).toBe(true)
    expect(reaches(rules, 'https://AGENT.example.com.', '127.0.0.1')).toBe(false)
    expect(reaches(rules, 'https://agent.example.com', '93.184.216.34')).toBe(true)
  })

  test.each([
    ['public first', ['93.184.216.34', '10.0.0.7']],
    ['internal first', ['10.0.0.7', '93.184.216.34']],
    ['of two families', ['2606:4700::1', '127.0.0.1']],
  ])('a name with public and internal addresses at once opens nothing inside: %s', (_, both) => {
    const rules = createNamedRules(['https://agent.example.com'])
    expect(reaches(rules, 'https://agent.example.com', ...both)).toBe(false)
    expect(reaches(rules, 'https://agent.example.com', '10.0.0.7')).toBe(false)
    expect(reaches(rules, 'http://10.9.9.9', '10.9.9.9')).toBe(false)
  })

  test.each([
    ['http://127.0.0.1:8081/rpc', '127.0.0.1'],
    ['http://localhost:8081', '127.0.0.1'],
    ['https://agents.corp.example', '10.1.2.3'],
    ['http://[::1]:8081', '::1'],
    ['http://agents.corp.example:88', '10.1.2.3'],
  ])('a member that the operator has inside, at %s, may name others inside', (url, address) => {
    const rules = createNamedRules([url])
    expect(reaches(rules, url, address)).toBe(true)
    expect(reaches(rules, 'http://10.9.9.9', '10.9.9.9')).toBe(true)
    expect(reaches(rules, 'http://localhost:9000', '::1', '127.0.0.1')).toBe(true)
  })

  test('a member inside leads neither to the metadata of a cloud nor to the ports of other services', () => {
    const rules = createNamedRules(['http://127.0.0.1:8081'])
    expect(reaches(rules, 'http://127.0.0.1:8081', '127.0.0.1')).toBe(true)
    expect(reaches(rules, 'http://169.254.169.254', '169.254.169.254')).toBe(false)
    expect(reaches(rules, 'http://[::ffff:169.254.169.254]', '::ffff:a9fe:a9fe')).toBe(false)
    expect(reaches(rules, 'http://[fd00:ec2::254]', 'fd00:ec2::254')).toBe(false)
    expect(reaches(rules, 'http://100.100.100.200', '100.100.100.200')).toBe(false)
    expect(reaches(rules, 'http://127.0.0.1:22', '127.0.0.1')).toBe(false)
  })

  test('a member that has moved to a public address leads inside no more', () => {
    const rules = createNamedRules(['https://agent.example.com'])
    expect(reaches(rules, 'https://agent.example.com', '10.1.2.3')).toBe(true)
    expect(reaches(rules, 'http://10.9.9.9', '10.9.9.9')).toBe(true)
    expect(reaches(rules, 'https://agent.example.com', '93.184.216.34')).toBe(true)
    expect(reaches(rules, 'http://10.9.9.9', '10.9.9.9')).toBe(false)
  })

  test('what the operator allows besides is reached as written, and nothing follows from it', () => {
    const outside = createNamedRules(['https://agent.example.com'], {
      others: ['https://api.corp.example'],
    })
    expect(reaches(outside, 'https://api.corp.example', '10.1.2.3')).toBe(true)
    expect(reaches(outside, 'http://10.9.9.9', '10.9.9.9')).toBe(false)
    const inside = createNamedRules(['https://agent.corp.example'], {
      others: ['https://api.example.com'],
    })
    expect(reaches(inside, 'https://api.example.com', '93.184.216.34')).toBe(true)
    expect(reaches(inside, 'https://agent.corp.example', '10.1.2.3')).toBe(true)
    expect(reaches(inside, 'http://10.9.9.9', '10.9.9.9')).toBe(true)
    expect(reaches(inside, 'https://api.example.com', '10.1.2.3')).toBe(false)
  })

  test('nothing inside before the member’s own place is known', () => {
    const rules = createNamedRules(['https://agent.example.com'])
    expect(reaches(rules, 'http://10.9.9.9', '10.9.9.9')).toBe(false)
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
