import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { A2AClient } from '../../src/client/index.ts'
import { answerParts, textOf, traceExtension } from '../../src/index.ts'
import { serve, start, temporary } from '../../test/cli/corral.ts'

const wish = 'Write a story about a lighthouse'

async function post(url: string, body: object, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return response.json()
}

test('the demo answers A2A 1.0, 0.3, RANCH and OpenAI with a story on the subject, offline', async () => {
  const { url, signal, ended } = await serve(['demo'], { cwd: temporary() })
  for (const versions of [['1.0'], ['0.3']])
    for (const bindings of [['JSONRPC'], ['HTTP+JSON']]) {
      const client = new A2AClient({ serverUrl: url, versions, bindings })
      expect(await client.run(wish)).toContain('a lighthouse')
      await client.close()
    }
  const modern = await post(
    `${url}/`,
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: wish }] } },
    },
    { 'a2a-version': '1.0' },
  )
  expect(textOf(answerParts(modern.result.task))).toContain('a lighthouse')
  const old = await post(`${url}/`, {
    jsonrpc: '2.0',
    id: 1,
    method: 'message/send',
    params: {
      message: {
        kind: 'message',
        messageId: 'm',
        role: 'user',
        parts: [{ kind: 'text', text: wish }],
      },
    },
  })
  expect(old.result).toMatchObject({ kind: 'task', status: { state: 'completed' } })
  const card = await post(`${url}/rpc`, { jsonrpc: '2.0', id: 1, method: 'agent/card' })
  expect(card.result).toMatchObject({
    name: 'Fantasy Story Writing Team',
    version: '2.0.0',
    provider: { name: 'RANCH Multi-Agent Framework' },
  })
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none' })
  const stream = await openai.chat.completions.create({
    model: 'fantasy-writing-team',
    messages: [{ role: 'user', content: wish }],
    stream: true,
  })
  let told = ''
  for await (const chunk of stream) told += chunk.choices[0]?.delta.content ?? ''
  expect(told).toContain('a lighthouse')
  signal('SIGINT')
  expect((await ended).code).toBe(0)
})

test('the demo streams its story in chunks', async () => {
  const { url } = await serve(['demo'], { cwd: temporary() })
  const client = new A2AClient(url)
  const chunks: string[] = []
  for await (const event of client.sendMessageStream(wish))
    if ('artifactUpdate' in event) chunks.push(textOf(event.artifactUpdate.artifact.parts))
  await client.close()
  expect(chunks.length).toBeGreaterThan(10)
  expect(chunks.join('')).toContain('a lighthouse')
})

test('the demo keeps its tasks in a file, and shows where everything is', async () => {
  const cwd = temporary()
  const first = start(['demo', '--port', '0'], { cwd })
  const [, url = ''] = await first.seen(/is served at (\S+)/)
  await first.seen(/curl -s .*\n/)
  for (const place of ['/.well-known/agent-card.json', '/rpc', '/v1/chat/completions', '/agents'])
    await first.seen(new RegExp(`${url}${place}\n`))
  await first.seen(/store {4}\.corral\/demo\.db/)
  const client = new A2AClient(url)
  await client.run(wish)
  await client.close()
  first.signal('SIGTERM')
  expect((await first.ended).code).toBe(0)
  const second = await serve(['demo', '--store', '.corral/demo.db'], { cwd })
  const again = new A2AClient(second.url)
  expect((await again.listTasks()).tasks).toMatchObject([
    { status: { state: 'TASK_STATE_COMPLETED' } },
  ])
  await again.close()
})

test('the demo prints its console first, with how long it took', async () => {
  const demo = start(['demo', '--port', '0', '--store', 'memory'], { cwd: temporary() })
  const [line = ''] = await demo.seen(/^.*\n/)
  expect(line).toMatch(/^Open http:\/\/localhost:\d+\/console\/ .*\d+\.\d s\)\n$/)
})

test('the demo’s studio uses a tool, is asked twice, asks its user, and prints what is approved', async () => {
  const { url } = await serve(['demo'], { cwd: temporary() })
  const client = new A2AClient({ serverUrl: `${url}/agents/studio`, extensions: [traceExtension] })
  const { tasks } = await client.listTasks({ pageSize: 50 })
  const states = tasks.map(({ status }) => status.state).sort()
  expect(states).toEqual([
    'TASK_STATE_COMPLETED',
    'TASK_STATE_COMPLETED',
    'TASK_STATE_INPUT_REQUIRED',
    'TASK_STATE_REJECTED',
    'TASK_STATE_WORKING',
  ])
  const waiting = tasks.find(({ status }) => status.state === 'TASK_STATE_INPUT_REQUIRED')
  const answer = await client.sendMessage('yes', { taskId: waiting?.id ?? '' })
  const done = 'task' in answer ? answer.task : undefined
  expect(done?.status.state).toBe('TASK_STATE_COMPLETED')
  expect(textOf(done ? answerParts(done) : [])).toContain('printed by the studio')
  const traced = await client.getTask(waiting?.id ?? '')
  const entries = traced.metadata?.[traceExtension]
  const types = Array.isArray(entries) ? entries.map((entry) => Object(entry).type) : []
  expect(types).toEqual(expect.arrayContaining(['tool', 'failure', 'retry', 'approval']))
  await client.close()
})

test('the demo leaves a store that has been used as it is', async () => {
  const cwd = temporary()
  const first = await serve(['demo', '--store', 'demo.db'], { cwd })
  const ids = async (url: string): Promise<readonly string[]> => {
    const client = new A2AClient(`${url}/agents/studio`)
    const { tasks } = await client.listTasks({ pageSize: 50 })
    await client.close()
    return tasks.map(({ id }) => id).sort()
  }
  const before = await ids(first.url)
  expect(before).toHaveLength(5)
  first.signal('SIGTERM')
  await first.ended
  const second = await serve(['demo', '--store', 'demo.db'], { cwd })
  expect(await ids(second.url)).toEqual(before)
})
