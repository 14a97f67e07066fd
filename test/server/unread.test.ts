import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import type { ServerOptions } from '../../src/server/index.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { SharedBudget } from '../../src/shared/fair-share.ts'
import { rpc, serve } from '../acceptance/serve.ts'

const mib = 1024 * 1024
/** More than the system keeps of a connection that nobody reads. */
const size = 16 * mib

const novelist = defineAgent({ name: 'Novelist' }, async function* (message) {
  const [part] = message.parts
  yield part && 'text' in part && part.text === 'umlauts' ? 'ü😀'.repeat(50_000) : 'x'.repeat(size)
})

/** A card that is larger than what is written at once. */
const longCard = {
  agents: [
    defineAgent({ name: 'Novelist', description: 'x'.repeat(mib) }, (message, turn) =>
      novelist.process(message, turn),
    ),
  ],
}

async function serveNovel(
  text: string,
  more: Partial<ServerOptions> = {},
): Promise<{ readonly url: string; readonly id: string }> {
  const { url } = await serve({
    agents: [novelist],
    limits: { maxUnreadBytes: mib },
    timeouts: { shutdownMs: 0 },
    logger: false,
    ...more,
  })
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text }] }
  const { result } = await rpc(url, {
    method: 'SendMessage',
    params: { message },
    headers: { 'a2a-version': '1.0' },
  })
  return { url, id: result.task.id }
}

/** Asks for a task, and reads nothing until it is told to. */
function ask(url: string, id: string): Socket {
  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1').pause()
  onTestFinished(() => void socket.destroy())
  const head = `GET /tasks/${id} HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\nConnection: close\r\n\r\n`
  socket.write(head)
  return socket
}

async function statusOf(url: string, id: string): Promise<number> {
  const response = await fetch(`${url}/tasks/${id}`, { headers: { 'a2a-version': '1.0' } })
  const { length } = await response.text()
  expect(length).toBeGreaterThan(0)
  return response.status
}

test('large replies that nobody reads take room, and give it back when they are read', async () => {
  const { url, id } = await serveNovel('long')
  const first = ask(url, id)
  await expect.poll(() => statusOf(url, id)).toBe(503)
  let bytes = 0
  first.on('data', (chunk) => (bytes += chunk.length)).resume()
  await new Promise((resolve) => first.once('close', resolve))
  expect(bytes).toBeGreaterThan(size)
  expect(await statusOf(url, id)).toBe(200)
})

test('a client that leaves gives its room back', async () => {
  const { url, id } = await serveNovel('long')
  const first = ask(url, id)
  await expect.poll(() => statusOf(url, id)).toBe(503)
  first.destroy()
  await expect.poll(() => statusOf(url, id)).toBe(200)
})

test('a client that leaves before its reply is made takes no room', async () => {
  const made = createDeferred<void>()
  const asked = createDeferred<AbortSignal | undefined>()
  const { url, id } = await serveNovel('long', {
    async routes({ path, signal }) {
      if (path !== '/late') return undefined
      asked.resolve(signal)
      await made.promise
      return { status: 200, headers: { 'content-type': 'text/plain' }, body: 'x'.repeat(size) }
    },
  })
  const leaving = new AbortController()
  const late = fetch(`${url}/late`, { signal: leaving.signal })
  const left = await asked.promise
  leaving.abort()
  await expect(late).rejects.toThrow()
  await expect.poll(() => left?.aborted).toBe(true)
  made.resolve()
  await made.promise
  expect(await statusOf(url, id)).toBe(200)
})

test('a refused reply carries the id of its request', async () => {
  const { url, id } = await serveNovel('long')
  ask(url, id)
  await expect.poll(() => statusOf(url, id)).toBe(503)
  for (const [method, headers] of [
    ['GetTask', { 'a2a-version': '1.0' }],
    ['tasks/get', {}],
  ] as const) {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 'mine', method, params: { id } }),
    })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await response.json()).toMatchObject({ id: 'mine', error: {} })
  }
})

test('a large page is refused too, and the user’s own routes are asked once', async () => {
  let asked = 0
  const { url, id } = await serveNovel('long', {
    routes: ({ path }) => {
      if (path !== '/book') return undefined
      asked++
      return { status: 200, headers: { 'content-type': 'text/plain' }, body: 'x'.repeat(mib) }
    },
    ...longCard,
  })
  ask(url, id)
  await expect.poll(() => statusOf(url, id)).toBe(503)
  const pages = ['/book', '/.well-known/agent-card.json']
  const replies = await Promise.all(pages.map((path) => fetch(url + path)))
  expect(replies.map(({ status }) => status)).toEqual([503, 503])
  expect(replies.map(({ headers }) => headers.get('retry-after'))).toEqual(['1', '1'])
  expect(asked).toBe(1)
})

test('pieces of a large reply keep its characters whole', async () => {
  const { url, id } = await serveNovel('umlauts')
  const response = await fetch(`${url}/tasks/${id}`, { headers: { 'a2a-version': '1.0' } })
  expect(await response.text()).toContain('ü😀'.repeat(50_000))
})

test('one client has a quarter of all room, and what is alone always passes', () => {
  const unread = new SharedBudget({ max: 100, share: 25, loneFits: true })
  expect(unread.take('a', 200)).toBe(true)
  expect(unread.take('b', 1)).toBe(false)
  unread.give('a', 200)
  expect(unread.take('a', 20)).toBe(true)
  expect(unread.take('a', 20)).toBe(false)
  expect(unread.take('b', 25)).toBe(true)
  expect(unread.take('', 50)).toBe(true)
  expect(unread.take('c', 10)).toBe(false)
})
