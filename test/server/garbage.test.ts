import { connect } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Served, serveAgent } from './sockets.ts'

/** Sends bytes, closes its own half, and gives back what the server says until it closes too. */
function throwAt(port: number, bytes: Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    let received = ''
    const socket = connect(port, '127.0.0.1', () => socket.end(bytes))
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => {
      received += chunk
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(received))
  })
}

const noise = fc.uint8Array({ maxLength: 300 })
const line = fc.constantFrom(
  'POST / HTTP/1.1',
  'GET /tasks HTTP/1.1',
  'POST /message:send HTTP/1.1',
  'OPTIONS * HTTP/1.1',
  'GET //// HTTP/1.0',
  'POST /rpc HTTP/1.1',
  'DELETE /%00 HTTP/1.1',
)
const header = fc.constantFrom(
  'Content-Type: application/json',
  'Content-Length: 12',
  'Content-Length: -1',
  'Transfer-Encoding: chunked',
  'A2A-Version: 1.0',
  'Expect: 100-continue',
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Last-Event-ID: 99999999999999999999',
)
/** The beginning of a request, with anything behind it. */
const broken = fc
  .tuple(line, fc.array(header, { maxLength: 4 }), fc.boolean(), noise)
  .map(([first, headers, ended, rest]) => {
    const head = [first, 'Host: localhost', ...headers].join('\r\n')
    return Buffer.concat([Buffer.from(head + (ended ? '\r\n\r\n' : '\r\n')), rest])
  })

async function mustBeWell({ url }: Served): Promise<void> {
  const { status } = await fetch(`${url}/health`)
  expect(status).toBe(200)
}

test('hundreds of connections full of garbage are closed, and the server goes on', async () => {
  const served = await serveAgent()
  await fc.assert(
    fc.asyncProperty(fc.oneof(noise, broken), async (bytes) => {
      const reply = await throwAt(served.listening.port, bytes)
      if (reply !== '') expect(reply).toMatch(/^HTTP\/1\.1 \d{3} /)
      expect(reply).not.toMatch(/\bat .+:\d+:\d+|node:internal|\/src\//)
    }),
    { numRuns: 400 },
  )
  await mustBeWell(served)
  expect(served.agent.heard).toEqual([])
})
