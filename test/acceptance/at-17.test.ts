import { describe, expect, onTestFinished, test } from 'vitest'
import { pkceChallenge } from '../../src/client/index.ts'
import {
  A2aClient,
  A2aServer,
  type AppState,
  InMemoryTaskStore,
  isTerminal,
  type MessageHandler,
  type RunningServer,
  type Task,
} from '../../src/compat/index.ts'
import type { AuthContext } from '../../src/protocol/operations.ts'
import { completedTaskWithText, taskStates } from '../../src/protocol/task.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { get, jsonReply, post, rpc } from './serve.ts'

async function run(server: A2aServer): Promise<RunningServer> {
  const running = await server.run({ signals: false })
  onTestFinished(() => running.shutdown())
  return running
}

const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hello' }] }

describe('AT-17: send and poll of RC 1.0', () => {
  test('message/send gives {"result": {"task": {...}}}', async () => {
    const { url } = await run(A2aServer.echo().bind('127.0.0.1:0'))
    const body = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":${JSON.stringify({ message })}}`
    const { json } = await post(`${url}/v1/rpc`, body)
    expect(Object.keys(json)).toEqual(['jsonrpc', 'result', 'id'])
    expect(Object.keys(json.result)).toEqual(['task'])
    expect(json.result.task).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED', message: { parts: [{ text: 'Echo: Hello' }] } },
    })
  })

  test('tasks/get gives {"result": task}, of a store of one\'s own', async () => {
    const tasks = new InMemoryTaskStore()
    const task: Task = {
      id: 'abc-123',
      contextId: 'c',
      status: { state: 'TASK_STATE_WORKING', timestamp: '2026-01-01T00:00:00.000Z' },
    }
    const { url } = await run(A2aServer.echo().bind('127.0.0.1:0').taskStore(tasks))
    await tasks.create(task)
    const body = `{"jsonrpc":"2.0","id":1,"method":"tasks/get",
   "params":{"id":"abc-123"}}`
    const { json } = await post(`${url}/v1/rpc`, body)
    expect(json.result).toEqual(task)
  })

  test('is_terminal is true exactly for Completed, Failed, Canceled and Rejected', () => {
    expect(taskStates.filter(isTerminal)).toEqual([
      'TASK_STATE_COMPLETED',
      'TASK_STATE_FAILED',
      'TASK_STATE_CANCELED',
      'TASK_STATE_REJECTED',
    ])
  })
})

describe('AT-17: the builder', () => {
  test('takes the address of 002', async () => {
    const { url, port } = await run(A2aServer.echo().bind('0.0.0.0:0'))
    const taken = A2aServer.echo().bind(`0.0.0.0:${port}`).run()
    await expect(taken).rejects.toThrow(`Port ${port} on 0.0.0.0 is already in use`)
    expect((await get(`${url}/health`)).status).toBe(200)
  })

  test('what the auth extractor finds reaches the handler, and an own route sees the state', async () => {
    const seen: (AuthContext | undefined)[] = []
    const handler: MessageHandler = {
      async handleMessage(received, auth) {
        seen.push(auth)
        return { task: completedTaskWithText(received, 'ok') }
      },
      agentCard: (baseUrl) => ({ name: 'Mine', description: `At ${baseUrl}` }),
    }
    const states: AppState[] = []
    const { url } = await run(
      new A2aServer(handler)
        .bind('127.0.0.1:0')
        .authExtractor((headers) => {
          const token = headers.authorization
          return token ? { userId: 'user-123', accessToken: token } : undefined
        })
        .additionalRoutes((request, state) => {
          if (request.path !== '/custom') return undefined
          states.push(state)
          return jsonReply({ ok: true })
        }),
    )
    const headers = { authorization: 'Bearer t' }
    const { result } = await rpc(`${url}/v1/rpc`, {
      method: 'message/send',
      params: { message },
      headers,
    })
    expect(seen).toEqual([{ userId: 'user-123', accessToken: 'Bearer t' }])
    expect((await get(`${url}/custom`)).json).toEqual({ ok: true })
    expect(states[0]).toMatchObject({ handler, baseUrl: url })
    const stored = await states[0]?.taskStore({ userId: 'user-123' }).get(result.task.id)
    expect(stored?.id).toBe(result.task.id)
    expect((await get(`${url}/.well-known/agent-card.json`)).json.description).toBe(`At ${url}`)
  })
})

describe('AT-17: the client', () => {
  test('fetches a card once within five minutes, and again after them', async () => {
    let fetched = 0
    const { url } = await run(
      A2aServer.echo()
        .bind('127.0.0.1:0')
        .additionalRoutes(({ path }) => {
          if (path === '/.well-known/agent-card.json') fetched++
          return undefined
        }),
    )
    const clock = createFakeClock()
    const client = new A2aClient({ serverUrl: url, clock })
    onTestFinished(() => client.close())
    expect((await client.fetchAgentCard()).name).toBe('Echo Agent')
    clock.advance(299_000)
    await client.fetchAgentCard()
    expect(fetched).toBe(1)
    clock.advance(2_000)
    await client.fetchAgentCard()
    expect(fetched).toBe(2)
    client.invalidate()
    await client.fetchAgentCard()
    expect(fetched).toBe(3)
  })

  test('polls until the task is complete', async () => {
    const { url } = await run(A2aServer.echo().bind('127.0.0.1:0'))
    const client = new A2aClient(url)
    onTestFinished(() => client.close())
    const sent = await client.sendMessage('Hello')
    if (!('task' in sent)) throw new Error('The echo of 002 is a task')
    const task = await client.pollUntilComplete(sent.task.id)
    expect(task.status.message?.parts).toEqual([{ text: 'Echo: Hello' }])
    expect(await client.pollTask(sent.task.id)).toEqual(task)
  })

  test('makes the challenge of RFC 7636 appendix B', async () => {
    const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
    expect(await pkceChallenge(verifier)).toBe('E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM')
  })
})
