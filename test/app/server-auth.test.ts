import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { parseConfig } from '../../src/app/config/load.ts'
import { toServerOptions } from '../../src/app/serve.ts'
import { serve } from '../acceptance/serve.ts'
import { act } from '../acceptance/wires.ts'
import { rest10 } from '../contracts/binding.ts'

const agent = `
[[agents]]
id = "a"
name = "A"
endpoint = "http://127.0.0.1:1/rpc"
protocol = "a2a"
`
const mirror = defineAgent({ id: 'a', name: 'A' }, (_message, turn) => turn.caller.userId)

/** Serves what a file says of authentication. */
async function open(auth: string): Promise<string> {
  const { server } = parseConfig(`${agent}${auth}`)
  return (await serve({ agents: [mirror], ...toServerOptions(server), logger: false })).url
}

const list = (url: string, token: string, tenant: object = {}): Promise<Response> =>
  act(url, rest10.write('ListTasks', tenant), { authorization: `Bearer ${token}` })
const cancel = (url: string, token: string): Promise<Response> =>
  act(url, rest10.write('CancelTask', { id: 'x' }), { authorization: `Bearer ${token}` })

/** An issuer of tokens, whose public key can be fetched until the test ends. */
async function openIssuer(): Promise<{
  readonly jwksUrl: string
  sign(claims: JWTPayload): Promise<string>
}> {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] })
  const server = createHttpServer((_request, response) => response.end(keys))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  // true: it listens on a port
  const { port } = server.address() as AddressInfo
  return {
    jwksUrl: `http://127.0.0.1:${port}/jwks`,
    sign: (claims) =>
      new SignJWT({ sub: 'ann', iss: 'https://issuer.example', aud: 'corral', ...claims })
        .setProtectedHeader({ alg: 'ES256' })
        .setExpirationTime('5m')
        .sign(privateKey),
  }
}

describe('[server.auth]', () => {
  test('takes tokens of its own and JWTs side by side, each with scopes and tenants', async () => {
    const { jwksUrl, sign } = await openIssuer()
    const url = await open(`
[[server.auth.bearer_tokens]]
token = "reader"
user = "rae"
scopes = ["tasks:read"]
[[server.auth.bearer_tokens]]
token = "acme"
user = "abe"
tenants = ["acme"]
[server.auth.jwt]
issuer = "https://issuer.example"
audience = "corral"
jwks_url = "${jwksUrl}"
tenant_claim = "org"
`)
    expect((await list(url, 'reader')).status).toBe(200)
    expect((await cancel(url, 'reader')).status).toBe(403)
    expect((await list(url, 'acme')).status).toBe(200)
    expect((await list(url, 'acme', { tenant: 'zeta' })).status).toBe(403)
    expect((await list(url, 'acme', { tenant: 'acme' })).status).toBe(200)
    const one = await sign({ org: 'acme' })
    expect((await list(url, one, { tenant: 'acme' })).status).toBe(200)
    expect((await list(url, one, { tenant: 'zeta' })).status).toBe(403)
    const several = await sign({ org: ['acme', 'zeta', ''] })
    expect((await list(url, several, { tenant: 'zeta' })).status).toBe(200)
    expect((await cancel(url, several)).status).toBe(404)
    expect((await list(url, await sign({}), { tenant: 'acme' })).status).toBe(403)
    for (const scopes of [{ scope: 'openid tasks:read' }, { scp: ['tasks:read'] }])
      expect((await cancel(url, await sign({ org: '', ...scopes }))).status).toBe(403)
    expect((await cancel(url, await sign({ org: '', scope: 'openid' }))).status).toBe(404)
  })

  test('takes API keys with scopes', async () => {
    const url = await open(`
[[server.auth.api_keys]]
key = "k"
user = "ann"
scopes = ["tasks:write", "agent:a"]
`)
    const as = { 'x-api-key': 'k' }
    expect((await act(url, rest10.write('ListTasks', {}), as)).status).toBe(403)
    expect((await act(url, rest10.write('CancelTask', { id: 'x' }), as)).status).toBe(404)
  })

  test.each([
    [
      'a scope that is none of ours',
      '[[server.auth.api_keys]]\nkey = "k"\nuser = "u"\nscopes = ["task:read"]',
      'a scope is tasks:read, tasks:write, push, operator or agent:ID',
    ],
    [
      'a secret algorithm',
      '[server.auth.jwt]\nissuer = "i"\naudience = "a"\njwks_url = "https://i.example"\nalgorithms = ["HS256"]',
      'name asymmetric algorithms only',
    ],
  ])('says what is wrong with %s', (_name, auth, problem) => {
    expect(() => parseConfig(`${agent}${auth}\n`)).toThrow(problem)
  })
})
