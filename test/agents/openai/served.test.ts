import OpenAI from 'openai'
import { afterEach, expect, test } from 'vitest'
import { OpenAIAgent } from '../../../src/agents/openai/agent.ts'
import { createOpenAIBinding } from '../../../src/bindings/openai/server.ts'
import { createRouteTable, serverRoutes } from '../../../src/bindings/routes.ts'
import { usageOf } from '../../../src/protocol/extensions.ts'
import { answerParts, textOf, userMessage } from '../../../src/protocol/task.ts'
import { bearer, createServer, listen, type ServerOptions } from '../../../src/server/index.ts'
import { type ModelScript, type ModelServer, openModelServer } from '../../../src/testing/index.ts'

/** The routes of a server that are not OpenAI's. */
const noPages = {
  health: undefined,
  metrics: undefined,
  catalogue: undefined,
  keys: undefined,
  resource: undefined,
  mcp: undefined,
}

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A model behind a server of ours, which is itself a model to OpenAI's client. */
async function serve(script: ModelScript, options: Partial<ServerOptions> = {}) {
  const service: ModelServer = await openModelServer(script)
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
  const { dispatch } = await serve([{ status: 401, body: { error: { message: 'key k at /srv' } } }])
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
