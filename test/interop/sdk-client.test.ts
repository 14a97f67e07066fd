import { createServer as createReceiver } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  AgentCard,
  Role,
  SendMessageRequest,
  type StreamResponse,
  type Task,
  TaskState,
} from '@a2a-js/sdk'
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createDeferred } from '../../src/shared/async.ts'
import { type Served, serveAgent } from '../server/sockets.ts'

const wires = [
  ['JSONRPC', '1.0'],
  ['HTTP+JSON', '1.0'],
  ['JSONRPC', '0.3'],
  ['HTTP+JSON', '0.3'],
] as const

const legacyCompat = { enabled: true }
const transports = [
  new JsonRpcTransportFactory({ legacyCompat }),
  new RestTransportFactory({ legacyCompat }),
]
const cardResolver = new DefaultAgentCardResolver({ legacyCompat })
const factory = new ClientFactory({ transports, cardResolver })

/** The peer's client, held to one interface of our card. */
async function clientOf(
  { url }: Served,
  [binding, version]: readonly [string, string],
): Promise<Client> {
  const raw = await (await fetch(`${url}/.well-known/agent-card.json`)).json()
  const card = AgentCard.fromJSON(raw)
  const supportedInterfaces = card.supportedInterfaces.filter(
    (one) => one.protocolBinding === binding && one.protocolVersion === version,
  )
  expect(supportedInterfaces).toHaveLength(1)
  return factory.createFromAgentCard({ ...card, supportedInterfaces })
}

const serve = (): Promise<Served> =>
  serveAgent({
    pushNotifications: { guard: { allow: ['127.0.0.0/8', 'localhost'], allowHttp: true } },
  })

function message(text: string, more: object = {}): SendMessageRequest {
  return SendMessageRequest.fromJSON({
    message: {
      messageId: crypto.randomUUID(),
      role: 'ROLE_USER',
      parts: [{ text }],
      ...more,
    },
  })
}

function immediately(request: SendMessageRequest): SendMessageRequest {
  return SendMessageRequest.fromJSON({
    ...(SendMessageRequest.toJSON(request) as object), // toJSON gives an object
    configuration: { returnImmediately: true },
  })
}

function taskOf(result: unknown): Task {
  expect(result).toHaveProperty('status')
  return result as Task // a task has a status, a message has none
}

const text = (task: Task): string =>
  task.artifacts
    .flatMap(({ parts }) => parts)
    .map(({ content }) => (content?.$case === 'text' ? content.value : ''))
    .join('')

/** The states that a stream brings, in order. */
function statesOf(events: readonly StreamResponse[]): TaskState[] {
  return events.flatMap(({ payload }) => {
    if (payload?.$case === 'task') return payload.value.status?.state ?? []
    return payload?.$case === 'statusUpdate' ? (payload.value.status?.state ?? []) : []
  })
}

async function all(stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const list: StreamResponse[] = []
  for await (const event of stream) list.push(event)
  return list
}

test('the SDK finds our agent by its card, and takes 1.0 without being told', async () => {
  const { url } = await serve()
  const client = await new ClientFactory().createFromUrl(url)
  expect(client.protocolVersion).toBe('1.0')
  expect(text(taskOf(await client.sendMessage(message('hi'))))).toBe('Echo: hi')
})

