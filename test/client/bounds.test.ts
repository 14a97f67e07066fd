import { describe, expect, test } from 'vitest'
import { clientCredentials } from '../../src/client/auth/oauth-flows.ts'
import type { ClientOptions } from '../../src/client/config.ts'
import { fetchSend } from '../../src/client/fetch.ts'
import { A2AClient } from '../../src/client/index.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { doneTask, Raw, type RpcCall, serveAgent } from './agent.ts'
import { testCard } from './cards.ts'
import { type Answer, serve } from './serve.ts'

const wires: readonly (readonly [string, ClientOptions])[] = [
  ["Node's connections", {}],
  ['fetch', { send: fetchSend() }],
]

/** An agent whose streams never end by themselves; tells when one was closed by the other side. */
async function serveEndless(frame: (call: RpcCall) => string): Promise<{
  readonly url: string
  readonly closed: Promise<void>
}> {
  const closed = createDeferred<void>()
  const { url } = await serveAgent({
    SendStreamingMessage: (call) =>
      new Raw((response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.once('close', () => closed.resolve())
        const text = frame(call)
        const fill = (): void => {
          while (!response.destroyed && response.write(text));
        }
        response.on('drain', fill)
        fill()
      }),
  })
  return { url, closed: closed.promise }
}

const statusFrame = ({ id }: RpcCall): string => {
  const status = { state: 'TASK_STATE_WORKING' }
  const result = { statusUpdate: { taskId: 't1', contextId: 'c1', status } }
  return `data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`
}

async function countEvents(client: A2AClient): Promise<{ count: number; error: unknown }> {
  let count = 0
  try {
    for await (const _ of client.sendMessageStream('hi')) count += 1
    return { count, error: undefined }
  } catch (error) {
    return { count, error }
  }
}

describe.each(wires)('over %s', (_name, wire) => {
  test('an endless stream ends at its bytes, and its connection is closed', async () => {
    const { url, closed } = await serveEndless(statusFrame)
    const client = new A2AClient({ serverUrl: url, maxStreamBytes: 100_000, ...wire })
    const { count, error } = await countEvents(client)
    expect(error).toMatchObject({
      code: 'invalidAgentResponse',
      message: 'Stream longer than 100000 bytes (maxStreamBytes)',
    })
    expect(count).toBeLessThan(100_000 / 100)
    await closed
  })

  test('an endless stream ends at its events, after those within the bound', async () => {
    const { url, closed } = await serveEndless(statusFrame)
    const client = new A2AClient({ serverUrl: url, maxStreamEvents: 25, ...wire })
    const { count, error } = await countEvents(client)
    expect({ count, error }).toMatchObject({
      count: 25,
      error: {
        code: 'invalidAgentResponse',
        message: 'The stream has more than 25 events (maxStreamEvents)',
      },
    })
    await closed
  })

  test.each([
    ['comments', ': nothing\n'],
    ['lines of one event', `data: ${'x'.repeat(60)}\n`],
    ['one line', 'x'.repeat(60)],
  ])('a stream of nothing but %s ends too', async (_what, text) => {
    const { url, closed } = await serveEndless(() => text)
    const client = new A2AClient({ serverUrl: url, maxStreamBytes: 1_000_000, ...wire })
    const { count, error } = await countEvents(client)
    expect(count).toBe(0)
    expect(error).toMatchObject({ code: 'invalidAgentResponse' })
    await closed
  })

  test('an answer beyond its bytes is refused', async () => {
    const artifacts = [{ artifactId: 'a', parts: [{ text: 'x'.repeat(5000) }] }]
    const agent = await serveAgent({ GetTask: () => ({ ...doneTask, artifacts }) })
    const bound = { serverUrl: agent.url, maxResponseBytes: 5000, ...wire }
    await expect(new A2AClient(bound).getTask('t1')).rejects.toMatchObject({
      code: 'invalidAgentResponse',
      message: 'Answer larger than 5000 bytes (maxResponseBytes)',
    })
    const enough = { serverUrl: agent.url, maxResponseBytes: 6000, ...wire }
    expect(await new A2AClient(enough).getTask('t1')).toMatchObject({ id: 't1' })
  })

  test('a card of more than 1 MiB is refused, however it is answered', async () => {
    const large: Answer = { body: { ...testCard(), description: 'x'.repeat(1024 * 1024) } }
    const server = await serve(() => large)
    const client = new A2AClient({ serverUrl: server.url, retry: { maxRetries: 0 }, ...wire })
    await expect(client.fetchAgentCard()).rejects.toMatchObject({
      code: 'invalidAgentResponse',
      message: expect.stringContaining('1048576 bytes'),
    })
  })
})

test.each([0, -1, 1.5, Number.NaN])('%s is no bound', (value) => {
  const config = { serverUrl: 'http://127.0.0.1:1', maxStreamBytes: value }
  expect(() => new A2AClient(config)).toThrow('maxStreamBytes must be a whole number above 0')
})

test('an authorization server that answers without end is given up', async () => {
  const closed = createDeferred<void>()
  const server = await serve(() => (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.once('close', () => closed.resolve())
    const block = ' '.repeat(64 * 1024)
    const fill = (): void => {
      while (!response.destroyed && response.write(block));
    }
    response.on('drain', fill)
    fill()
  })
  const client = { clientId: 'c', clientSecret: 's', allowInsecure: true }
  for (const config of [
    { ...client, tokenUrl: `${server.url}/token` },
    { ...client, metadataUrl: `${server.url}/metadata` },
    { ...client, issuer: server.url },
  ])
    await expect(
      clientCredentials(config).apply({ url: 'http://h/', headers: {} }),
    ).rejects.toMatchObject({ message: expect.stringContaining('1048576 bytes') })
  await closed.promise
})
