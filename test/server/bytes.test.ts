import { describe, expect, onTestFinished, test } from 'vitest'
import type { HttpReply, HttpRequest } from '../../src/bindings/http.ts'
import { toFetch } from '../../src/server/fetch.ts'
import { listen } from '../../src/server/node/run.ts'
import { createServer, type Server } from '../../src/server/server.ts'
import { scripted } from '../acceptance/serve.ts'

/** Not valid UTF-8: what survives as text is not these bytes. */
const bytes = Uint8Array.from([0, 255, 128, 10, 195, 40, 0])

type Ask = (path: string, init?: RequestInit) => Promise<Response>

const adapters: Readonly<Record<string, (server: Server) => Promise<Ask>>> = {
  async node(server) {
    const { url, close } = await listen(server, { port: 0, host: '127.0.0.1' })
    onTestFinished(close)
    return (path, init) => fetch(url + path, init)
  },
  async fetch(server) {
    const answer = toFetch(server)
    return (path, init) => answer(new Request(`http://localhost${path}`, init))
  },
}

/** A server with a route that keeps what it was sent and answers with what it is told to. */
async function open(adapter: string, reply: HttpReply['body']) {
  const heard: HttpRequest[] = []
  const server = await createServer({
    agents: [scripted('hi')],
    routes(request) {
      if (request.path !== '/file') return undefined
      heard.push(request)
      const headers = { 'content-type': 'application/octet-stream' }
      return { status: 200, headers, ...(reply !== undefined && { body: reply }) }
    },
  })
  const ask = await adapters[adapter]?.(server)
  if (!ask) throw new Error(`There is no adapter ${adapter}`)
  return { heard, ask }
}

async function* pieces(): AsyncGenerator<string | Uint8Array> {
  yield 'begin '
  yield bytes
}

describe.each(Object.keys(adapters))('%s', (adapter) => {
  test('writes a body of bytes as it is', async () => {
    const { ask } = await open(adapter, bytes)
    const response = await ask('/file')
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes)
  })

  test('writes a stream of text and bytes as it comes', async () => {
    const { ask } = await open(adapter, pieces())
    const answer = Buffer.from(await (await ask('/file')).arrayBuffer())
    expect(answer.subarray(0, 6).toString()).toBe('begin ')
    expect(new Uint8Array(answer.subarray(6))).toEqual(bytes)
  })

  test('gives the bytes of a body that is not JSON', async () => {
    const { ask, heard } = await open(adapter, 'thanks')
    const headers = { 'content-type': 'application/octet-stream' }
    await ask('/file', { method: 'POST', headers, body: bytes })
    expect(new Uint8Array(heard[0]?.bytes ?? [])).toEqual(bytes)
  })

  test('gives JSON as text alone', async () => {
    const { ask, heard } = await open(adapter, 'thanks')
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    await ask('/file', { method: 'POST', headers, body: '{"ö":1}' })
    expect(heard[0]).toMatchObject({ body: '{"ö":1}' })
    expect(heard[0]).not.toHaveProperty('bytes')
  })
})
