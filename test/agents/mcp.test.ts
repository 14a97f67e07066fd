import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { createMcpToolSource } from '../../src/agents/mcp.ts'
import { OpenAIAgent } from '../../src/agents/openai/agent.ts'
import { createMcpBinding } from '../../src/bindings/mcp.ts'
import { textOf } from '../../src/protocol/task.ts'
import { createServer, listen, toNodeHandler } from '../../src/server/index.ts'
import { openModelServer } from '../../src/testing/index.ts'
import { serve } from '../client/serve.ts'
import { createTurn, foldEvents, runTurn } from '../fixtures/turn.ts'
import '../support/programs.ts'

const fixture = fileURLToPath(new URL('../fixtures/mcp-stdio.ts', import.meta.url))

const program = { name: 'greetings', command: process.execPath, args: ['--import', 'tsx', fixture] }

const closing: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

test('a model uses the tools of a program over stdio, and hears of their failures', async () => {
  const source = createMcpToolSource(program)
  const service = await openModelServer([
    {
      tools: [
        { name: 'greeter', arguments: { message: 'Ada' } },
        { name: 'greeter', arguments: { message: 'fail' } },
      ],
    },
    'I greeted.',
  ])
  const agent = new OpenAIAgent({
    id: 'host',
    name: 'Host',
    endpoint: service.url,
    apiKey: 'k',
    model: 'm',
    timeoutSeconds: 10,
    maxRetries: 0,
    toolSources: [source],
  })
  closing.push(service.close, () => agent.close())
  const turn = createTurn('greet Ada')
  const [artifact] = foldEvents(turn, await runTurn(agent, turn)).artifacts ?? []
  expect(textOf(artifact?.parts ?? [])).toBe('I greeted.')
  const results = service.requests[1]?.messages.filter((message) => message.role === 'tool')
  expect(results?.[0]?.content).toBe('Hello, Ada')
  expect(String(results?.[1]?.content)).toMatch(/^Error: /)
})

test('tools are found over streamable HTTP too, with headers, and again after a close of the server', async () => {
  const agent = defineAgent({ name: 'Echo' }, (message) => textOf(message.parts))
  const seen: (string | undefined)[] = []
  const binding = createMcpBinding({
    offers: () => [
      { id: 'a.b', name: 'Echo', description: 'Says it', dispatch: server.dispatch() },
    ],
  })
  const server = await createServer({
    agents: [agent],
    routes(request) {
      seen.push(request.headers['x-key'])
      return request.path === '/mcp' ? binding.handle(request) : undefined
    },
  })
  const listening = await listen(server, { port: 0, host: '127.0.0.1' })
  closing.push(listening.close, binding.close)
  const url = `${listening.url}/mcp`
  const source = createMcpToolSource({ name: 'echo', url, headers: { 'x-key': 'k' } })
  closing.push(source.close)
  const turn = createTurn('go')
  const [tool] = await source.list(turn.signal)
  expect(tool?.name).toBe('a_b')
  const context = { signal: turn.signal, turn }
  expect(await tool?.execute({ message: 'hi' }, context)).toBe('hi')
  expect(new Set(seen)).toEqual(new Set(['k']))
})

test('calls of tools over HTTP share their connections', async () => {
  const agent = defineAgent({ name: 'Echo' }, (message) => textOf(message.parts))
  const server = await createServer({ agents: [agent] })
  let connections = 0
  const http = createHttpServer(toNodeHandler(server.handle)).on('connection', () => connections++)
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo // a listening TCP server has one
  const source = createMcpToolSource({ name: 'echo', url: `http://127.0.0.1:${port}/mcp` })
  closing.push(
    () => server.close(),
    async () => void http.close().closeAllConnections(),
    source.close,
  )
  const turn = createTurn('go')
  const context = { signal: turn.signal, turn }
  for (let count = 1; count <= 20; count++) {
    const [tool] = await source.list(turn.signal)
    expect(await tool?.execute({ message: `hi ${count}` }, context)).toBe(`hi ${count}`)
  }
  // One may be held by the stream of the server's own messages.
  expect(connections).toBeLessThanOrEqual(3)
})

test.each([301, 302, 303, 307, 308])(
  'a tool server that redirects elsewhere (%s) takes no headers along',
  async (status) => {
    const foreign = await serve(() => ({ status: 404 }))
    const tools = await serve(() => ({ status, headers: { location: `${foreign.url}/mcp` } }))
    const headers = { 'x-key': 'k', authorization: 'Bearer t' }
    const source = createMcpToolSource({ name: 'moved', url: `${tools.url}/mcp`, headers })
    closing.push(source.close)
    await expect(source.list(createTurn('go').signal)).rejects.toThrow()
    expect(tools.received[0]?.headers).toMatchObject(headers)
    expect(foreign.received).toEqual([])
  },
)

test('a program that is not there is unavailable, and its words stay inside', async () => {
  const source = createMcpToolSource({ name: 'nothing', command: '/nowhere/at/all' })
  const error = await source.list(new AbortController().signal).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'agentUnavailable' })
  expect(String(error)).toBe('A2AError: The tools of nothing are unavailable')
  await source.close()
  await expect(source.list(new AbortController().signal)).rejects.toThrow('closed')
})

test('a program that never answers holds up neither a cancelled turn nor the end', async () => {
  const args = ['-e', 'setInterval(() => {}, 1000)']
  const source = createMcpToolSource({ name: 'mute', command: process.execPath, args })
  const cancel = new AbortController()
  const cancelled = source.list(cancel.signal)
  const waiting = source.list(new AbortController().signal)
  cancel.abort(new Error('cancelled'))
  await expect(cancelled).rejects.toThrow('cancelled')
  await Promise.all([source.close(), expect(waiting).rejects.toMatchObject({ name: 'A2AError' })])
})

test('tools that are named are asked about, and a name that no tool has stops the turn', async () => {
  const run = async (approval: readonly string[]) => {
    const service = await openModelServer([
      { tools: [{ name: 'greeter', arguments: { message: 'Ada' } }] },
      'I greeted.',
    ])
    const agent = new OpenAIAgent({
      ...{ id: 'host', name: 'Host', endpoint: service.url, apiKey: 'k', model: 'm' },
      ...{ timeoutSeconds: 10, maxRetries: 0 },
      toolSources: [createMcpToolSource({ ...program, approval })],
    })
    closing.push(service.close, () => agent.close())
    const turn = createTurn('greet Ada')
    return foldEvents(turn, await runTurn(agent, turn)).status.state
  }
  expect(await run(['greeter'])).toBe('TASK_STATE_INPUT_REQUIRED')
  await expect(run(['greter'])).rejects.toThrow(
    'The tools of greetings cannot be used: its approval names greter, which is not one of them',
  )
})
