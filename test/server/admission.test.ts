import { describe, expect, test } from 'vitest'
import { bearer } from '../../src/server/index.ts'
import { rpc, text } from './sockets.ts'
import { bodyOf, head, observe, openClient, toChunk } from './wire.ts'

const auth = { authenticators: [bearer({ tokens: { secret: 'ada' } })] }
const mib = 1024 * 1024
const piece = Buffer.alloc(64 * 1024, 'a')
/** What Node may have taken from the socket before anyone could refuse: the first read, and what it buffers. */
const slack = 256 * 1024

describe('where authentication is required', () => {
  test('a large body without credentials is refused at once, and no more of it is read', async () => {
    const { port, sockets } = await observe({ auth })
    const client = await openClient(port)
    client.socket.write(head({ 'content-length': 9 * mib }))
    await client.pour(piece, 144)
    const reply = await client.reply()
    expect(reply).toMatch(/^HTTP\/1\.1 401 /)
    expect(reply).toMatch(/www-authenticate: Bearer/i)
    expect(reply).toMatch(/connection: close/i)
    expect(bodyOf(reply)).toMatchObject({ id: null, error: { code: -32600 } })
    expect(sockets[0]?.bytesRead).toBeLessThan(slack)
  })

  test('nothing of a large body needs to come before it is refused', async () => {
    const { port } = await observe({ auth })
    const client = await openClient(port)
    client.socket.write(head({ 'content-length': 65 * 1024 }))
    expect(await client.closed()).toMatch(/^HTTP\/1\.1 401 /)
  })

  test('a body of unknown length is read up to 64 KiB before it is refused', async () => {
    const { port, sockets } = await observe({ auth })
    const client = await openClient(port)
    client.socket.write(head({ 'transfer-encoding': 'chunked' }))
    await client.pour(Buffer.from(toChunk('a'.repeat(16 * 1024))), 600)
    expect(await client.reply()).toMatch(/^HTTP\/1\.1 401 /)
    expect(sockets[0]?.bytesRead).toBeLessThan(slack)
  })

  test('a small one is refused with its id, and the connection stays', async () => {
    const { url } = await observe({ auth })
    const reply = await fetch(url, rpc('SendMessage', text('a'.repeat(60_000)), 'mine'))
    expect(reply.status).toBe(401)
    expect(reply.headers.get('connection')).toBe('keep-alive')
    expect(await reply.json()).toMatchObject({ id: 'mine' })
  })

  test('a large one with credentials is read', async () => {
    const { url } = await observe({ auth })
    const request = rpc('SendMessage', text('a'.repeat(2 * mib)))
    const headers = { ...request.headers, authorization: 'Bearer secret' }
    const reply = await fetch(url, { ...request, headers })
    expect((await reply.json()).result.task.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test.each([
    ['/message:send', { error: { code: 401 } }],
    ['/v1/message:send', { code: expect.any(Number) }],
    ['/v1/chat/completions', { error: { type: 'authentication_error' } }],
    ['/mcp', { jsonrpc: '2.0', id: null }],
    ['/rpc', { jsonrpc: '2.0', id: null }],
  ])('the refusal at %s is in its own terms', async (path, shape) => {
    const { port } = await observe({ auth })
    const client = await openClient(port)
    client.socket.write(head({ 'content-length': mib }, path).replace(/a2a-version.*\r\n/, ''))
    const reply = await client.reply()
    expect(reply).toMatch(/^HTTP\/1\.1 401 /)
    expect(reply).toMatch(/www-authenticate: /i)
    expect(bodyOf(reply)).toMatchObject(shape)
  })

  test('guessing credentials with large bodies has an end', async () => {
    const { port } = await observe({ auth, limits: { requests: 2 } })
    const statuses: (string | undefined)[] = []
    for (let i = 0; i < 3; i++) {
      const client = await openClient(port)
      client.socket.write(head({ 'content-length': mib, authorization: `Bearer ${i}` }))
      statuses.push((await client.reply()).split(' ')[1])
    }
    expect(statuses).toEqual(['401', '401', '429'])
  })
})
