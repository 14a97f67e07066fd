import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { A2AClient } from '../../src/client/index.ts'
import { answerParts, textOf } from '../../src/index.ts'
import { serve, start, temporary } from './corral.ts'

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
