import { expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { createMcpToolSource } from '../../src/agents/mcp.ts'
import { OpenAIAgent, type OpenAIAgentOptions } from '../../src/agents/openai/agent.ts'
import { defineTool, type ToolSource } from '../../src/agents/tools.ts'
import { createMcpBinding } from '../../src/bindings/mcp.ts'
import { answerParts, textOf, userMessage } from '../../src/protocol/task.ts'
import { createServer, listen, type Server } from '../../src/server/index.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { type ModelScript, openModelServer } from '../../src/testing/index.ts'

/** A model and an agent that answers at once, with one slot for both. */
async function serveModel(script: ModelScript, options: Partial<OpenAIAgentOptions> = {}) {
  const service = await openModelServer(script)
  const model = new OpenAIAgent({
    id: 'model',
    name: 'Model',
    endpoint: service.url,
    apiKey: 'k',
    model: 'm',
    timeoutSeconds: 30,
    maxRetries: 0,
    ...options,
  })
  const quick = defineAgent({ name: 'Quick' }, (_message, turn) => turn.reply('quick'))
  const server = await createServer({ agents: [model, quick], concurrency: 1 })
  onTestFinished(async () => {
    await server.close()
    await model.close()
    await service.close()
  })
  return { server, service }
}

async function ask(server: Server, agent: string): Promise<string> {
  const dispatch = server.dispatch(agent)
  const answer = await dispatch('SendMessage', { message: userMessage('hello') }, {})
  return textOf('task' in answer ? answerParts(answer.task) : answer.message.parts)
}

test('a model that thinks holds no slot', async () => {
  const asked = createDeferred<void>()
  const go = createDeferred<void>()
  const { server } = await serveModel(async () => {
    asked.resolve()
    await go.promise
    return 'thought'
  })
  const thinking = ask(server, 'model')
  await asked.promise
  expect(await ask(server, 'quick')).toBe('quick')
  go.resolve()
  expect(await thinking).toBe('thought')
})

test('a tool of an MCP server that works holds no slot, nor does the listing of its tools', async () => {
  const called = createDeferred<void>()
  const go = createDeferred<void>()
  const slow = defineAgent({ name: 'Slow', id: 'slow' }, async () => {
    called.resolve()
    await go.promise
    return 'worked'
  })
  const tools = await createServer({
    agents: [slow],
    routes: (request) => (request.path === '/mcp' ? binding.handle(request) : undefined),
  })
  const binding = createMcpBinding({
    offers: () => [{ id: 'slow', name: 'Slow', description: 'Works', dispatch: tools.dispatch() }],
  })
  const { url, close } = await listen(tools, { port: 0, host: '127.0.0.1' })
  onTestFinished(async () => {
    await close()
    await binding.close()
  })
  const source = createMcpToolSource({ name: 'tools', url: `${url}/mcp` })
  const listing = createDeferred<void>()
  const list = createDeferred<void>()
  const held: ToolSource = {
    ...source,
    async list(signal) {
      listing.resolve()
      await list.promise
      return source.list(signal)
    },
  }
  const { server } = await serveModel(
    [{ tools: [{ name: 'slow', arguments: { message: 'work' } }] }, 'done'],
    { toolSources: [held] },
  )
  const working = ask(server, 'model')
  await listing.promise
  expect(await ask(server, 'quick')).toBe('quick')
  list.resolve()
  await called.promise
  expect(await ask(server, 'quick')).toBe('quick')
  go.resolve()
  expect(await working).toBe('done')
})

test('a tool that is a function of this process holds its slot', async () => {
  let running: number | undefined
  const tool = defineTool({
    name: 'look',
    description: 'Looks at the metrics',
    parameters: { type: 'object' },
    async execute() {
      const { body } = await server.handle({
        method: 'GET',
        path: '/metrics',
        query: '',
        headers: {},
        body: '',
      })
      running = Number(/turns_running (\d+)/.exec(String(body))?.[1])
      return 'seen'
    },
  })
  const { server } = await serveModel([{ tools: [{ name: 'look', arguments: {} }] }, 'done'], {
    tools: [tool],
  })
  expect(await ask(server, 'model')).toBe('done')
  expect(running).toBe(1)
})
