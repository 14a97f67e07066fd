import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { createServer, type Server, toNodeHandler } from '../../src/server/index.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { silent } from '../../src/shared/log.ts'
import { call, hello } from './counted.ts'

const talker = defineAgent({ name: 'talker' }, async function* () {
  for (let i = 0; i < 20; i++) yield `chunk ${i} `
})

/** Answers one request over a real socket; gives the answer and how often the server wrote to the socket. */
async function exchange(server: Server, method: string): Promise<{ text: string; writes: number }> {
  const sockets: Socket[] = []
  let writes = 0
  const http = createHttpServer(toNodeHandler(server.handle, { maxBodyBytes: 1e6, logger: silent }))
  http.on('connection', (socket) => {
    sockets.push(socket)
    countWrites(socket, () => writes++)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo // a listening TCP server has one
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: hello })
  const text = await ask(
    port,
    `POST / HTTP/1.1\r\nhost: h\r\nconnection: close\r\na2a-version: 1.0\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  await new Promise((resolve) => http.close(resolve))
  return { text, writes }
}

/** A socket hands what it has to the system by one of these two. */
function countWrites(socket: Socket, count: () => void): void {
  const { _write, _writev } = socket
  socket._write = (...args) => {
    count()
    _write.apply(socket, args)
  }
  socket._writev = (...args) => {
    count()
    _writev?.apply(socket, args)
  }
}

function ask(port: number, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(request))
    socket.on('data', (chunk) => (text += chunk))
    socket.on('end', () => resolve(text))
    socket.on('error', reject)
  })
}

describe('what one tick brings goes out in one write', () => {
  test('headers, twenty chunks and the end of a stream', async () => {
    const server = await createServer({ agents: [talker] })
    const { text, writes } = await exchange(server, 'SendStreamingMessage')
    expect(text.split('data: ')).toHaveLength(23)
    expect(writes).toBe(1)
    await server.close()
  })

  test('headers and body of a single answer', async () => {
    const server = await createServer({ agents: [talker] })
    const { text, writes } = await exchange(server, 'SendMessage')
    expect(text).toContain('TASK_STATE_COMPLETED')
    expect(writes).toBe(1)
    await server.close()
  })
})

describe('an event', () => {
  afterEach(() => vi.restoreAllMocks())

  test('is written as JSON once, however many watch', async () => {
    const gate = createDeferred<void>()
    const agent = defineAgent({ name: 'late' }, async function* () {
      await gate.promise
      yield 'the one chunk'
    })
    const server = await createServer({ agents: [agent] })
    const answer = await server.dispatch()(
      'SendMessage',
      {
        message: { ...hello.message, role: 'ROLE_USER' },
        configuration: { returnImmediately: true },
      },
      {},
    )
    const id = 'task' in answer ? answer.task.id : ''
    const watching = Array.from({ length: 50 }, () => call(server, 'SubscribeToTask', { id }))
    await expect.poll(() => watchersOf(server)).toBe(50)
    const stringify = vi.spyOn(JSON, 'stringify')
    gate.resolve()
    const texts = await Promise.all(watching)
    const chunks = stringify.mock.calls.filter(
      ([value]) => typeof value === 'object' && value !== null && 'artifactUpdate' in value,
    )
    expect(texts.filter((text) => text.split('the one chunk').length === 2)).toHaveLength(50)
    expect(chunks).toHaveLength(1)
    await server.close()
  })
})

/** How many streams are open, as the metrics tell. */
async function watchersOf(server: Server): Promise<number> {
  const page = { method: 'GET', path: '/metrics', query: '', headers: {}, body: '' }
  const { body } = await server.handle(page)
  return Number(/^corral_stream_watchers (\d+)/m.exec(String(body))?.[1])
}
