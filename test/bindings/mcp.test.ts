import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, describe, expect, test } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { createMcpBinding } from '../../src/bindings/mcp.ts'
import { textOf } from '../../src/protocol/task.ts'
import { bearer, createServer, listen, type ServerOptions } from '../../src/server/index.ts'
import '../support/programs.ts'

const closing: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A real server that offers an agent at `/mcp`. */
async function serve(agent: Agent, options: Partial<ServerOptions> = {}): Promise<string> {
  const { id, name, description } = await agent.info()
  const binding = createMcpBinding({
    offers: () => [{ id, name, description, dispatch: server.dispatch(id) }],
  })
  const server = await createServer({
    agents: [agent],
    routes: (request) => (request.path === '/mcp' ? binding.handle(request) : undefined),
    ...options,
  })
  const listening = await listen(server, { port: 0, host: '127.0.0.1' })
  closing.push(listening.close, binding.close)
  return `${listening.url}/mcp`
}

async function connect(url: string, mode: 'legacy' | 'auto' = 'auto'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  closing.push(() => client.close())
  return client
}

const greeter = defineAgent({ name: 'Greeter', description: 'Greets people' }, (message) => {
  return `Hello, ${textOf(message.parts)}`
})

describe('an agent offered over streamable HTTP', () => {
  test('is a tool with its words and the schema of a question', async () => {
    const client = await connect(await serve(greeter))
    const { tools } = await client.listTools()
    expect(tools).toMatchObject([
      {
        name: 'greeter',
        title: 'Greeter',
        description: 'Greets people',
        inputSchema: { type: 'object', required: ['message'] },
        outputSchema: { properties: { answer: { type: 'string' } }, required: ['answer', 'state'] },
      },
    ])
  })

  test('has a tool of its own, though its id would give it the name of another', async () => {
    const long = `https://agents.example/${'x'.repeat(64)}`
    const ids = ['a://b', 'a___b', 'a://b?', 'a://b#', `${long}/1`, `${long}/2`]
    const agents = ids.map((id) => defineAgent({ id, name: id }, () => `I am ${id}`))
    const listed = async (order: readonly Agent[]) => {
      const server = await createServer({ agents: order })
      const listening = await listen(server, { port: 0, host: '127.0.0.1' })
      closing.push(listening.close)
      const client = await connect(`${listening.url}/mcp`)
      const { tools } = await client.listTools()
      const answers = tools.map(async ({ name }) => {
        const { content } = await client.callTool({ name, arguments: { message: 'who?' } })
        return [name, JSON.stringify(content)] as const
      })
      return new Map(await Promise.all(answers))
    }
    const tools = await listed(agents)
    expect(tools.size).toBe(ids.length)
    expect(tools.get('a___b')).toContain('I am a___b')
    for (const [name, answer] of await listed(agents.toReversed()))
      expect([name, answer]).toEqual([name, tools.get(name)])
    for (const name of tools.keys()) expect(name).toMatch(/^[\w-]{1,64}$/)
  })

  test('rejects a request of more members than any client has a use for', async () => {
    const url = await serve(greeter)
    const ask = async (keys: number) => {
      const _meta = Object.fromEntries(Array.from({ length: keys }, (_, i) => [`k${i}`, { i }]))
      const call = { name: 'greeter', arguments: { message: 'Ada' }, _meta }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call })
      const accept = 'application/json, text/event-stream'
      const headers = { 'content-type': 'application/json', accept }
      const response = await fetch(url, { method: 'POST', headers, body })
      return `${response.status} ${await response.text()}`
    }
    expect(await ask(400)).toContain('Hello, Ada')
    expect(await ask(500)).toMatch(/^400 .*at most 1000 members, nested ones included/)
  })

  test('is asked for its schema once, and closes the connection where the client wants that', async () => {
    let reads = 0
    const outputSchema = {
      get type() {
        reads++
        return 'object'
      },
    }
    const offer = { id: 'a', name: 'A', description: '', outputSchema, dispatch: async () => {} }
    const binding = createMcpBinding({ offers: () => [offer as never] }) // nothing is sent to it
    closing.push(binding.close)
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
    const accept = 'application/json, text/event-stream'
    const headers = { 'content-type': 'application/json', accept }
    const list = () => binding.handle({ method: 'POST', path: '/mcp', query: '', headers, body })
    const first = await list()
    expect(first.status).toBe(200)
    expect(first.headers).not.toHaveProperty('connection')
    const before = reads
    expect((await list()).status).toBe(200)
    expect(reads).toBe(before)
  })

  test.each(['legacy', 'auto'] as const)(
    'answers a client of the %s revision, and says where its answer stands',
    async (mode) => {
      const client = await connect(await serve(greeter), mode)
      const result = await client.callTool({ name: 'greeter', arguments: { message: 'Ada' } })
      expect(result.content).toEqual([{ type: 'text', text: 'Hello, Ada' }])
      expect(result.structuredContent).toMatchObject({
        answer: 'Hello, Ada',
        state: 'TASK_STATE_COMPLETED',
      })
    },
  )

  test('asks back, and takes the answer in the same task', async () => {
    const asker = defineAgent({ name: 'Asker' }, async function* (message, turn) {
      if (turn.task) yield `Thank you, ${textOf(message.parts)}`
      else yield turn.ask('Your name?')
    })
    const client = await connect(await serve(asker))
    const first = await client.callTool({ name: 'asker', arguments: { message: 'hi' } })
    const { task_id, context_id, ...rest } = first.structuredContent as Record<string, string> // our own schema
    expect(rest).toEqual({ answer: 'Your name?', state: 'TASK_STATE_INPUT_REQUIRED' })
    expect(first.content).toEqual([
      { type: 'text', text: 'Your name?' },
      {
        type: 'text',
        text: `To answer, call this tool again with task_id "${task_id}" and context_id "${context_id}".`,
      },
    ])
    const args = { message: 'Ada', task_id, context_id }
    const second = await client.callTool({ name: 'asker', arguments: args })
    expect(second.content).toEqual([{ type: 'text', text: 'Thank you, Ada' }])
    expect(second.structuredContent).toMatchObject({ answer: 'Thank you, Ada', task_id })
  })

  test('that ends in another way than with an answer says why, whatever it wrote before', async () => {
    const picky = defineAgent({ name: 'Picky' }, async function* (_, turn) {
      yield 'A draft'
      yield turn.status('TASK_STATE_REJECTED', 'Not today')
    })
    const client = await connect(await serve(picky))
    const result = await client.callTool({ name: 'picky', arguments: { message: 'go' } })
    expect(result).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'Not today' }],
      structuredContent: { answer: 'Not today', state: 'TASK_STATE_REJECTED' },
    })
  })

  test('fails with words of its own, and shows nothing internal', async () => {
    const broken = defineAgent({ name: 'Broken' }, () => {
      throw new Error('secret /srv/path')
    })
    const client = await connect(await serve(broken))
    const result = await client.callTool({ name: 'broken', arguments: { message: 'go' } })
    expect(result.isError).toBe(true)
    expect(JSON.stringify(result)).not.toContain('srv')
  })

  test('brings files and data as content', async () => {
    const files = defineAgent({ name: 'Files' }, (_message, turn) =>
      turn.reply([
        { data: { n: 1 } },
        { raw: 'aGk=', mediaType: 'image/png' },
        { url: 'https://example.com/a.pdf', filename: 'a.pdf', mediaType: 'application/pdf' },
        { raw: 'aGk=', filename: 'b c.bin' },
      ]),
    )
    const client = await connect(await serve(files))
    const result = await client.callTool({ name: 'files', arguments: { message: 'go' } })
    expect(result.content).toMatchObject([
      { type: 'text', text: '{"n":1}' },
      { type: 'image', data: 'aGk=', mimeType: 'image/png' },
      { type: 'resource_link', uri: 'https://example.com/a.pdf', name: 'a.pdf' },
      { type: 'resource', resource: { uri: 'attachment:///b%20c.bin', blob: 'aGk=' } },
    ])
    expect(result.structuredContent).toMatchObject({ answer: '', data: [{ n: 1 }] })
  })

  test('tells a client that asks for progress what it does', async () => {
    const slow = defineAgent({ name: 'Slow' }, async function* (_, turn) {
      yield turn.status('TASK_STATE_WORKING', 'looking')
      yield 'found '
      yield 'it'
    })
    const client = await connect(await serve(slow))
    const heard: unknown[] = []
    const result = await client.callTool(
      { name: 'slow', arguments: { message: 'go' } },
      { onprogress: ({ message, progress }) => void heard.push([progress, message]) },
    )
    expect(result.content).toEqual([{ type: 'text', text: 'found it' }])
    expect(heard).toEqual([
      [1, 'looking'],
      [2, 'found '],
      [3, 'it'],
    ])
  })

  test('stops when the client gives up', async () => {
    let stopped: (value: unknown) => void = () => {}
    const ended = new Promise((resolve) => {
      stopped = resolve
    })
    const endless = defineAgent({ name: 'Endless' }, async function* (_, turn) {
      yield 'begun'
      controller.abort()
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
      stopped(turn.signal.reason)
    })
    const controller = new AbortController()
    const client = await connect(await serve(endless))
    const options = { signal: controller.signal }
    await expect(
      client.callTool({ name: 'endless', arguments: { message: 'go' } }, options),
    ).rejects.toThrow()
    expect(await ended).toMatchObject({ code: 'taskCanceled' })
  })

  test('refuses arguments that are no question', async () => {
    const client = await connect(await serve(greeter))
    const result = await client.callTool({ name: 'greeter', arguments: { text: 'Ada' } }).then(
      ({ isError }) => isError,
      () => true,
    )
    expect(result).toBe(true)
  })

  test('takes the credentials of the request, as every other wire does', async () => {
    const who = defineAgent({ name: 'Who' }, (_message, turn) => `You are ${turn.caller.userId}`)
    const auth = { authenticators: [bearer({ tokens: { 'good-key': 'ada' } })] }
    const url = new URL(await serve(who, { auth }))
    const call = async (headers: Record<string, string>) => {
      const client = new Client({ name: 'test', version: '1.0.0' })
      await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
      closing.push(() => client.close())
      return client.callTool({ name: 'who', arguments: { message: 'hi' } })
    }
    const known = await call({ authorization: 'Bearer good-key' })
    expect(known.content).toEqual([{ type: 'text', text: 'You are ada' }])
    expect((await call({})).isError).toBe(true)
  })

  test('does not answer a page of another origin', async () => {
    const url = await serve(greeter)
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    const headers = { 'content-type': 'application/json', origin: 'https://evil.example' }
    expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(403)
  })
})

describe('an agent offered over stdio', () => {
  test('is called by the official client in a process of its own', async () => {
    const fixture = fileURLToPath(new URL('../fixtures/mcp-stdio.ts', import.meta.url))
    const client = new Client({ name: 'test', version: '1.0.0' })
    const args = ['--import', 'tsx', fixture]
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }),
    )
    closing.push(() => client.close())
    const call = async (args: Record<string, string>) =>
      client.callTool({ name: 'greeter', arguments: args })
    expect((await call({ message: 'Ada' })).content).toEqual([{ type: 'text', text: 'Hello, Ada' }])
    const asked = await call({ message: 'who' })
    const { task_id } = asked.structuredContent as { task_id: string } // our own schema
    expect((await call({ message: 'Bob', task_id })).content).toEqual([
      { type: 'text', text: 'Hello, Bob' },
    ])
    const failed = await call({ message: 'fail' })
    expect(failed.isError).toBe(true)
    expect(JSON.stringify(failed)).not.toContain('srv')
  })
})
