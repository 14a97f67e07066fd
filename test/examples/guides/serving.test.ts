import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../../src/app/config/load.ts'
import { A2AClient, apiKey, bearer } from '../../../src/client/index.ts'
import { temporary } from '../../cli/corral.ts'
import { guideFile, runHere, serveFile, serveProgram } from './guide.ts'

const key = (value: string) => apiKey(value, { location: 'header', name: 'X-API-Key' })

describe('a file', () => {
  test('lets in whom it names, and nobody else', async () => {
    const env = { ALICE_KEY: 'alice-secret', WATCH_TOKEN: 'watch-secret' }
    const url = await serveFile('serving/corral.toml', env)
    const alice = new A2AClient({ serverUrl: url, auth: key('alice-secret') })
    expect(await alice.run('violets')).toBe('Roses are red, violets')
    const watch = new A2AClient({ serverUrl: url, auth: bearer('watch-secret') })
    await expect(watch.run('violets')).rejects.toMatchObject({ code: 'forbidden' })
    expect((await watch.listTasks()).tasks).toEqual([])
    await expect(new A2AClient(url).run('violets')).rejects.toMatchObject({
      code: 'unauthenticated',
    })
    const completion = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'alice-secret' },
      body: JSON.stringify({ model: 'poet', messages: [{ role: 'user', content: 'violets' }] }),
    })
    expect((await completion.json()).choices[0].message.content).toBe('Roses are red, violets')
  })

  test('may name an issuer, a network and its proxies, and turn off what is on', async () => {
    const { server } = await loadConfig(guideFile('serving/public.toml'), {})
    expect(server).toMatchObject({
      host: '0.0.0.0',
      publicUrl: 'https://agents.example.com',
      trustedProxies: ['10.0.0.0/8'],
      auth: { jwt: { userClaim: 'sub', tenantClaim: 'tenant' } },
      webhooks: { enabled: false },
      console: { enabled: false },
    })
  })
})

test('a server in code knows callers by key, token and session, and has a route of its own', async () => {
  const serverUrl = await serveProgram('serving/server.mjs', { cwd: temporary() })
  const alice = new A2AClient({ serverUrl, auth: key('alice-secret') })
  expect(await alice.run('Hello')).toBe('Roses for alice')
  const bob = new A2AClient({ serverUrl, headers: { cookie: 'session=4711' } })
  expect(await bob.run('Hello')).toBe('Roses for bob')
  expect(await (await fetch(`${serverUrl}/version`)).text()).toBe('1.0\n')
})

describe('inside a server of its own', () => {
  test.each([
    ['node:http', 'serving/node.mjs', ''],
    ['express', 'serving/express.mjs', '/a2a'],
  ])('%s answers beside its other routes', async (_, file, mount) => {
    const url = await serveProgram(file)
    expect(await (await fetch(`${url}/hello`)).text()).toBe('Hello\n')
    const client = new A2AClient(`${url}${mount}`)
    expect(await client.run('Hello')).toBe('Echo: Hello')
    const { supportedInterfaces } = await client.fetchAgentCard()
    for (const { url: at } of supportedInterfaces) expect(at).toContain(`${url}${mount}`)
    const events = []
    for await (const event of client.sendMessageStream('Hello')) events.push(event)
    expect(events.length).toBeGreaterThan(1)
    await client.close()
  })

  test('hono answers under its path', async () => {
    expect(await runHere('serving/hono.mjs')).toEqual([
      'Echo Agent http://agents.example/a2a/v1/rpc',
    ])
  })
})
