import OpenAI from 'openai'
import { afterEach, describe, expect, test } from 'vitest'
import { OpenAIAgent } from '../../../src/agents/openai/agent.ts'
import { createOpenAIBinding } from '../../../src/bindings/openai/server.ts'
import { createRouteTable, serverRoutes } from '../../../src/bindings/routes.ts'
import { finishOf, usageOf } from '../../../src/protocol/extensions.ts'
import { answerParts, textOf, userMessage } from '../../../src/protocol/task.ts'
import { bearer, createServer, listen, type ServerOptions } from '../../../src/server/index.ts'
import { type ModelScript, type ModelServer, openModelServer } from '../../../src/testing/index.ts'
import { wires } from '../../fixtures/wires.ts'

/** The routes of a server that are not OpenAI's. */
const noPages = {
  health: undefined,
  metrics: undefined,
  catalogue: undefined,
  keys: undefined,
  resource: undefined,
  mcp: undefined,
  callback: undefined,
}

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

describe.each(wires)('over the wire of %s', (wire) => {
  /** A model behind a server of ours, which is itself a model to OpenAI's client. */
  async function serve(script: ModelScript, options: Partial<ServerOptions> = {}) {
    const service: ModelServer = await openModelServer(script, { wire })
    const agent = new OpenAIAgent({
      id: 'writer',
      name: 'Writer',
      endpoint: service.url,
      apiKey: 'k',
      model: 'gpt-test',
      timeoutSeconds: 10,
      maxRetries: 0,
    })
    const server = await createServer({
      agents: [agent],
      routes: (request) => find(request.path)?.(request),
      ...options,
    })
    const handlers = createOpenAIBinding({
      dispatchOf: () => server.dispatch(),
      models: () => [{ id: 'writer', readsHistory: true }],
    })
    const find = createRouteTable(serverRoutes, { ...noPages, ...handlers })
    const listening = await listen(server, { port: 0, host: '127.0.0.1' })
    closing.push(service.close, () => agent.close(), listening.close)
    const connect = (apiKey: string): OpenAI =>
      new OpenAI({ apiKey, baseURL: `${listening.url}/v1`, maxRetries: 0 })
    return { service, dispatch: server.dispatch(), connect }
  }

  test('a task keeps the answer as one text and the usage of the model', async () => {
    const { dispatch } = await serve([{ chunks: ['Once ', 'upon ', 'a time'] }])
    const answer = await dispatch('SendMessage', { message: userMessage('a story') }, {})
    if (!('task' in answer)) throw new Error('a task was expected')
    const [artifact] = answer.task.artifacts ?? []
    expect(artifact?.parts).toEqual([{ text: 'Once upon a time' }])
    expect(usageOf(artifact?.metadata)).toMatchObject({ inputTokens: 11, outputTokens: 7 })
  })

  test('the model sees what was said before in the context, and in no other', async () => {
    const { dispatch, service } = await serve(['first', 'second', 'third'])
    const ask = (text: string, contextId: string) =>
      dispatch('SendMessage', { message: userMessage(text, { contextId }) }, {})
    await ask('one', 'c-1')
    await ask('other', 'c-2')
    await ask('two', 'c-1')
    expect(service.requests[2]?.messages).toEqual([
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'first' },
      { role: 'user', content: 'two' },
    ])
  })

  test('a failing service fails the task with words that tell nothing inward', async () => {
    const { dispatch } = await serve([
      { status: 401, body: { error: { message: 'key k at /srv' } } },
    ])
    const answer = await dispatch('SendMessage', { message: userMessage('hi') }, {})
    if (!('task' in answer)) throw new Error('a task was expected')
    expect(answer.task.status.state).toBe('TASK_STATE_FAILED')
    expect(textOf(answerParts(answer.task))).toBe('The model of Writer refused our credentials')
  })

  test('from OpenAI’s client through us to a model and back: tokens, history and usage', async () => {
    const { connect, service } = await serve([{ chunks: ['a', 'b', 'c'] }])
    const stream = await connect('none').chat.completions.create({
      model: 'writer',
      stream: true,
      stream_options: { include_usage: true },
      messages: [
        { role: 'system', content: 'Rhyme.' },
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'two' },
        { role: 'user', content: 'three' },
      ],
    })
    let text = ''
    let usage: unknown
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? ''
      usage = chunk.usage ?? usage
    }
    expect(text).toBe('abc')
    expect(usage).toEqual({ prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 })
    expect(service.requests[0]?.messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'user',
    ])
  })

  test('OpenAI’s key is the server’s bearer token', async () => {
    const auth = { authenticators: [bearer({ tokens: { 'good-key': 'ada' } })] }
    const { connect } = await serve(['hello'], { auth })
    const body = { model: 'writer', messages: [{ role: 'user' as const, content: 'hi' }] }
    const completion = await connect('good-key').chat.completions.create(body)
    expect(completion.choices[0]?.message.content).toBe('hello')
    const error = await connect('bad-key')
      .chat.completions.create(body)
      .catch((e: unknown) => e)
    expect(error).toBeInstanceOf(OpenAI.AuthenticationError)
    expect(error).toMatchObject({ type: 'authentication_error' })
  })

  test.each(['length', 'content_filter'] as const)(
    'an answer that ended with %s tells so to clients of OpenAI and of A2A',
    async (finish) => {
      const { connect, dispatch } = await serve([{ chunks: ['Half'], finish }])
      const client = connect('k')
      const messages = [{ role: 'user', content: 'a story' }] as const
      const whole = await client.chat.completions.create({
        model: 'writer',
        messages: [...messages],
      })
      expect(whole.choices[0]).toMatchObject({
        finish_reason: finish,
        message: { content: 'Half' },
      })
      const stream = await client.chat.completions.create({
        model: 'writer',
        messages: [...messages],
        stream: true,
      })
      const reasons: unknown[] = []
      for await (const { choices } of stream) reasons.push(choices[0]?.finish_reason)
      expect(reasons.filter(Boolean)).toEqual([finish])
      const answer = await dispatch('SendMessage', { message: userMessage('a story') }, {})
      const [artifact] = ('task' in answer && answer.task.artifacts) || []
      expect(finishOf(artifact?.metadata)).toBe(finish)
    },
  )

  test('a refusal of the model is one to clients of OpenAI, and a rejected task', async () => {
    const refusal = 'I cannot help with that.'
    const { connect, dispatch } = await serve([{ refusal }])
    const client = connect('k')
    const messages: [{ role: 'user'; content: string }] = [{ role: 'user', content: 'a crime' }]
    const whole = await client.chat.completions.create({ model: 'writer', messages })
    expect(whole.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: null, refusal },
    })
    const stream = await client.chat.completions.create({ model: 'writer', messages, stream: true })
    let said = ''
    for await (const { choices } of stream) said += choices[0]?.delta.refusal ?? ''
    expect(said).toBe(refusal)
    const answer = await dispatch('SendMessage', { message: userMessage('a crime') }, {})
    expect(answer).toMatchObject({
      task: { status: { state: 'TASK_STATE_REJECTED', message: { parts: [{ text: refusal }] } } },
    })
    const status = 'task' in answer ? answer.task.status.message : undefined
    expect(usageOf(status?.metadata)).toMatchObject({ inputTokens: 11 })
  })

  test.each([
    ['context_length', 400, 'context_length_exceeded'],
    ['quota', 503, 'insufficient_quota'],
  ] as const)('the error %s reaches clients of OpenAI as %d %s', async (error, status, code) => {
    const { connect } = await serve([{ error }])
    const messages: [{ role: 'user'; content: string }] = [{ role: 'user', content: 'hi' }]
    const asked = connect('k').chat.completions.create({ model: 'writer', messages })
    await expect(asked).rejects.toMatchObject({ status, code })
  })
})
