import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import OpenAI from 'openai'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Agent } from '../../../src/agents/agent.ts'
import { defineAgent } from '../../../src/agents/function.ts'
import { OpenAIAgent } from '../../../src/agents/openai/agent.ts'
import { withOutputSchema } from '../../../src/agents/output/with-schema.ts'
import { A2AAgent } from '../../../src/agents/remote/agent.ts'
import { toDataSchema } from '../../../src/agents/schema.ts'
import { traceExtension } from '../../../src/protocol/extensions.ts'
import { isTerminal, userMessage } from '../../../src/protocol/task.ts'
import type { Task } from '../../../src/protocol/types.ts'
import { createServer, listen, type Server } from '../../../src/server/index.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { defineTeam } from '../../../src/team/team.ts'
import { openModelServer } from '../../../src/testing/index.ts'
import { serveSdkAgent } from '../../client/sdk-agent.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const Review = z.object({ score: z.number().max(1) })
const schema = toDataSchema(Review, { at: 'outputSchema' })
const data = [{ data: { score: 1 }, mediaType: 'application/json' }]

async function serve(agent: Agent): Promise<string> {
  const server = await createServer({ agents: [agent], logger: false })
  const { url, close } = await listen(server, { port: 0, host: '127.0.0.1', logger: false })
  closing.push(close)
  return url
}

async function ask(server: Server, given: string | object): Promise<Task> {
  const message = userMessage(typeof given === 'string' ? given : [{ data: { ...given } }])
  const call = { extensions: [traceExtension] }
  const answer = await server.dispatch()('SendMessage', { message }, call)
  if (!('task' in answer)) throw new Error('a task was expected')
  return answer.task
}

describe('data passes the doors', () => {
  const reviewer = defineAgent({ name: 'Reviewer', outputSchema: Review }, () => ({ score: 1 }))

  test('of OpenAI as JSON, alone where the client asks for a schema', async () => {
    const baseURL = `${await serve(reviewer)}/v1`
    const client = new OpenAI({ apiKey: 'none', baseURL, maxRetries: 0 })
    const messages = [{ role: 'user' as const, content: 'review' }]
    const plain = await client.chat.completions.create({ model: 'reviewer', messages })
    const fenced = plain.choices[0]?.message.content?.trim()
    expect(fenced).toMatch(/^```json\n[^`]*\n```$/)
    const asked = await client.chat.completions.create({
      model: 'reviewer',
      messages,
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'review', schema: { ...schema.jsonSchema } },
      },
    })
    expect(JSON.parse(asked.choices[0]?.message.content ?? '')).toEqual({ score: 1 })
  })

  test('of MCP as structured content, whose schema the tool tells', async () => {
    const url = await serve(reviewer)
    const client = new Client({ name: 'test', version: '1.0.0' })
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)))
    closing.push(() => client.close())
    const { tools } = await client.listTools()
    expect(tools[0]?.outputSchema).toMatchObject({
      properties: { data: { items: { properties: { score: { maximum: 1 } } } } },
    })
    const result = await client.callTool({ name: 'reviewer', arguments: { message: 'review' } })
    expect(result.content).toEqual([{ type: 'text', text: '{"score":1}' }])
    expect(result.structuredContent).toMatchObject({ data: [{ score: 1 }] })
  })
})

describe('a remote agent of the A2A SDK', () => {
  async function remote(): Promise<Server> {
    const { url } = await serveSdkAgent()
    const agent = new A2AAgent({ id: 'peer', name: 'Peer', endpoint: url })
    closing.push(() => agent.close())
    const checked = withOutputSchema(agent, schema)
    const team = defineTeam({
      id: 'team',
      name: 'Team',
      agents: { peer: checked },
      scheduler: { type: 'workflow', steps: [{ agentId: 'peer' }] },
    })
    const server = await createServer({ agents: [team], logger: false })
    closing.push(() => server.close())
    return server
  }

  test('as a member has its data checked and passed on', async () => {
    const { artifacts, status } = await ask(await remote(), { score: 1 })
    expect(status.state).toBe('TASK_STATE_COMPLETED')
    expect(artifacts).toMatchObject([{ artifactId: 'response', parts: data }])
  })

  test('that gives data which does not fit fails the run, after three tries', async () => {
    const task = await ask(await remote(), { score: 2 })
    expect(task.status.state).toBe('TASK_STATE_FAILED')
    const entries = task.metadata?.[traceExtension]
    const tries = Array.isArray(entries) ? entries.filter((one) => one.type === 'output') : []
    expect(tries).toMatchObject([1, 2, 3].map((number) => ({ try: number, path: '1:peer' })))
  })
})

test('after a crash a model is not asked again for what it has already answered', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'corral-output-'))
  closing.push(() => rm(directory, { recursive: true }))
  const service = await openModelServer(['no', { hang: ['{"sco'] }, '{"score": 1}'])
  closing.push(service.close)
  async function start(): Promise<Server & { stop(): Promise<void> }> {
    const store = await openSqliteStore(join(directory, 'tasks.db'))
    const agent = new OpenAIAgent({
      id: 'judge',
      name: 'Judge',
      endpoint: service.url,
      apiKey: 'k',
      model: 'm',
      outputSchema: Review,
    })
    const options = { agents: [agent], store, timeouts: { shutdownMs: 0 }, logger: false as const }
    const server = await createServer(options)
    let stopping: Promise<void> | undefined
    const stop = (): Promise<void> => {
      stopping ??= server.close().then(agent.close.bind(agent)).then(store.close.bind(store))
      return stopping
    }
    closing.push(stop)
    return { ...server, stop }
  }
  const first = await start()
  const request = { message: userMessage('judge'), configuration: { returnImmediately: true } }
  const begun = await first.dispatch()('SendMessage', request, {})
  const id = 'task' in begun ? begun.task.id : ''
  await expect.poll(() => service.requests.length).toBe(2)
  await first.stop()

  const second = await start()
  expect(await second.recover()).toMatchObject({ resumed: 1 })
  for await (const batch of await second.dispatch()('SubscribeToTask', { id }, {}))
    if (
      batch.some(
        ({ event }) => 'statusUpdate' in event && isTerminal(event.statusUpdate.status.state),
      )
    )
      break
  const task = await second.dispatch()('GetTask', { id }, {})
  expect(task.artifacts).toMatchObject([{ parts: data }])
  const asked = service.requests.map(({ messages }) => String(messages.at(-1)?.content))
  expect(asked.map((text) => text.includes('You have answered'))).toEqual([false, true, true])
})
