import { expect, onTestFinished, test } from 'vitest'
import { createChatClient } from '../../../src/agents/openai/client.ts'
import { createNamedRules } from '../../../src/network/guard.ts'
import { silent } from '../../../src/shared/log.ts'
import { createInstantClock, openModelServer } from '../../../src/testing/index.ts'
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
    const client = createChatClient({
      ...{ agent: 'Eye', endpoint, timeoutMs: 5_000, maxRetries: 0, rules },
      ...{ clock, random: () => 0, log: silent },
    })
    onTestFinished(client.close)
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
