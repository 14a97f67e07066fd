import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import OpenAI from 'openai'
import { describe, expect, onTestFinished, test } from 'vitest'
import { OpenAIAgent, type OpenAIAgentOptions } from '../../src/agents/openai/agent.ts'
import { asTool } from '../../src/agents/tools.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { type ModelScript, type ModelServer, openModelServer } from '../../src/testing/index.ts'
import { member } from '../fixtures/members.ts'
import { answerText, connect, remote, serve, teamOf } from './scene.ts'
import '../support/programs.ts'

const root = join(import.meta.dirname, '..', '..')

async function model(
  script: ModelScript,
  options: Partial<OpenAIAgentOptions> = {},
): Promise<{ readonly agent: OpenAIAgent; readonly service: ModelServer }> {
  const service = await openModelServer(script)
  const agent = new OpenAIAgent({
    id: 'model',
    name: 'Model',
    endpoint: service.url,
    apiKey: 'key',
    model: 'gpt-test',
    timeoutSeconds: 20,
    maxRetries: 0,
    ...options,
  })
  onTestFinished(async () => {
    await agent.close()
    await service.close()
  })
  return { agent, service }
}

const ask = (content: string) => ({
  model: 'team',
  messages: [{ role: 'user' as const, content }],
})

function openai(url: string): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })
}

describe('a team for OpenAI clients', () => {
  test('is a model, and answers with the usage of its members', async () => {
    const { agent } = await model([{ chunks: ['Hello ', 'there'] }])
    const client = openai(await serve(teamOf({ agent })))
    expect((await client.models.list()).data).toMatchObject([{ id: 'team', object: 'model' }])
    expect(await client.models.retrieve('team')).toMatchObject({ id: 'team' })
    const completion = await client.chat.completions.create(ask('hi'))
    expect(completion.choices[0]?.message).toMatchObject({
      role: 'assistant',
      content: 'Hello there',
    })
    expect(completion.choices[0]?.finish_reason).toBe('stop')
    expect(completion.usage).toMatchObject({ prompt_tokens: 11, completion_tokens: 7 })
  })

  test('streams the last member’s words while it still speaks', async () => {
    const heard = createDeferred<void>()
    const writer = member('writer', async function* (text) {
      yield `about ${text}: `
      await heard.promise
      yield 'the end'
    })
    const client = openai(await serve(teamOf({ first: member('first'), writer })))
    const stream = await client.chat.completions.create({
      ...ask('bees'),
      stream: true,
      stream_options: { include_usage: true },
    })
    const pieces: string[] = []
    let usage: OpenAI.CompletionUsage | null | undefined
    for await (const { choices, usage: told } of stream) {
      const piece = choices[0]?.delta.content
      if (piece) pieces.push(piece)
      usage = told ?? usage
      if (piece) heard.resolve()
    }
    expect(pieces).toEqual(['about first(bees): ', 'the end'])
    expect(usage?.total_tokens).toBeGreaterThan(0)
  })
})

describe('a team whose member is a model', () => {
  test('passes its tokens on as they come', async () => {
    const { agent } = await model([{ hang: ['Once ', 'upon '] }])
    const client = connect(await serve(teamOf({ agent }), { timeouts: { shutdownMs: 0 } }))
    const words: string[] = []
    for await (const event of client.sendMessageStream('a story')) {
      if (!('artifactUpdate' in event)) continue
      words.push(
        ...event.artifactUpdate.artifact.parts.map((part) => ('text' in part ? part.text : '')),
      )
      // The model has not ended and never will: what was heard can only have come live.
      if (words.join('').includes('upon')) break
    }
    expect(words.join('')).toBe('Once upon ')
  })

  test('may use a remote agent as its tool', async () => {
    const expert = member('expert', (text) => `42, since you ask: ${text}`)
    const far = await serve(teamOf({ expert }, 'experts'))
    const tool = await asTool(remote(far, 'experts'))
    const { agent, service } = await model(
      [{ tools: [{ name: tool.name, arguments: { message: 'the question' } }] }, 'It is 42.'],
      { tools: [tool] },
    )
    const client = connect(await serve(teamOf({ agent })))
    expect(answerText(await client.sendMessage('What is it?'))).toBe('It is 42.')
    expect(expert.asked).toEqual(['the question'])
    const told = service.requests[1]?.messages.find(({ role }) => role === 'tool')
    expect(told?.content).toBe('42, since you ask: the question')
  })

  test('gets text as a plain string, and images as parts', async () => {
    const { agent, service } = await model(['yes', 'a bee'])
    const client = openai(await serve(teamOf({ agent })))
    await client.chat.completions.create(ask('hi'))
    expect(service.requests[0]?.messages.at(-1)?.content).toBe('hi')
    const url = 'data:image/png;base64,aGk='
    await client.chat.completions.create({
      model: 'team',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url } },
          ],
        },
      ],
    })
    expect(service.requests[1]?.messages.at(-1)?.content).toEqual([
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url } },
    ])
  })
})

describe('a team for MCP clients', () => {
  test('is a tool over streamable HTTP', async () => {
    const url = await serve(teamOf({ a: member('a'), b: member('b') }))
    const client = new Client({ name: 'test', version: '1.0.0' })
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)))
    onTestFinished(() => client.close())
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['team'])
    const result = await client.callTool({ name: 'team', arguments: { message: 'x' } })
    expect(result.content).toEqual([{ type: 'text', text: 'b(a(x))' }])
  })

  test('is a tool over stdio, from its file', async () => {
    const client = new Client({ name: 'test', version: '1.0.0' })
    const file = join(root, 'examples/supervisor/corral.toml')
    const args = ['--import', 'tsx', join(root, 'src/cli/main.ts'), 'mcp', file]
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }),
    )
    onTestFinished(() => client.close())
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain('dev-team')
    const message = 'Can you help me implement a new API endpoint?'
    const result = await client.callTool({ name: 'dev-team', arguments: { message } })
    expect(JSON.stringify(result.content)).toContain('clean, efficient code')
  })
})
