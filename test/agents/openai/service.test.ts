import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { ChatClient } from '../../../src/agents/openai/client.ts'
import { createNamedRules } from '../../../src/network/guard.ts'
import { silent } from '../../../src/shared/log.ts'
import { createFakeClock, createInstantClock, openModelServer } from '../../../src/testing/index.ts'
import { createResolver } from '../../network/resolver.ts'

test('a model service is reached inside, and not by a name that is public too', async () => {
  const server = await openModelServer(['hi'])
  onTestFinished(server.close)
  const port = new URL(server.url).port
  const ask = async (...answers: string[][]): Promise<string> => {
    const endpoint = `http://model.example.com:${port}/v1`
    const { lookup } = createResolver({ 'model.example.com': answers })
    const rules = createNamedRules([endpoint], { lookup })
    const clock = createInstantClock({ real: () => true })
    const client = new ChatClient({
      ...{ agent: 'Eye', endpoint, timeoutMs: 5_000, maxRetries: 0, rules },
      ...{ clock, random: () => 0, log: silent },
    })
    onTestFinished(() => client.close())
    const messages = [{ role: 'user', content: 'hi' }] as const
    const answer = client.complete({ model: 'm', messages }, new AbortController().signal)
    return answer.then(
      () => 'answered',
      ({ cause }) => cause.message,
    )
  }
  expect(await ask(['127.0.0.1'])).toBe('answered')
  expect(await ask(['127.0.0.1', '93.184.216.34'])).toContain('public and internal addresses')
  expect(server.requests).toHaveLength(1)
})

test('an end that has arrived when its time is over saves the connection', async () => {
  const rounds = 10
  const bodies: ServerResponse[] = []
  let connections = 0
  const http = createServer((_, response) => {
    const chunk = { choices: [{ delta: { content: 'hi' }, finish_reason: 'stop' }] }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`)
    bodies.push(response)
  }).on('connection', () => connections++)
  await once(http.listen(0, '127.0.0.1'), 'listening')
  const { port } = http.address() as AddressInfo // a listening TCP server has one
  const clock = createFakeClock()
  const client = new ChatClient({
    ...{ agent: 'Eye', endpoint: `http://127.0.0.1:${port}/v1`, timeoutMs: 5_000, maxRetries: 0 },
    ...{ clock, random: () => 0, log: silent },
  })
  onTestFinished(async () => {
    await client.close()
    http.close().closeAllConnections()
  })
  const messages = [{ role: 'user', content: 'hi' }] as const
  for (let round = 0; round < rounds; round++) {
    const answer = client.complete({ model: 'm', messages }, new AbortController().signal)
    await clock.timer((ms) => ms === 100)
    // Timers come before sockets in a turn of the loop, so a late one finds the end unread.
    await new Promise(setImmediate)
    bodies.at(-1)?.end()
    clock.advance(100)
    expect((await answer).text).toBe('hi')
  }
  expect(bodies).toHaveLength(rounds)
  expect(connections).toBeLessThanOrEqual(3)
})
