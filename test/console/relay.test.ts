import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isStreamed } from '../../src/bindings/http.ts'
import { signCard } from '../../src/protocol/signature.ts'
import { serve } from '../acceptance/serve.ts'
import { hostileUrls } from '../network/corpus/urls.ts'
import { as, openScene, posted, worker } from './scene.ts'

const message = (text: string) => ({ messageId: '1', role: 'ROLE_USER', parts: [{ text }] })

describe('on a server for this machine', () => {
  test('the card of an agent elsewhere is shown with what is to be thought of it', async () => {
    const { api } = await openScene()
    const { url } = await serve(worker)
    const { json: shown, status } = await api('relay', posted({ kind: 'card', url }))
    expect(status).toBe(200)
    expect(shown.card.name).toBe('Worker')
    expect(shown.cardUrl).toBe(`${url}/.well-known/agent-card.json`)
    expect(shown.speaks).toContain('A2A 1.0')
    expect(shown.signature.verdict).toBe('unsigned')
    expect(shown.faults).toEqual([])
  })

  test('a signature counts where its key is published beside the card', async () => {
    const { api } = await openScene()
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const verdictOf = async (published: boolean): Promise<string> => {
      const { url } = await serve({
        agents: [worker],
        signCard: async (card) => {
          const jku = `${card.supportedInterfaces[0]?.url.split('/').slice(0, 3).join('/')}/keys.json`
          const header = { alg: 'ES256', kid: 'k', jku }
          return (await signCard(card, privateKey, header)).signatures ?? []
        },
        routes: ({ path }) =>
          path === '/keys.json'
            ? {
                status: published ? 200 : 404,
                headers: { 'content-type': 'application/json' },
                body: JSON.stringify({
                  keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'ES256' }],
                }),
              }
            : undefined,
      })
      const { json } = await api('relay', posted({ kind: 'card', url }))
      return json.signature.verdict
    }
    expect(await verdictOf(true)).toBe('valid')
    expect(await verdictOf(false)).toBe('unknown-key')
  })

  test('operations are passed on, and a stream is one here too', async () => {
    const { api } = await openScene()
    const { url, server } = await serve(worker)
    const call = {
      kind: 'call',
      url,
      operation: 'SendMessage',
      request: { message: message('hi') },
    }
    const { json: sent } = await api('relay', posted(call))
    expect(sent.result.task.artifacts[0].parts).toEqual([{ text: 'done: hi' }])
    const stream = { ...call, operation: 'SendStreamingMessage' }
    const { headers, text } = await api('relay', posted(stream))
    expect(headers['content-type']).toBe('text/event-stream')
    const events = text.split('\n').filter((line) => line.startsWith('data: '))
    expect(events.length).toBeGreaterThan(1)
    expect(text).toContain('TASK_STATE_COMPLETED')
    expect((await server.store.listAll({ limit: 9 })).total).toBe(2)
  })

  test('nothing of it is stored here', async () => {
    const { api, server } = await openScene()
    const { url } = await serve(worker)
    const call = {
      kind: 'call',
      url,
      operation: 'SendMessage',
      request: { message: message('hi') },
    }
    await api('relay', posted(call))
    expect((await server.store.listAll({ limit: 9 })).total).toBe(0)
  })

  test('a report says what an agent does as the protocol demands', async () => {
    const { api } = await openScene()
    const { url } = await serve(worker)
    const { json: report } = await api('relay', posted({ kind: 'check', url }))
    expect(report).toMatchObject({ failed: 0, skipped: 1 })
    expect(report.passed).toBeGreaterThanOrEqual(5)
    const { json: bad } = await api('relay', posted({ kind: 'check', url: `${url}/nothing` }))
    expect(bad).toMatchObject({ passed: 0, failed: 1 })
  })

  test('credentials go with the request and are in no answer', async () => {
    const { api } = await openScene()
    const { url } = await openScene({ isClosed: true })
    const call = { kind: 'call', url, operation: 'ListTasks', request: {} }
    expect((await api('relay', posted(call))).status).toBe(401)
    const signed = { ...call, authorization: 'Bearer ann-token' }
    const answer = await api('relay', posted(signed))
    expect(answer).toMatchObject({ status: 200, json: { result: { tasks: [] } } })
    expect(answer.text).not.toContain('ann-token')
  })

  test.each([
    [{}, 'url'],
    [{ kind: 'card', url: 7 }, 'url'],
    [{ kind: 'card', url: 'ftp://example.com' }, 'url'],
    [{ kind: 'nothing', url: 'https://example.com' }, 'kind'],
    [{ kind: 'call', url: 'https://example.com', operation: 'Explode' }, 'operation'],
    [{ kind: 'card', url: 'https://example.com', authorization: 1 }, 'authorization'],
  ])('%j gets a sentence that names %s', async (body, word) => {
    const { api } = await openScene()
    const answer = await api('relay', posted(body))
    expect(answer.status).toBe(400)
    expect(answer.json.error.message).toContain(word)
  })

  test('other private addresses are refused, unless they are allowed', async () => {
    const { api } = await openScene()
    for (const url of ['http://10.0.0.7/', 'http://192.168.1.1:8080', 'http://169.254.169.254/'])
      expect((await api('relay', posted({ kind: 'card', url }))).status, url).toBe(400)
  })

  test('ports that no agent has are refused on this machine, by name and by address', async () => {
    const { api } = await openScene()
    for (const host of ['localhost', '127.0.0.1', '[::1]', 'LOCALHOST.']) {
      const { status, json } = await api(
        'relay',
        posted({ kind: 'card', url: `http://${host}:22` }),
      )
      expect([status, json.error.message], host).toEqual([400, expect.stringContaining('port')])
    }
    const { url } = await serve(worker)
    const named = url.replace('127.0.0.1', 'localhost')
    expect((await api('relay', posted({ kind: 'card', url: named }))).status).toBe(200)
  })

  test.each([
    ['before the first frame', false],
    ['while it waits for the next frame', true],
  ])('a reader that leaves a stream %s frees its place at once', async (_, isRead) => {
    const { server } = await openScene()
    const handle = server.localHandle('127.0.0.1')
    const { url } = await serve(worker)
    const ask = (operation: string, request: object) =>
      handle({
        method: 'POST',
        path: '/console/api/relay',
        query: '',
        headers: { 'content-type': 'application/json', host: 'localhost' },
        body: JSON.stringify({ kind: 'call', url, operation, request }),
        client: '127.0.0.1',
      })
    for (let i = 0; i < 50; i++) {
      const { body } = await ask('SendStreamingMessage', { message: message('work') })
      if (!isStreamed(body)) throw new Error('It is a stream')
      const frames = body[Symbol.asyncIterator]()
      for (let frame = ''; isRead && !frame.includes('statusUpdate'); )
        frame = String((await frames.next()).value)
      if (isRead) void frames.next()
      void frames.return?.()
    }
    expect((await ask('ListTasks', {})).status).toBe(200)
  })

  test.each(['card', 'check', 'call'])(
    'a caller that leaves before the answer to %s frees its place',
    async (kind) => {
      const { server } = await openScene()
      const handle = server.localHandle('127.0.0.1')
      const silent = createServer(() => {}).listen(0, '127.0.0.1')
      onTestFinished(() => void silent.close())
      await once(silent, 'listening')
      const { port } = Object(silent.address())
      const ask = (url: string, from = 1, signal?: AbortSignal) =>
        handle({
          method: 'POST',
          path: '/console/api/relay',
          query: '',
          headers: { 'content-type': 'application/json', host: 'localhost' },
          body: JSON.stringify({ kind, url, operation: 'ListTasks', request: {} }),
          client: `127.0.0.${from}`,
          ...(signal && { signal }),
        })
      const leaving = new AbortController()
      const asked = Array.from({ length: 50 }, (_, i) =>
        ask(`http://127.0.0.1:${port}`, 2 + i, leaving.signal),
      )
      const { url } = await serve(worker)
      await expect.poll(async () => (await ask(url)).status).toBe(503)
      leaving.abort()
      await Promise.allSettled(asked)
      expect((await ask(url)).status).toBe(200)
    },
  )
})

