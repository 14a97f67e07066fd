import { afterEach, describe, expect, test } from 'vitest'
import { OpenAIAgent, type OpenAIAgentOptions } from '../../../src/agents/openai/agent.ts'
import { historyExtension, usageExtension } from '../../../src/protocol/extensions.ts'
import { agentMessage, textOf, userMessage } from '../../../src/protocol/task.ts'
import {
  createInstantClock,
  type InstantClock,
  type ModelScript,
  type ModelServer,
  openModelServer,
} from '../../../src/testing/index.ts'
import { createTurn, foldEvents, runTurn } from '../../fixtures/turn.ts'
import { wires } from '../../fixtures/wires.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

describe.each(wires)('over the wire of %s', (wire) => {
  async function start(
    script: ModelScript,
    change: Partial<OpenAIAgentOptions> = {},
  ): Promise<{ agent: OpenAIAgent; server: ModelServer; clock: InstantClock }> {
    const server = await openModelServer(script, { wire })
    const { timeoutSeconds = 10 } = change
    // Pauses are over at once; limits on the service's answers take their time.
    const limits = [timeoutSeconds * 1000, 5_000, 100]
    const clock = createInstantClock({ real: (ms) => limits.includes(ms) })
    const agent = new OpenAIAgent({
      id: 'writer',
      name: 'Writer',
      endpoint: server.url,
      apiKey: 'sk-secret-key',
      model: 'gpt-test',
      timeoutSeconds,
      maxRetries: 3,
      clock,
      random: () => 0,
      ...change,
    })
    closing.push(() => agent.close(), server.close)
    return { agent, server, clock }
  }

  async function answer(agent: OpenAIAgent, text = 'hi'): Promise<string> {
    const turn = createTurn(text)
    const task = foldEvents(turn, await runTurn(agent, turn))
    return textOf(task.artifacts?.[0]?.parts ?? [])
  }

  describe('an answer', () => {
    test('is streamed as chunks of the artifact response, its usage in the metadata', async () => {
      const { agent } = await start([{ chunks: ['Once ', 'upon ', 'a time'] }])
      const turn = createTurn('a story')
      const events = await runTurn(agent, turn)
      expect(events).toHaveLength(4)
      const [artifact] = foldEvents(turn, events).artifacts ?? []
      expect(artifact?.artifactId).toBe('response')
      expect(artifact?.parts).toEqual([{ text: 'Once upon a time' }])
      expect(artifact?.metadata?.[usageExtension]).toEqual({
        inputTokens: 11,
        outputTokens: 7,
        model: 'gpt-test',
      })
      expect(turn.traces).toMatchObject([{ type: 'model', inputTokens: 11, finish: 'stop' }])
    })

    test('is understood from a service that does not stream', async () => {
      const { agent } = await start([{ whole: 'all at once' }])
      expect(await answer(agent)).toBe('all at once')
    })

    test('begins before the model has ended', async () => {
      const { agent } = await start([{ hang: ['first', 'second'] }])
      const turn = createTurn('hi')
      const events = agent.process(turn.message, turn)
      const { value } = await events.next()
      expect(value).toMatchObject({ artifactUpdate: { artifact: { parts: [{ text: 'first' }] } } })
      await events.return(undefined)
    })

    test('of a later turn of the task stands in an artifact of its own', async () => {
      const { agent } = await start(['again'])
      const turn = createTurn('more', { history: [userMessage('one'), agentMessage('two')] })
      const [artifact] = foldEvents(turn, await runTurn(agent, turn)).artifacts ?? []
      expect(artifact?.artifactId).toBe('response-2')
    })
  })

  describe('the request', () => {
    test('R-W12: has model, key, system prompt, temperature, max_tokens and plain text', async () => {
      const change = { systemPrompt: 'Be brief.', temperature: 0, maxTokens: 5 }
      const { agent, server } = await start(['ok'], change)
      await answer(agent, 'hello')
      expect(server.requests[0]).toMatchObject({
        model: 'gpt-test',
        stream: true,
        stream_options: { include_usage: true },
        temperature: 0,
        max_tokens: 5,
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'hello' },
        ],
      })
      expect(server.headers[0]?.authorization).toBe('Bearer sk-secret-key')
    })

    test('R-W12: has the messages of the context and of the task, each once', async () => {
      const { agent, server } = await start(['ok'])
      const known = userMessage('known to both')
      const turn = createTurn('now', {
        conversation: [userMessage('earlier'), agentMessage('answer'), known],
        history: [known, agentMessage('of the task')],
      })
      await runTurn(agent, turn)
      expect(server.requests[0]?.messages.map((m) => [m.role, m.content])).toEqual([
        ['user', 'earlier'],
        ['assistant', 'answer'],
        ['user', 'known to both'],
        ['assistant', 'of the task'],
        ['user', 'now'],
      ])
    })

    test('has no more history than it may', async () => {
      const { agent, server } = await start(['ok'], { maxHistory: 1 })
      await runTurn(
        agent,
        createTurn('now', { conversation: [userMessage('a'), userMessage('b')] }),
      )
      expect(server.requests[0]?.messages.map((m) => m.content)).toEqual(['b', 'now'])
    })

    test('has the turns that a stateless client sent along instead of the context', async () => {
      const { agent, server } = await start(['ok'])
      const messages = [
        { role: 'system', content: 'rhyme' },
        { role: 'assistant', content: 'said before' },
        { role: 'intruder', content: 'dropped' },
      ]
      const message = { ...userMessage('go on'), metadata: { [historyExtension]: { messages } } }
      await runTurn(agent, createTurn(message, { conversation: [userMessage('other')] }))
      expect(server.requests[0]?.messages.map((m) => m.content)).toEqual([
        'rhyme',
        'said before',
        'go on',
      ])
    })

    test('goes to the full URL as it is, and to the path under a base URL', async () => {
      const { agent: full } = await start(['ok'])
      expect(await answer(full)).toBe('ok')
      const server = await openModelServer(['fine'], { wire })
      closing.push(server.close)
      const { agent } = await start([''], { endpoint: `${server.url}/chat/completions` })
      expect(await answer(agent)).toBe('fine')
    })
  })

  describe('a service that fails', () => {
    test('R-W12: is asked again after the time it names, no oftener than allowed', async () => {
      const refused = { status: 429, headers: { 'retry-after': '7' } }
      const { agent, server, clock } = await start([refused, refused, 'at last'])
      expect(await answer(agent)).toBe('at last')
      expect(server.requests).toHaveLength(3)
      expect(clock.waits).toEqual([7000, 7000])
    })

    test('is left alone when it wants more patience than we have', async () => {
      const { agent, server } = await start([{ status: 429, headers: { 'retry-after': '3600' } }])
      await expect(answer(agent)).rejects.toMatchObject({
        code: 'agentUnavailable',
        details: { retryAfterSeconds: 3600 },
      })
      expect(server.requests).toHaveLength(1)
    })

    test('is not asked again with max_retries 0', async () => {
      const { agent, server } = await start([{ status: 503 }], { maxRetries: 0 })
      await expect(answer(agent)).rejects.toMatchObject({ code: 'agentUnavailable' })
      expect(server.requests).toHaveLength(1)
    })

    test('is asked as often as a file would have it where the program says nothing', async () => {
      const server = await openModelServer([{ status: 503 }], { wire })
      const clock = createInstantClock({ real: (ms) => ms === 30_000 })
      const { url: endpoint } = server
      const own = { id: 'writer', name: 'Writer', endpoint, apiKey: 'k', model: 'm', clock }
      const agent = new OpenAIAgent(own)
      closing.push(() => agent.close(), server.close)
      await expect(answer(agent)).rejects.toMatchObject({ code: 'agentUnavailable' })
      expect(server.requests).toHaveLength(1 + 3)
    })

    test.each([401, 403, 400, 404])(
      'with %d is asked once, and is a processing error',
      async (status) => {
        const body = { error: { message: 'Incorrect API key: sk-secret-key, see /srv/keys' } }
        const { agent, server } = await start([{ status, body }])
        const error = await answer(agent).catch((thrown: unknown) => thrown)
        expect(error).toMatchObject({ code: 'processingError' })
        expect(String(error)).not.toMatch(/sk-|srv/)
        expect(server.requests).toHaveLength(1)
      },
    )

    test.each([0, 470])('its words reach the log without the key at %d', async (place) => {
      const lines: string[] = []
      const record = (fields: object, text: string): void => {
        lines.push(JSON.stringify(fields) + text)
      }
      const log = { debug: record, info: record, warn: record, error: record }
      const words = `${'x'.repeat(place)} my-company-key` // 500 characters are logged
      const body = { error: { message: words } }
      const { agent } = await start([{ status: 401, body }], { log, apiKey: 'my-company-key' })
      await expect(answer(agent)).rejects.toThrow()
      expect(lines.join()).toContain(`${'x'.repeat(place)} [redact`)
      expect(lines.join()).not.toContain('my-c')
    })

    test('that is not there is unavailable', async () => {
      const { agent, server } = await start(['ok'], { maxRetries: 1 })
      await server.close()
      await expect(answer(agent)).rejects.toMatchObject({ code: 'agentUnavailable' })
      expect(await agent.health()).toMatchObject({ healthy: false })
    })

    test('that says nothing is given up after the timeout', async () => {
      const { agent } = await start([{ silent: true }], { timeoutSeconds: 0.05, maxRetries: 0 })
      await expect(answer(agent)).rejects.toMatchObject({ code: 'timeout' })
    })

    test('that falls silent in the middle is given up after the timeout', async () => {
      const { agent } = await start([{ hang: ['half'] }], { timeoutSeconds: 0.05 })
      await expect(answer(agent)).rejects.toMatchObject({ code: 'timeout' })
    })

    test('that only keeps the connection alive is given up after the timeout', async () => {
      const { agent } = await start([{ drip: true }], { timeoutSeconds: 0.05 })
      await expect(answer(agent)).rejects.toMatchObject({ code: 'timeout' })
    })

    test.each([
      ['no JSON', 'data: {oops\n\n'],
      ['no completion', 'data: {"hello":"world"}\n\n'],
      ['an error event', 'data: {"error":{"message":"secret detail"}}\n\n'],
      ['no end', 'data: {"choices":[{"delta":{"content":"half"}}]}\n\n'],
      ['no text', 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'],
    ])('that sends %s gives an invalid response', async (_, raw) => {
      const { agent, server } = await start([{ raw }])
      const error = await answer(agent).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'invalidAgentResponse' })
      expect(String(error)).not.toContain('secret')
      expect(server.requests).toHaveLength(1)
    })

    test('that breaks off is not asked again, because half is already said', async () => {
      const { agent, server } = await start([{ broken: ['half'] }])
      await expect(answer(agent)).rejects.toMatchObject({ code: 'agentUnavailable' })
      expect(server.requests).toHaveLength(1)
    })

    test('withholds an answer by its filter', async () => {
      const { agent } = await start([{ chunks: [], finish: 'content_filter' }])
      await expect(answer(agent)).rejects.toMatchObject({ code: 'processingError' })
    })
  })

  test('cancelling the turn closes the connection and stops the waiting', async () => {
    const { agent, server } = await start([{ hang: ['a', 'b'] }])
    const turn = createTurn('hi')
    const events = agent.process(turn.message, turn)
    await events.next()
    await events.next()
    const next = events.next()
    turn.cancel(new Error('enough'))
    await expect(next).rejects.toThrow('enough')
    await server.abandoned
  })

  test('health asks for the models, with the key', async () => {
    const { agent, server } = await start([''])
    expect(await agent.health()).toEqual({ healthy: true })
    expect(server.headers[0]?.authorization).toBe('Bearer sk-secret-key')
  })

  test('info shows the model, never the key or the prompt', async () => {
    const { agent } = await start([''], {
      systemPrompt: 'private',
      capabilities: ['write', 'write'],
    })
    expect(agent.info()).toMatchObject({
      id: 'writer',
      capabilities: ['write'],
      metadata: { type: 'openai', model: 'gpt-test' },
    })
    expect(JSON.stringify(agent.info())).not.toMatch(/secret|private/)
  })
})
