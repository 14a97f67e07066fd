import { describe, expect, test } from 'vitest'
import type { AgentAuth, AgentConfig } from '../../../src/agents/config.ts'
import { createAgentFromConfig } from '../../../src/agents/create.ts'
import { silent } from '../../../src/shared/log.ts'
import { doneTask } from '../../client/agent.ts'
import { jsonRpc, testCard } from '../../client/cards.ts'
import { serve, type TestServer } from '../../client/serve.ts'
import { createTurn, runTurn } from '../../fixtures/turn.ts'

const secret = 'secret-of-the-operator'

/** A member whose card names an interface on another origin, and an authorization server of the operator's. */
async function servePlaces(): Promise<
  Readonly<Record<'member' | 'foreign' | 'tokens', TestServer>>
> {
  const foreign = await serve(({ body }) => ({
    body: { jsonrpc: '2.0', id: JSON.parse(body).id, result: { task: doneTask } },
  }))
  const capabilities = { streaming: false }
  const supportedInterfaces = [jsonRpc(`${foreign.url}/rpc`)]
  const member = await serve(() => ({ body: testCard({ capabilities, supportedInterfaces }) }))
  const tokens = await serve(() => ({
    body: { access_token: `token-for-${secret}`, token_type: 'Bearer' },
  }))
  return { member, foreign, tokens }
}

const kinds: readonly (readonly [string, (tokens: TestServer) => Partial<AgentConfig>])[] = [
  ['an API key', () => auth({ type: 'api_key', key: secret })],
  ['a bearer token', () => auth({ type: 'bearer', token: secret })],
  ['a key in the metadata', () => ({ metadata: { api_key: secret } })],
  [
    'a token of OAuth',
    ({ url }) =>
      auth({
        type: 'oauth2',
        tokenUrl: `${url}/token`,
        clientId: 'corral',
        clientSecret: secret,
      }),
  ],
]

function auth(given: AgentAuth): Partial<AgentConfig> {
  return { auth: given }
}

async function ask(config: Partial<AgentConfig>, endpoint: string): Promise<readonly object[]> {
  const warnings: object[] = []
  const log = { ...silent, warn: (fields: object) => void warnings.push(fields) }
  const agent = await createAgentFromConfig(
    { id: 'member', name: 'Member', endpoint, protocol: 'a2a', ...config },
    { directory: '.', log },
  )
  try {
    await runTurn(agent, createTurn('hi'))
    return warnings
  } finally {
    await agent.close?.()
  }
}

describe.each(kinds)('%s', (_kind, toConfig) => {
  test('stays with the endpoint of the configuration, and the log says so', async () => {
    const { member, foreign, tokens } = await servePlaces()
    const warnings = await ask(toConfig(tokens), member.url)
    expect(foreign.received).not.toHaveLength(0)
    expect(JSON.stringify(foreign.received)).not.toContain(secret)
    expect(warnings).toEqual([{ origin: foreign.url, auth: true, headers: [] }])
  })

  test('goes to an origin that the configuration allows', async () => {
    const { member, foreign, tokens } = await servePlaces()
    const config = { ...toConfig(tokens), credentialOrigins: [foreign.url] }
    expect(await ask(config, member.url)).toEqual([])
    expect(JSON.stringify(foreign.received[0]?.headers)).toContain(secret)
  })
})