describe('on a server that others reach', () => {
  test('only operators relay', async () => {
    const { api } = await openScene({ isClosed: true, host: '0.0.0.0' })
    const body = { kind: 'card', url: 'https://10.0.0.1' }
    expect((await api('relay', posted(body, as('ann')))).status).toBe(403)
    expect((await api('relay', posted(body, as('op')))).status).toBe(400)
  })

  test.each([{ publicUrl: 'https://agents.example' }, { trustedProxies: ['loopback'] }])(
    'a proxy in front of a loopback bind makes it one (%j)',
    async (options) => {
      const { api, url } = await openScene({ isClosed: true, ...options })
      const body = { kind: 'card', url }
      expect((await api('relay', posted(body, as('ann')))).status).toBe(403)
      expect((await api('relay', posted(body, as('op')))).status).toBe(400)
    },
  )

  test('this machine and its network are out of reach, by every spelling', async () => {
    const { api } = await openScene({ isClosed: true, host: '0.0.0.0' })
    let reached = 0
    const { url } = await serve({
      agents: [worker],
      routes: () => {
        reached++
        return undefined
      },
    })
    const { port } = new URL(url)
    const spellings = ['127.0.0.1', 'localhost', '[::1]', '0x7f.1', '2130706433', '[::ffff:7f00:1]']
    const own = spellings.map((host) => `http://${host}:${port}/`)
    for (const target of [
      ...own,
      ...hostileUrls.flatMap(({ url, addresses }) => (addresses ? [] : [url])),
    ])
      for (const kind of ['card', 'check'])
        expect(
          (await api('relay', posted({ kind, url: target }, as('op')))).status,
          `${kind} ${target.slice(0, 80)}`,
        ).toBe(400)
    expect(reached).toBe(0)
  })

  test('a card from an allowed host leads to no other inside', async () => {
    const inside = await serve(worker)
    const { port } = new URL(inside.url)
    let reached = 0
    const secret = await serve({
      agents: [worker],
      routes: () => {
        reached++
        return undefined
      },
    })
    const { api } = await openScene({
      isClosed: true,
      host: '0.0.0.0',
      console: { allow: [`localhost:${port}`] },
    })
    const shown = await api('relay', posted({ kind: 'card', url: inside.url }, as('op')))
    expect(shown.status).toBe(200)
    const lying = await serve({
      agents: [worker],
      interfaces: ([first]) => (first ? [{ ...first, url: secret.url }] : []),
    })
    const open = await openScene({
      isClosed: true,
      host: '0.0.0.0',
      console: { allow: [`localhost:${new URL(lying.url).port}`] },
    })
    const call = { kind: 'call', url: lying.url, operation: 'ListTasks', request: {} }
    const refused = await open.api('relay', posted(call, as('op')))
    expect(refused.status).toBeGreaterThanOrEqual(400)
    expect(reached).toBe(0)
  })
})
