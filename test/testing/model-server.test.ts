import { get } from 'node:http'
import OpenAI from 'openai'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createFakeClock, type ModelScript, openModelServer } from '../../src/testing/index.ts'

async function open(
  script: ModelScript,
  ...rest: [{ clock: ReturnType<typeof createFakeClock> }?]
) {
  const server = await openModelServer(script, ...rest)
  onTestFinished(() => server.close())
  const client = new OpenAI({ baseURL: server.url, apiKey: 'key', maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'hi' }]
  return {
    server,
    whole: () => client.chat.completions.create({ model: 'm', messages }),
    async streamed() {
      const body = { model: 'm', messages, stream: true as const }
      const chunks = []
      for await (const chunk of await client.chat.completions.create(body)) chunks.push(chunk)
      return chunks
    },
  }
}

describe('a scripted model service, called by the openai package', () => {
  test('gives its answers in order, and the last one again', async () => {
    const { server, whole } = await open(['one', { chunks: ['tw', 'o'] }])
    const texts = []
    for (let i = 0; i < 3; i++) texts.push((await whole()).choices[0]?.message.content)
    expect(texts).toEqual(['one', 'two', 'two'])
    expect(server.requests).toHaveLength(3)
    expect(server.requests[0]?.messages).toEqual([{ role: 'user', content: 'hi' }])
    expect(server.headers[0]?.authorization).toBe('Bearer key')
  })

  test('streams where a stream is asked for', async () => {
    const { streamed } = await open([{ chunks: ['tw', 'o'] }])
    const pieces = (await streamed()).map(({ choices }) => choices[0]?.delta.content)
    expect(pieces.filter(Boolean)).toEqual(['tw', 'o'])
  })

  test('calls tools, whole and in a stream', async () => {
    const tools = [{ name: 'weather', arguments: { town: 'Bern' } }]
    const { whole, streamed } = await open([{ tools }])
    const [choice] = (await whole()).choices
    expect(choice).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        tool_calls: [{ id: 'call_0', function: { name: 'weather', arguments: '{"town":"Bern"}' } }],
      },
    })
    const deltas = (await streamed()).flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])
    expect(deltas.map((call) => call.function?.arguments).join('')).toBe('{"town":"Bern"}')
  })

  test('answers by a function of the request and its number', async () => {
    const { whole } = await open(async ({ model }, count) => `${model}${count}`)
    await whole()
    expect((await whole()).choices[0]?.message.content).toBe('m2')
  })

  test('refuses with a status and headers', async () => {
    const { whole } = await open([{ status: 429, headers: { 'retry-after': '3' } }])
    await expect(whole()).rejects.toMatchObject({ status: 429 })
  })

  test('delays an answer on the clock that it is given', async () => {
    const clock = createFakeClock()
    const { whole } = await open([{ delayMs: 60_000, answer: 'late' }], { clock })
    const answer = whole()
    await clock.elapse(60_000)
    expect((await answer).choices[0]?.message.content).toBe('late')
  })

  test('a client that leaves calls the delay off', async () => {
    const clock = createFakeClock()
    const server = await openModelServer([{ delayMs: 60_000, answer: 'late' }], { clock })
    const request = fetch(`${server.url}/chat/completions`, { method: 'POST', body: '{}' })
    await clock.timer((ms) => ms === 60_000)
    await Promise.all([server.close(), expect(request).rejects.toThrow()])
    await server.abandoned
    expect(clock.pending()).toEqual([])
  })
})

describe('closing a scripted model service', () => {
  test('frees the port at once, however often it is closed', async () => {
    const server = await openModelServer([{ silent: true }])
    const request = fetch(`${server.url}/chat/completions`, { method: 'POST', body: '{}' })
    const refused = expect(request).rejects.toThrow()
    while (server.requests.length === 0) await new Promise(setImmediate)
    await server.close()
    await server[Symbol.asyncDispose]()
    await refused
    const again = new Promise((_, reject) => get(server.url).once('error', reject))
    await expect(again).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  test('throws what the script has thrown, so that the test fails', async () => {
    const server = await openModelServer(() => {
      throw new Error('not what I expected')
    })
    const { status } = await fetch(`${server.url}/chat/completions`, { method: 'POST', body: '{}' })
    expect(status).toBe(400)
    await expect(server.close()).rejects.toThrow('not what I expected')
  })
})

test('an empty script is refused', async () => {
  await expect(openModelServer([])).rejects.toThrow('needs at least one answer')
})

test('listens where it is told to, and says so where the port is taken', async () => {
  const first = await openModelServer(['one'])
  const port = Number(new URL(first.url).port)
  await expect(openModelServer(['two'], { port })).rejects.toThrow('EADDRINUSE')
  await first.close()
  const second = await openModelServer(['two'], { port })
  onTestFinished(() => second.close())
  expect(second.url).toBe(first.url)
})
