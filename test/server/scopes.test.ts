import { describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { A2AAgent } from '../../src/agents/remote/agent.ts'
import { A2AClient, JsonRpcTransport } from '../../src/client/index.ts'
import { type AuthContext, hasScope, operations } from '../../src/protocol/operations.ts'
import { bearer, createServer, extractor, type ServerOptions } from '../../src/server/index.ts'
import { get, type Posted, post, serve } from '../acceptance/serve.ts'
import { type Act, act, type RawRequest, wires } from '../acceptance/wires.ts'
import { start } from '../cli/corral.ts'
import { rest10, rpc10 } from '../contracts/binding.ts'

const echo = defineAgent({ id: 'echo', name: 'Echo' }, (_, { tenant }) => `hi from [${tenant}]`)
const other = defineAgent({ id: 'other', name: 'Other' }, () => 'ho')

const callers = <K extends string>(all: Record<K, AuthContext>): Record<K, AuthContext> => all

/** Users by what their credentials are good for; the token is the user's name. */
const users = callers({
  all: { userId: 'all' },
  foreign: { userId: 'foreign', scopes: ['openid', 'profile'] },
  reader: { userId: 'reader', scopes: ['tasks:read', 'openid'] },
  writer: { userId: 'writer', scopes: ['tasks:write'] },
  pusher: { userId: 'pusher', scopes: ['push', 'tasks:write'] },
  operator: { userId: 'operator', scopes: ['operator'] },
  one: { userId: 'one', scopes: ['agent:other'] },
  tenant: { userId: 'tenant', tenants: ['acme'] },
  homeless: { userId: 'homeless', tenants: [] },
  both: { userId: 'both', tenants: ['', 'acme'] },
  several: { userId: 'several', tenants: ['acme', 'zeta'] },
})
type User = keyof typeof users
const as = (user: User): Record<string, string> => ({ authorization: `Bearer ${user}` })

async function open(more: Partial<ServerOptions> = {}): Promise<string> {
  const auth = { authenticators: [bearer({ tokens: users })] }
  const options = { pushNotifications: true, extendedCard: <T>(card: T): T => card, logger: false }
  return (await serve({ agents: [echo, other], auth, ...options, ...more } as ServerOptions)).url
}

const needs: Readonly<Record<Act, string | undefined>> = {
  send: 'tasks:write',
  stream: 'tasks:write',
  get: 'tasks:read',
  list: 'tasks:read',
  cancel: 'tasks:write',
  subscribe: 'tasks:read',
  setPush: 'push',
  getPush: 'push',
  listPush: 'push',
  deletePush: 'push',
  extendedCard: undefined,
}
// true: its keys are the acts
const acts = Object.keys(needs) as Act[]
const cases = wires.flatMap((wire) =>
  acts.flatMap((name) => {
    const request = wire.request(name, { text: 'hi', ...(name !== 'send' && { id: 'x' }) })
    return request ? [{ wire: wire.name, name, request }] : []
  }),
)

describe('a scope', () => {
  test.each(cases)(
    'is asked for by $name in $wire, before anything is looked up',
    async ({ name, request }) => {
      const url = await open()
      for (const user of ['all', 'foreign', 'reader', 'writer', 'pusher', 'operator'] as const) {
        const { status, headers } = await act(url, request, as(user))
        const { scopes } = users[user]
        const need = needs[name]
        const may = !need || user === 'all' || user === 'foreign' || scopes?.includes(need)
        expect([user, status === 403]).toEqual([user, !may])
        expect([user, headers.get('www-authenticate')]).toEqual([
          user,
          may ? null : `Bearer error="insufficient_scope", scope="${need}"`,
        ])
      }
    },
  )

  test('stands in the row of every operation but the extended card', () => {
    const rows = Object.entries(operations).filter(([, { scope }]) => scope === undefined)
    expect(rows.map(([name]) => name)).toEqual(['GetExtendedAgentCard'])
  })

  test('of webhooks is asked for by a message that brings one', async () => {
    const url = await open()
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
    const taskPushNotificationConfig = { url: 'https://hooks.example.com/a' }
    const request = { message, configuration: { taskPushNotificationConfig } }
    for (const wire of [rest10, rpc10])
      for (const name of ['SendMessage', 'SendStreamingMessage'] as const) {
        const raw = wire.write(name, request)
        expect((await act(url, raw, as('writer'))).headers.get('www-authenticate')).toContain(
          'scope="push"',
        )
        expect((await act(url, raw, as('pusher'))).status).toBe(200)
      }
  })

  test('agent:ID is good for this agent alone, whatever is asked', async () => {
    const url = await open()
    const request = rest10.write('ListTasks', {})
    const refused = await act(url, request, as('one'))
    expect(refused.status).toBe(403)
    expect(refused.headers.get('www-authenticate')).toContain('scope="agent:echo"')
    expect((await act(`${url}/agents/other`, request, as('one'))).status).toBe(200)
    expect((await act(`${url}/agents/other`, request, as('all'))).status).toBe(200)
  })

  test('operator is for those who have it alone', () => {
    expect(hasScope(users.operator, 'operator')).toBe(true)
    for (const user of ['all', 'foreign', 'reader', 'one'] as const)
      expect(hasScope(users[user], 'operator')).toBe(false)
  })

  test('may come from code of one’s own', async () => {
    const auth = {
      authenticators: [extractor(() => ({ userId: 'ann', scopes: ['tasks:read'] }))],
    }
    const url = await open({ auth })
    expect((await act(url, rest10.write('ListTasks', {}))).status).toBe(200)
    expect((await act(url, rest10.write('CancelTask', { id: 'x' }))).status).toBe(403)
  })
})

const chat = JSON.stringify({ model: 'echo', messages: [{ role: 'user', content: 'hi' }] })
const inContext = JSON.stringify({ ...JSON.parse(chat), metadata: { context_id: 'c' } })
const mcp = (method: string, params: object = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
const callTool = mcp('tools/call', { name: 'echo', arguments: { message: 'hi' } })
const said = { messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }
const v03 = mcp('message/send', { message: said })
const ranch = mcp('message/send', { message: { role: 'user', parts: [{ text: 'hi' }] } })
const mcpHeaders = { accept: 'application/json, text/event-stream' }

describe('a door that is not A2A’s', () => {
  const ask = (url: string, user: User, more: object = {}): Promise<readonly Posted[]> => {
    const headers = { ...as(user), ...more }
    return Promise.all([
      post(`${url}/v1/chat/completions`, chat, headers),
      post(`${url}/v1/chat/completions`, inContext, headers),
      post(`${url}/v1/chat`, chat, headers),
      post(`${url}/mcp`, callTool, { ...mcpHeaders, ...headers }),
      post(`${url}/rpc`, ranch, headers),
      post(url, v03, headers),
    ])
  }

  test('needs the scope to send, and no other', async () => {
    const url = await open()
    for (const { status, text } of await ask(url, 'writer'))
      expect([status, text]).toEqual([200, expect.stringContaining('hi')])
    for (const { status, headers } of await ask(url, 'reader')) {
      expect(status).toBe(403)
      expect(headers.get('www-authenticate')).toContain('scope="tasks:write"')
    }
  })

  test.each<[User, string | undefined, string]>([
    ['tenant', undefined, 'acme'],
    ['tenant', 'acme', 'acme'],
    ['both', undefined, ''],
    ['both', 'acme', 'acme'],
    ['several', 'zeta', 'zeta'],
    ['all', undefined, ''],
    ['all', 'zeta', 'zeta'],
  ])('puts %s, whose header names %s, in the tenant "%s"', async (user, named, tenant) => {
    const url = await open()
    const header = named === undefined ? {} : { 'a2a-tenant': named }
    for (const { status, text } of await ask(url, user, header))
      expect([status, text]).toEqual([200, expect.stringContaining(`[${tenant}]`)])
  })

  test.each<[User, string | undefined]>([
    ['tenant', 'zeta'],
    ['homeless', undefined],
    ['several', undefined],
    ['several', 'other'],
  ])('rejects %s, whose header names %s', async (user, named) => {
    const url = await open()
    const header = named === undefined ? {} : { 'a2a-tenant': named }
    for (const { status } of await ask(url, user, header)) expect(status).toBe(403)
  })

  test('takes no header that is no tenant', async () => {
    const headers = { ...as('all'), 'a2a-tenant': 'x'.repeat(257) }
    expect((await post(`${await open()}/v1/chat`, chat, headers)).status).toBe(400)
  })
})

describe('a tenant', () => {
  const inTenant = (request: RawRequest | undefined): RawRequest => {
    if (!request) throw new Error('1.0 has every operation')
    return request
  }
  const requests = (tenant: object): readonly RawRequest[] =>
    [rest10, rpc10].flatMap((wire) => [
      inTenant(wire.write('ListTasks', tenant)),
      inTenant(wire.write('GetTask', { id: 'x', ...tenant })),
      inTenant(wire.write('CancelTask', { id: 'x', ...tenant })),
      inTenant(wire.write('GetTaskPushNotificationConfig', { taskId: 'x', id: 'y', ...tenant })),
    ])

  test('that the credential is not good for is refused by every operation alike', async () => {
    const url = await open()
    const bodies = new Map<string, Set<string>>()
    for (const user of ['tenant', 'homeless'] as const)
      for (const tenant of user === 'homeless' ? [{ tenant: 'zeta' }, {}] : [{ tenant: 'zeta' }])
        for (const request of requests(tenant)) {
          const response = await act(url, request, as(user))
          expect(response.status).toBe(403)
          const binding = request.path === '/' ? 'JSONRPC' : 'HTTP+JSON'
          bodies.set(binding, (bodies.get(binding) ?? new Set()).add(await response.text()))
        }
    expect([...bodies.values()].map(({ size }) => size)).toEqual([1, 1])
  })

  test('of the credential is served, and any where it names none', async () => {
    const url = await open()
    for (const [user, tenant] of [
      ['tenant', { tenant: 'acme' }],
      ['tenant', {}],
      ['both', { tenant: 'acme' }],
      ['both', {}],
      ['all', { tenant: 'zeta' }],
    ] as const)
      for (const request of requests(tenant))
        expect((await act(url, request, as(user))).status).not.toBe(403)
  })
})

describe('a client that names a tenant', () => {
  const wanted = [
    ...[
      { bindings: ['JSONRPC'], versions: ['1.0'] },
      { bindings: ['JSONRPC'], versions: ['0.3'] },
    ],
    ...[
      { bindings: ['HTTP+JSON'], versions: ['1.0'] },
      { bindings: ['HTTP+JSON'], versions: ['0.3'] },
    ],
  ]

  test.each(wanted)('is in it over $bindings $versions', async (wire) => {
    const client = new A2AClient({
      ...{ serverUrl: await open(), headers: as('several'), tenant: 'zeta' },
      ...wire,
    })
    onTestFinished(() => client.close())
    const sent = await client.sendMessage('hello')
    expect(JSON.stringify(sent)).toContain('[zeta]')
    const id = 'task' in sent ? sent.task.id : ''
    expect(await client.getTask(id)).toMatchObject({ id })
  })

  test('is in it over a transport of its own choice, and within the process', async () => {
    const url = await open()
    const transport = new JsonRpcTransport(`${url}/rpc`)
    const over = new A2AClient({ transport, headers: as('several'), tenant: 'zeta' })
    const server = await createServer({ agents: [echo] })
    const within = new A2AClient({ dispatch: server.dispatch(), tenant: 'zeta' })
    onTestFinished(async () => {
      await over.close()
      await server.close()
    })
    for (const client of [over, within])
      expect(JSON.stringify(await client.sendMessage('hello'))).toContain('[zeta]')
  })

  test('may be a remote member of ours', async () => {
    const endpoint = await open()
    const auth = { type: 'bearer', token: 'several' } as const
    const agent = new A2AAgent({ endpoint, auth, tenant: 'zeta' })
    const { url } = await serve({ agents: [agent], logger: false })
    const client = new A2AClient(url)
    onTestFinished(() => client.close())
    expect(JSON.stringify(await client.sendMessage('hello'))).toContain('[zeta]')
  })

  test('may be the command', async () => {
    const url = await open()
    const run = (...flags: string[]) =>
      start(['send', url, 'hello', '--bearer-token', 'several', ...flags]).ended
    expect((await run('--tenant', 'zeta')).stdout).toContain('[zeta]')
    expect((await run()).stderr).toContain('name one')
  })
})

test('the catalogue and the models are for any credential', async () => {
  const url = await open()
  for (const path of ['/agents', '/v1/models', '/metrics'])
    expect((await get(`${url}${path}`, as('reader'))).status).toBe(200)
})