describe.each(wires)('the SDK as client over %s %s', (...wire) => {
  test('sends and gets a task, or a message', async () => {
    const client = await clientOf(await serve(), wire)
    const task = taskOf(await client.sendMessage(message('hi')))
    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
    expect(text(task)).toBe('Echo: hi')
    expect(await client.sendMessage(message('say hello'))).toMatchObject({
      role: Role.ROLE_AGENT,
      parts: [{ content: { $case: 'text', value: 'hello' } }],
    })
  })

  test('streams a task to its end', async () => {
    const client = await clientOf(await serve(), wire)
    const events = await all(client.sendMessageStream(message('chunks one two')))
    expect(events[0]?.payload?.$case).toBe('task')
    expect(statesOf(events).at(-1)).toBe(TaskState.TASK_STATE_COMPLETED)
    const chunks = events.filter(({ payload }) => payload?.$case === 'artifactUpdate')
    expect(chunks).toHaveLength(2)
  })

  test('gets a task, and an error for one that is not there', async () => {
    const client = await clientOf(await serve(), wire)
    const { id } = taskOf(await client.sendMessage(message('hi')))
    const task = await client.getTask({ tenant: '', id })
    expect(text(task)).toBe('Echo: hi')
    await expect(client.getTask({ tenant: '', id: 'made-up' })).rejects.toThrow(/not found/i)
  })

  test('continues a task that asks', async () => {
    const client = await clientOf(await serve(), wire)
    const asked = taskOf(await client.sendMessage(message('ask')))
    expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
    const { id: taskId, contextId } = asked
    const answered = taskOf(await client.sendMessage(message('red', { taskId, contextId })))
    expect(answered.id).toBe(taskId)
    expect(answered.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
  })

  test('cancels a task', async () => {
    const client = await clientOf(await serve(), wire)
    const { id } = taskOf(await client.sendMessage(immediately(message('hold'))))
    const canceled = await client.cancelTask({ tenant: '', id, metadata: {} })
    expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
  })

  test('comes back to a running task', async () => {
    const served = await serve()
    const client = await clientOf(served, wire)
    const { id } = taskOf(await client.sendMessage(immediately(message('hold'))))
    const stream = client.resubscribeTask({ tenant: '', id })
    const first = await stream.next()
    expect(first.value?.payload).toMatchObject({ $case: 'task', value: { id } })
    served.agent.release()
    expect(statesOf(await all(stream)).at(-1)).toBe(TaskState.TASK_STATE_COMPLETED)
  })

  test('registers, reads, lists and deletes webhooks, and is called', async () => {
    const served = await serve()
    const client = await clientOf(served, wire)
    const { url, body } = await receive()
    const { id: taskId } = taskOf(await client.sendMessage(immediately(message('hold'))))
    const config = { tenant: '', id: 'hook', taskId, url, token: 'tok', authentication: undefined }
    const created = await client.createTaskPushNotificationConfig(config)
    expect(created).toMatchObject({ id: 'hook', taskId, url })
    const found = { tenant: '', taskId, id: 'hook' }
    expect(await client.getTaskPushNotificationConfig(found)).toMatchObject({ url, token: 'tok' })
    const page = { tenant: '', taskId, pageSize: 0, pageToken: '' }
    expect((await client.listTaskPushNotificationConfig(page)).configs).toHaveLength(1)
    served.agent.release()
    expect(await body).toContain(taskId)
    await client.deleteTaskPushNotificationConfig(found)
    expect((await client.listTaskPushNotificationConfig(page)).configs).toEqual([])
  })
})

describe.each(wires.slice(0, 2))('the SDK as client over %s %s alone', (...wire) => {
  test('lists tasks', async () => {
    const client = await clientOf(await serve(), wire)
    const { id } = taskOf(await client.sendMessage(message('hi')))
    const { tasks, totalSize } = await client.listTasks({
      tenant: '',
      contextId: '',
      status: TaskState.TASK_STATE_UNSPECIFIED,
      pageToken: '',
      statusTimestampAfter: undefined,
    })
    expect([tasks[0]?.id, totalSize]).toEqual([id, 1])
  })
})

/** A receiver of webhooks, and the first body that it gets. */
async function receive(): Promise<{ readonly url: string; readonly body: Promise<string> }> {
  const first = createDeferred<string>()
  const receiver = createReceiver(async (request, response) => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    first.resolve(text)
    response.end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    receiver.closeAllConnections()
    receiver.close()
  })
  const { port } = receiver.address() as AddressInfo // a listening TCP server has one
  return { url: `http://127.0.0.1:${port}/hook`, body: first.promise }
}
