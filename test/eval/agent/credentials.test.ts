import { expect, onTestFinished, test } from 'vitest'
import { createA2AConfig, openEndpoint } from '../../../src/eval/agent/under-test.ts'
import { createCollector } from '../../../src/eval/metrics.ts'
import { systemClock } from '../../../src/shared/clock.ts'
import { silent } from '../../../src/shared/log.ts'
import { doneTask } from '../../client/agent.ts'
import { jsonRpc, testCard } from '../../client/cards.ts'
import { serve } from '../../client/serve.ts'

test('the token stays with the endpoint unless the origin is allowed; the log says so once', async () => {
  const foreign = await serve(({ body }) => ({
    body: { jsonrpc: '2.0', id: JSON.parse(body).id, result: doneTask },
  }))
  const card = testCard({ supportedInterfaces: [jsonRpc(`${foreign.url}/rpc`)] })
  const agent = await serve(() => ({ body: card }))
  const warnings: object[] = []
  const log = { ...silent, warn: (fields: object) => void warnings.push(fields) }
  for (const credentialOrigins of [[], [foreign.url]]) {
    const config = { endpoint: agent.url, authToken: 'the-token', credentialOrigins }
    const endpoint = openEndpoint(createA2AConfig(config), { log })
    onTestFinished(endpoint.close)
    for (const _ of ['one simulation', 'another']) {
      const collector = createCollector({ endpoint: agent.url, clock: systemClock })
      await (await endpoint.client(collector)).getTask('t1')
    }
  }
  const sent = foreign.received.map(({ headers }) => headers.authorization)
  expect(sent).toEqual([undefined, undefined, 'Bearer the-token', 'Bearer the-token'])
  expect(warnings).toEqual([{ origin: foreign.url, auth: true, headers: [] }])
})
