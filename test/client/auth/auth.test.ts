import { describe, expect, test } from 'vitest'
import type { ClientReply, ClientRequest } from '../../../src/bindings/http.ts'
import { withAuth } from '../../../src/client/auth/auth.ts'
import type { Transport } from '../../../src/client/config.ts'
import {
  A2AClient,
  allOf,
  apiKey,
  basic,
  bearer,
  type ClientAuth,
} from '../../../src/client/index.ts'
import { A2AError } from '../../../src/protocol/errors.ts'
import type { AgentCard } from '../../../src/protocol/types.ts'

const request: ClientRequest = { method: 'GET', url: 'http://h/p?x=1', headers: { cookie: 'a=b' } }

function replyWith(status: number): ClientReply {
  return {
    status,
    headers: {},
    text: () => Promise.resolve(''),
    chunks: async function* () {},
  }
}

describe('credentials', () => {
  test('are a key in a header', async () => {
    const sent = await apiKey('k', { location: 'header', name: 'X-API-Key' }).apply(request)
    expect(sent.headers['x-api-key']).toBe('k')
  })

  test('are a key in the query, beside what is there', async () => {
    const sent = await apiKey('k&1', { location: 'query', name: 'key' }).apply(request)
    expect(sent.url).toBe('http://h/p?x=1&key=k%261')
  })

  test('are a key in a cookie, beside what is there', async () => {
    const sent = await apiKey('k', { location: 'cookie', name: 'key' }).apply(request)
    expect(sent.headers.cookie).toBe('a=b; key=k')
  })

  test('are a bearer token that is asked for each time', async () => {
    let count = 0
    const auth = bearer(() => Promise.resolve(`t${++count}`))
    await auth.apply(request)
    expect((await auth.apply(request)).headers.authorization).toBe('Bearer t2')
  })

  test('are user and password in UTF-8', async () => {
    const sent = await basic('jürgen', 'pässword').apply(request)
    expect(sent.headers.authorization).toBe(
      `Basic ${Buffer.from('jürgen:pässword', 'utf8').toString('base64')}`,
    )
  })

  test('can be several at once', async () => {
    const both = allOf([bearer('t'), apiKey('k', { location: 'header', name: 'key' })])
    expect((await both.apply(request)).headers).toMatchObject({
      authorization: 'Bearer t',
      key: 'k',
    })
  })

  test('can sign what others have put their credentials on', async () => {
    const signature: ClientAuth = {
      apply: (call) => ({
        ...call,
        headers: { ...call.headers, signed: `${call.method} ${call.url} ${call.body}` },
      }),
    }
    const keyed = [bearer('t'), apiKey('k', { location: 'query', name: 'key' })]
    const posted = { ...request, method: 'POST', body: '{}' }
    expect((await allOf([...keyed, signature]).apply(posted)).headers.signed).toBe(
      'POST http://h/p?x=1&key=k {}',
    )
  })
})

describe('credentials on a wire that is not HTTP', () => {
  test('are metadata', async () => {
    const both = allOf([bearer('t'), apiKey('k', { location: 'header', name: 'X-Key' })])
    expect((await both.apply({ headers: { trace: '1' } })).headers).toEqual({
      trace: '1',
      authorization: 'Bearer t',
      'x-key': 'k',
    })
  })

  test('cannot be a key in a query that the wire does not have', async () => {
    const auth = apiKey('k', { location: 'query', name: 'key' })
    await expect(Promise.resolve(auth.apply({ headers: {} }))).rejects.toMatchObject({
      code: 'unsupportedOperation',
    })
  })

  test('are given to a transport of one’s own', async () => {
    const seen: unknown[] = []
    const transport: Transport = {
      url: 'grpc://agent.example',
      connect: (_send, auth) => async (_name, _request, call) => {
        seen.push((await auth?.apply({ headers: {}, signal: call.signal }))?.headers)
        throw new A2AError('taskNotFound', 'No such task')
      },
    }
    const card = { capabilities: {} } as AgentCard // a card spares the search for one; nothing else is read
    const client = new A2AClient({ transport, card, auth: bearer('t') })
    await expect(client.getTask('1')).rejects.toMatchObject({ code: 'taskNotFound' })
    expect(seen).toEqual([{ authorization: 'Bearer t' }])
  })
})

describe('a refused request', () => {
  test('is sent once more with fresh credentials, and no further', async () => {
    let token = 'old'
    const auth: ClientAuth = {
      apply: (r) => bearer(token).apply(r),
      renew: async () => {
        token = 'new'
        return true
      },
    }
    const seen: (string | undefined)[] = []
    const send = withAuth(async (r) => {
      seen.push(r.headers.authorization)
      return replyWith(401)
    }, auth)
    expect((await send(request)).status).toBe(401)
    expect(seen).toEqual(['Bearer old', 'Bearer new'])
  })

  test('is not sent again where the credentials cannot be renewed', async () => {
    let count = 0
    const send = withAuth(async () => {
      count += 1
      return replyWith(401)
    }, bearer('t'))
    expect((await send(request)).status).toBe(401)
    expect(count).toBe(1)
  })
})
