import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exportJWK, generateKeyPair } from 'jose'
import { describe, expect, test } from 'vitest'
import { type AgentCard, signCard } from '../../src/index.ts'
import { doneTask } from '../client/agent.ts'
import { jsonRpc, testCard } from '../client/cards.ts'
import { serve, type TestServer } from '../client/serve.ts'
import { corral, temporary } from './corral.ts'

const secret = 'secretOfTheUser'

/** An agent whose card names an interface on another origin. */
async function servePair(
  toCard: (card: AgentCard) => AgentCard | Promise<AgentCard> = (card) => card,
): Promise<{ readonly named: TestServer; readonly foreign: TestServer }> {
  const foreign = await serve(({ body }) => ({
    body: { jsonrpc: '2.0', id: JSON.parse(body).id, result: doneTask },
  }))
  const card = testCard({ supportedInterfaces: [jsonRpc(`${foreign.url}/rpc`)] })
  const named = await serve(async () => ({ body: await toCard(card) }))
  return { named, foreign }
}

const kinds: readonly (readonly [string, readonly string[]])[] = [
  ['bearer token', ['--bearer-token', secret]],
  ['API key', ['--api-key', secret]],
  ['header x-team', ['--header', `X-Team: ${secret}`]],
  ['bearer token, header x-team', ['--bearer-token', secret, '--header', `X-Team: ${secret}`]],
]

describe.each(kinds)('the %s of a command', (words, flags) => {
  test('stays with the origin of its URL, and stderr says so once', async () => {
    const { named, foreign } = await servePair()
    const { code, stdout, stderr } = await corral([
      ...['task', 'get', named.url, 't1', '--json'],
      ...flags,
    ])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ id: 't1' })
    expect(stderr).toBe(
      `Not sent to ${foreign.url}: ${words}. The card names this origin, the command does not.\nAllow it with --credential-origin ${foreign.url}\n`,
    )
    expect(JSON.stringify(foreign.received)).not.toContain(secret)
  })

  test('goes where --credential-origin allows it', async () => {
    const { named, foreign } = await servePair()
    const allow = ['--credential-origin', foreign.url]
    const { code, stderr } = await corral(['task', 'get', named.url, 't1', ...allow, ...flags])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.stringify(foreign.received[0]?.headers)).toContain(secret)
  })
})

test('nothing is said where nothing was kept back', async () => {
  const { named } = await servePair()
  expect(await corral(['task', 'get', named.url, 't1'])).toMatchObject({ code: 0, stderr: '' })
})

test('what is no origin is refused before anything is sent', async () => {
  const { named } = await servePair()
  const flags = ['--bearer-token', secret, '--credential-origin', 'api.example.com']
  const { code, stderr } = await corral(['task', 'get', named.url, 't1', ...flags])
  expect(code).not.toBe(0)
  expect(stderr).toContain('must be an origin such as https://')
  expect(named.received).toEqual([])
})

test('a client secret is kept from a token URL of the card, and the hint says how to allow it', async () => {
  const tokens = await serve(() => ({ body: { access_token: 'token', token_type: 'Bearer' } }))
  const { named, foreign } = await servePair((card) => ({
    ...card,
    securitySchemes: {
      login: {
        oauth2SecurityScheme: {
          flows: { clientCredentials: { tokenUrl: `${tokens.url}/token`, scopes: {} } },
        },
      },
    },
    securityRequirements: [{ schemes: { login: {} } }],
  }))
  const flags = ['--oauth-client-id', 'me', '--oauth-client-secret', secret]
  const both = [...flags, '--credential-origin', foreign.url]
  const refused = await corral(['task', 'get', named.url, 't1', ...both])
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain(`Allow it with --credential-origin ${tokens.url}\n`)
  expect(tokens.received).toEqual([])
  const allow = ['--credential-origin', tokens.url]
  expect(await corral(['task', 'get', named.url, 't1', ...both, ...allow])).toMatchObject({
    code: 0,
  })
  expect(foreign.received.at(-1)?.headers.authorization).toBe('Bearer token')
})

describe('--card-keys', () => {
  test('trusts the origins of a card that one of the keys signed, and no other card', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
    const path = join(temporary(), 'keys.json')
    const key = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256' }
    writeFileSync(path, JSON.stringify({ keys: [key] }))
    const header = { alg: 'ES256', kid: 'k1' }
    const signed = await servePair((card) => signCard(card, privateKey, header))
    const flags = ['--bearer-token', secret, '--card-keys', path]
    const taken = await corral(['task', 'get', signed.named.url, 't1', ...flags])
    expect(taken).toMatchObject({ code: 0, stderr: '' })
    expect(signed.foreign.received[0]?.headers.authorization).toBe(`Bearer ${secret}`)
    const unsigned = await servePair()
    const refused = await corral(['task', 'get', unsigned.named.url, 't1', ...flags])
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('not signed')
    expect(unsigned.foreign.received).toEqual([])
  })

  test('says so where the file holds no keys', async () => {
    const path = join(temporary(), 'keys.json')
    writeFileSync(path, '{"key": 1}')
    const { named } = await servePair()
    const { code, stderr } = await corral(['card', named.url, '--card-keys', path])
    expect(code).toBe(2)
    expect(stderr).toContain('JSON Web Key Set')
  })
})
