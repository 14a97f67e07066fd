import { describe, expect, test } from 'vitest'
import { A2AClient, JsonRpcTransport, RestTransport } from '../../src/client/index.ts'
import type { Dispatch } from '../../src/protocol/operations.ts'
import type { StreamResponse } from '../../src/protocol/types.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { doneTask, Raw, serveAgent, streamOf } from './agent.ts'
import { serve } from './serve.ts'

const working = { ...doneTask, status: { state: 'TASK_STATE_WORKING' }, artifacts: undefined }
const ids = { taskId: 't1', contextId: 'c1' }
const echo = { SendMessage: () => ({ task: doneTask }) }

async function all(events: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const list: StreamResponse[] = []
  for await (const event of events) list.push(event)
  return list
}

describe('sending', () => {
  test('S002-45 S002-49 finds the agent by its URL and gives back task or message', async () => {
    const agent = await serveAgent(echo)
    const client = new A2AClient(agent.url)
    expect(await client.sendMessage('hi')).toEqual({ task: doneTask })
    expect(agent.calls[0]).toMatchObject({
      method: 'SendMessage',
      params: { message: { role: 'ROLE_USER', parts: [{ text: 'hi' }] } },
    })
    await client.close()
    await client.close()
  })

  test('D010 makes up no context, and passes the given one on as it is', async () => {
    const agent = await serveAgent(echo)
    const client = new A2AClient(agent.url)
    await client.sendMessage('hi')
    await client.sendMessage('again', { contextId: 'any ünusual id', taskId: 't1' })
    expect(agent.calls[0]?.params.message).not.toHaveProperty('contextId')
    expect(agent.calls[1]?.params.message).toMatchObject({
      contextId: 'any ünusual id',
      taskId: 't1',
    })
  })

  test('D011 passes a whole message on, related tasks included', async () => {
    const agent = await serveAgent(echo)
    const message = {
      messageId: 'm1',
      role: 'ROLE_USER',
      parts: [{ text: 'like that one' }],
      referenceTaskIds: ['t0'],
    } as const
    const configuration = { historyLength: 2 }
    await new A2AClient(agent.url).sendMessage(message, { configuration })
    expect(agent.calls[0]?.params).toEqual({ message, configuration })
  })

  test('B001 names the version on every request', async () => {
    const agent = await serveAgent({ ...echo, GetTask: () => doneTask })
    const client = new A2AClient(agent.url)
    await client.sendMessage('hi')
    await client.getTask('t1')
    expect(agent.received.map(({ headers }) => headers['a2a-version'])).toEqual([
      '1.0',
      '1.0',
      '1.0',
    ])
  })

  test('B008 names several extensions in one header, passes traceparent and own headers', async () => {
    const agent = await serveAgent(echo)
    const client = new A2AClient({
      serverUrl: agent.url,
      extensions: ['urn:a'],
      headers: { 'x-team': 'blue' },
    })
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    await client.sendMessage('hi', { extensions: ['urn:b', 'urn:a'], traceparent })
    expect(agent.calls[0]?.headers).toMatchObject({
      'a2a-extensions': 'urn:a,urn:b',
      'x-team': 'blue',
      traceparent,
    })
  })

  test('run gives the text of the answer', async () => {
    const agent = await serveAgent(echo, { capabilities: {} })
    expect(await new A2AClient(agent.url).run('hi')).toBe('Echo: hi')
  })

  test('W-6 the agent is a tool for a model', async () => {
    const agent = await serveAgent(echo, { capabilities: {}, name: 'Der Übersetzer 2' })
    const tool = await new A2AClient(agent.url).asTool()
    expect(tool).toMatchObject({
      name: 'der_bersetzer_2',
      description: 'Answers tests\nSkills:\n- Testing: Takes tests',
      parameters: { required: ['message'] },
    })
    expect(await tool.run({ message: 'hi' })).toBe('Echo: hi')
  })

  test('C-44 S002-52 S002-55 one client serves many callers at once', async () => {
    const agent = await serveAgent({
      SendMessage: ({ params }) => ({
        message: { ...(params.message as object), role: 'ROLE_AGENT' },
      }),
    })
    const client = new A2AClient(agent.url)
    const texts = Array.from({ length: 20 }, (_, n) => `message ${n}`)
    const answers = await Promise.all(texts.map((text) => client.sendMessage(text)))
    expect(answers.map((answer) => 'message' in answer && answer.message.parts)).toEqual(
      texts.map((text) => [{ text }]),
    )
  })
})

