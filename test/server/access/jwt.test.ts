import { createLocalJWKSet, type JSONWebKeySet } from 'jose'
import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/function.ts'
import { bearer, createServer, jwt, type Server } from '../../../src/server/index.ts'
import { createFakeClock } from '../../../src/testing/index.ts'
import { audience, honest, hostile, issuer, jwks, now } from '../jwt-corpus.ts'

const clock = createFakeClock(now * 1_000)

// true: its keys are what node exports as JWKs
const keys = createLocalJWKSet(jwks as JSONWebKeySet)

const tokens = jwt({ issuer, audience, jwks: keys, clock })

const whoAmI = defineAgent({ name: 'Who' }, (_message, turn) => `You are ${turn.caller.userId}`)

interface Answer {
  readonly status: number
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

async function ask(server: Server, authorization: string): Promise<Answer> {
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'who' }] }
  const { status, headers, body } = await server.handle({
    method: 'POST',
    path: '/message:send',
    query: '',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', authorization },
    body: JSON.stringify({ message }),
  })
  return { status, headers, body: String(body) }
}

async function serve(logged: string[] = []): Promise<Server> {
  const note = (fields: object, text: string): void =>
    void logged.push(`${text} ${JSON.stringify(fields)}`)
  const logger = { debug: note, info: note, warn: note, error: note }
  const auth = { authenticators: [bearer({ tokens: { opaque: 'bob' } }), tokens] }
  return createServer({ agents: [whoAmI], auth, logger })
}

describe('a JWT', () => {
  test.each(Object.entries(honest))('%s is accepted', async (_name, token) => {
    const { status, body } = await ask(await serve(), `Bearer ${token}`)
    expect([status, body]).toEqual([200, expect.stringContaining('You are ann')])
  })

  test('is refused where anything is wrong, always with the same answer, and the log says why', async () => {
    const logged: string[] = []
    const server = await serve(logged)
    const expected = await ask(server, 'Bearer nobody-knows-this')
    expect(expected.status).toBe(401)
    expect(expected.headers['www-authenticate']).toBe('Bearer realm="a2a"')
    const cases = Object.entries(hostile)
    expect(cases.length).toBeGreaterThanOrEqual(45)
    for (const [name, token] of cases) {
      logged.length = 0
      expect([name, await ask(server, `Bearer ${token}`)]).toEqual([name, expected])
      expect([name, logged.join()]).toEqual([name, expect.stringMatching(/refused.*reason/)])
      expect([name, logged.join().includes(token)]).toEqual([name, false])
    }
  })

  test('that has ended, or is for others, is told apart in the log', async () => {
    const logged: string[] = []
    const server = await serve(logged)
    for (const name of ['expired', 'another aud', 'an unknown kid'])
      await ask(server, `Bearer ${hostile[name]}`)
    expect(logged).toEqual([
      expect.stringContaining('exp'),
      expect.stringContaining('aud'),
      expect.stringContaining('key'),
    ])
  })

  test.each(['HS256', 'none', 'hs512'])('is never checked by %s', (algorithm) => {
    expect(() => jwt({ issuer, audience, jwks: keys, algorithms: [algorithm] })).toThrow(
      'asymmetric',
    )
  })
})
