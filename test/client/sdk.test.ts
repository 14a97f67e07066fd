import { describe, expect, test } from 'vitest'
import { A2AClient, createWebhookReceiver } from '../../src/client/index.ts'
import type { StreamResponse } from '../../src/protocol/types.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { type SdkAgent, serveSdkAgent } from './sdk-agent.ts'
import { serve } from './serve.ts'

const wires = [
  ['JSONRPC', '1.0'],
  ['HTTP+JSON', '1.0'],
  ['JSONRPC', '0.3'],
  ['HTTP+JSON', '0.3'],
] as const

/** A client that may use one binding and version only. */
function clientOf(agent: SdkAgent, [binding, version]: readonly [string, string]): A2AClient {
  // The card for 1.0 hides the older interfaces, so the test says where they are.
  const path = binding === 'JSONRPC' ? '/rpc' : '/rest'
  const offer = { url: agent.url + path, protocolBinding: binding, protocolVersion: version }
  return new A2AClient({
    serverUrl: agent.url,
    card: {
      name: 'SDK',
      description: 'SDK',
      version: '1',
      supportedInterfaces: [offer],
      capabilities: { streaming: true, pushNotifications: true },
      defaultInputModes: [],
      defaultOutputModes: [],
      skills: [],
    },
  })
}

/** Reads a stream up to the first chunk of text. */
async function upToChunk(stream: AsyncIterable<StreamResponse>): Promise<string> {
  let id = ''
  for await (const event of stream) {
    if ('task' in event) id = event.task.id
    if ('artifactUpdate' in event) break
  }
  return id
}

test('B007 the card of the SDK leads to its first interface', async () => {
  const agent = await serveSdkAgent()
  const client = new A2AClient(agent.url)
  const card = await client.fetchAgentCard()
  expect(card.supportedInterfaces[0]).toMatchObject({ url: `${agent.url}/rpc` })
  expect(await client.run('hi')).toBe('Echo: hi')
})

describe.each(wires)('L007 the SDK as server over %s %s', (...wire) => {
  test('answers a message with a task', async () => {
    const client = clientOf(await serveSdkAgent(), wire)
    expect(await client.sendMessage('hi')).toMatchObject({
      task: {
        status: { state: 'TASK_STATE_COMPLETED' },
        artifacts: [{ artifactId: 'response' }],
      },
    })
  })

  test('answers a message with a message', async () => {
    const client = clientOf(await serveSdkAgent(), wire)
    expect(await client.sendMessage('talk')).toMatchObject({
      message: { role: 'ROLE_AGENT', parts: [{ text: 'Just talk' }] },
    })
  })

  test('streams', async () => {
    const client = clientOf(await serveSdkAgent(), wire)
    const kinds: string[] = []
    for await (const event of client.sendMessageStream('hi')) kinds.push(...Object.keys(event))
    expect(kinds).toEqual([
      'task',
      'statusUpdate',
      'artifactUpdate',
      'artifactUpdate',
      'statusUpdate',
    ])
  })

  test('gives a task, and says that another is not there', async () => {
    const client = clientOf(await serveSdkAgent(), wire)
    const response = await client.sendMessage('hi')
    const id = 'task' in response ? response.task.id : ''
    expect(await client.getTask(id)).toMatchObject({
      id,
      status: { state: 'TASK_STATE_COMPLETED' },
    })
    await expect(client.getTask('nothing')).rejects.toMatchObject({ code: 'taskNotFound' })
  })

  test('lists tasks where the wire can', async () => {
    const client = clientOf(await serveSdkAgent(), wire)
    await client.sendMessage('hi')
    if (wire[1] === '1.0') expect(await client.listTasks()).toMatchObject({ totalSize: 1 })
    if (wire[1] === '0.3' && wire[0] === 'JSONRPC')
      await expect(client.listTasks()).rejects.toMatchObject({ code: 'unsupportedOperation' })
  })

  test('cancels', async () => {
    const client = clientOf(await serveSdkAgent(), wire)
    const id = await upToChunk(client.sendMessageStream('wait'))
    expect(await client.cancelTask(id)).toMatchObject({ status: { state: 'TASK_STATE_CANCELED' } })
    const response = await client.sendMessage('hi')
    const done = 'task' in response ? response.task.id : ''
    await expect(client.cancelTask(done)).rejects.toMatchObject({ code: 'taskNotCancelable' })
  })

  test('takes up a task again after its stream was left', async () => {
    const agent = await serveSdkAgent()
    const client = clientOf(agent, wire)
    const id = await upToChunk(client.sendMessageStream('wait'))
    const texts: string[] = []
    let last: StreamResponse | undefined
    for await (const event of client.follow(id)) {
      if (!last) agent.release()
      last = event
      const artifacts = 'task' in event ? event.task.artifacts : undefined
      const artifact = 'artifactUpdate' in event ? event.artifactUpdate.artifact : artifacts?.[0]
      for (const part of artifact?.parts ?? []) if ('text' in part) texts.push(part.text)
    }
    expect(texts.join('')).toBe('Echo: wait')
    expect(last).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
  })

  test('keeps push configs', async () => {
    const client = clientOf(await serveSdkAgent(), wire)
    const taskId = await upToChunk(client.sendMessageStream('wait'))
    const config = { taskId, id: 'one', url: 'http://127.0.0.1:9/hook', token: 'secret' }
    expect(await client.createTaskPushNotificationConfig(config)).toMatchObject(config)
    expect(await client.getTaskPushNotificationConfig({ taskId, id: 'one' })).toMatchObject(config)
    const { configs } = await client.listTaskPushNotificationConfigs({ taskId })
    expect(configs).toMatchObject([config])
    await client.deleteTaskPushNotificationConfig({ taskId, id: 'one' })
    expect((await client.listTaskPushNotificationConfigs({ taskId })).configs).toEqual([])
    await client.cancelTask(taskId)
  })

  test('G016 delivers to our receiver', async () => {
    const done = createDeferred<StreamResponse>()
    const handle = createWebhookReceiver({
      token: 'secret',
      expects: () => true,
      onEvent: (event) => {
        const state =
          'statusUpdate' in event
            ? event.statusUpdate.status.state
            : 'task' in event && event.task.status.state
        if (state === 'TASK_STATE_COMPLETED') done.resolve(event)
      },
    })
    const statuses: number[] = []
    const hook = await serve(async ({ method, path, headers, body }) => {
      const flat = Object.fromEntries(Object.entries(headers).map(([k, v]) => [k, String(v)]))
      const { status } = await handle({ method, path, query: '', headers: flat, body })
      statuses.push(status)
      return { status }
    })
    const agent = await serveSdkAgent()
    const client = clientOf(agent, wire)
    const taskId = await upToChunk(client.sendMessageStream('wait'))
    await client.createTaskPushNotificationConfig({
      taskId,
      id: 'one',
      url: hook.url,
      token: 'secret',
    })
    agent.release()
    await done.promise
    expect(new Set(statuses)).toEqual(new Set([204]))
  })
})