describe('streaming', () => {
  const events = [
    { task: working },
    { artifactUpdate: { ...ids, artifact: { artifactId: 'a', parts: [{ text: 'one ' }] } } },
    {
      artifactUpdate: {
        ...ids,
        artifact: { artifactId: 'a', parts: [{ text: 'two' }] },
        append: true,
      },
    },
    { statusUpdate: { ...ids, status: { state: 'TASK_STATE_COMPLETED' } } },
  ]

  test('gives the events of a message', async () => {
    const agent = await serveAgent({ SendStreamingMessage: (call) => streamOf(call, events) })
    expect(await all(new A2AClient(agent.url).sendMessageStream('hi'))).toEqual(
      JSON.parse(JSON.stringify(events)),
    )
  })

  test('run survives a drop: the stream goes on where it broke', async () => {
    const agent = await serveAgent({
      SendStreamingMessage: (call) => streamOf(call, events.slice(0, 2), { drop: true }),
      SubscribeToTask: (call) => streamOf(call, events.slice(2), { first: 3 }),
    })
    expect(await new A2AClient(agent.url).run('hi')).toBe('one two')
    expect(agent.calls[1]?.headers['last-event-id']).toBe('2')
  })

  test('subscribes after a given event', async () => {
    const agent = await serveAgent({ SubscribeToTask: (call) => streamOf(call, events.slice(3)) })
    const stream = new A2AClient(agent.url).subscribeToTask('t1', { lastEventId: 3 })
    expect(await all(stream)).toEqual([events[3]])
    expect(agent.calls[0]).toMatchObject({
      params: { id: 't1' },
      headers: { 'last-event-id': '3' },
    })
  })

  test('A015 is refused here where the card does not offer it', async () => {
    const agent = await serveAgent({}, { capabilities: { streaming: false } })
    const client = new A2AClient(agent.url)
    await expect(all(client.sendMessageStream('hi'))).rejects.toMatchObject({
      code: 'unsupportedOperation',
    })
    await expect(
      client.createTaskPushNotificationConfig({ taskId: 't1', url: 'https://h.example/' }),
    ).rejects.toMatchObject({ code: 'pushNotificationNotSupported' })
    await expect(client.getExtendedAgentCard()).rejects.toMatchObject({
      code: 'unsupportedOperation',
    })
    expect(agent.calls).toEqual([])
  })

  test('ends with the signal', async () => {
    const agent = await serveAgent({
      SendStreamingMessage: ({ id }) =>
        new Raw((response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          const data = JSON.stringify({ jsonrpc: '2.0', id, result: { task: working } })
          response.write(`data: ${data}\n\n`)
        }),
    })
    const controller = new AbortController()
    const stream = new A2AClient(agent.url).sendMessageStream('hi', { signal: controller.signal })
    const read = async (): Promise<void> => {
      for await (const _ of stream) controller.abort(new Error('enough'))
    }
    await expect(read()).rejects.toThrow('enough')
  })
})

describe('polling', () => {
  test('S002-51 S002-54 asks until the task is over', async () => {
    const clock = createFakeClock()
    const answers = [working, working, doneTask]
    const agent = await serveAgent({ GetTask: () => answers.shift() })
    const client = new A2AClient({ serverUrl: agent.url, clock })
    const task = client.pollUntilComplete('t1')
    await clock.elapse(1000)
    await clock.elapse(1000)
    expect(await task).toEqual(doneTask)
    expect(agent.calls.map((call) => call.params)).toEqual([
      { id: 't1' },
      { id: 't1' },
      { id: 't1' },
    ])
  })

  test('S002-50 pollTask asks once', async () => {
    const agent = await serveAgent({ GetTask: () => doneTask })
    expect(await new A2AClient(agent.url).pollTask('t1')).toEqual(doneTask)
  })

  test('C-30 S002-46 gives up after so many attempts', async () => {
    const clock = createFakeClock()
    const agent = await serveAgent({ GetTask: () => working })
    const client = new A2AClient({ serverUrl: agent.url, clock, maxPolls: 2, pollIntervalMs: 10 })
    const failed = expect(client.pollUntilComplete('t1')).rejects.toMatchObject({ code: 'timeout' })
    await clock.elapse(10)
    await failed
    expect(agent.calls).toHaveLength(2)
  })

  test('C-30 gives up at the deadline', async () => {
    const clock = createFakeClock()
    const agent = await serveAgent({ GetTask: () => working })
    const client = new A2AClient({ serverUrl: agent.url, clock })
    const poll = client.pollUntilComplete('t1', { deadlineMs: 1500 })
    const failed = expect(poll).rejects.toMatchObject({ code: 'timeout' })
    await clock.elapse(1000)
    await failed
  })
})

describe('other ways to an agent', () => {
  test('AT-9 a transport: JSON-RPC at a URL', async () => {
    const agent = await serveAgent({
      SendMessage: () => ({
        message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'Hello' }] },
      }),
    })
    const client = new A2AClient(new JsonRpcTransport(`${agent.url}/rpc`, { dialect: '1.0' }))
    expect(await client.sendMessage('Hello')).toMatchObject({ message: { role: 'ROLE_AGENT' } })
    expect((await client.fetchAgentCard()).name).toBe('Test agent')
  })

  test('AT-17 S002-53 S002-54 a transport in the 1.0-rc dialect of 002', async () => {
    const agent = await serveAgent({
      'message/send': () => ({ task: doneTask }),
      'tasks/get': () => doneTask,
    })
    const client = new A2AClient(new JsonRpcTransport(`${agent.url}/v1/rpc`, { dialect: '1.0-rc' }))
    expect(await client.sendMessage('hi')).toEqual({ task: doneTask })
    expect(await client.pollTask('abc-123')).toEqual(doneTask)
    expect(agent.calls.map((call) => call.method)).toEqual(['message/send', 'tasks/get'])
    expect(agent.calls[1]?.params).toEqual({ id: 'abc-123' })
  })

  test('A-W10 a transport: HTTP+JSON below a URL, polling included', async () => {
    const server = await serve(() => ({ body: doneTask }))
    const client = new A2AClient(new RestTransport(server.url))
    expect(await client.pollUntilComplete('t1')).toEqual(doneTask)
    expect(server.received[0]?.path).toBe('/tasks/t1')
  })

  test('a dispatch in the same process, no HTTP between', async () => {
    const dispatch = (async () => ({ task: doneTask })) as unknown as Dispatch // the one operation used
    const client = new A2AClient({ dispatch })
    expect(client).toBeInstanceOf(A2AClient)
    expect(await client.sendMessage('hi')).toEqual({ task: doneTask })
    await expect(client.fetchAgentCard()).rejects.toMatchObject({ code: 'unsupportedOperation' })
  })

  test('a client is a dispatch itself', async () => {
    const agent = await serveAgent(echo)
    const outer = new A2AClient({ dispatch: new A2AClient(agent.url).dispatch })
    expect(await outer.sendMessage('hi')).toEqual({ task: doneTask })
  })
})
