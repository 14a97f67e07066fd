import { describe, expect, onTestFinished, test } from 'vitest'
import { A2AServer, type RunningServer } from '../../src/compat/a2a-server.ts'
import { EchoHandler, HandlerError, type MessageHandler } from '../../src/compat/message-handler.ts'
import type { AuthContext } from '../../src/protocol/operations.ts'
import { completedTaskWithText, textOf } from '../../src/protocol/task.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { get, post, rpc } from '../acceptance/serve.ts'

const rcMessage = (text: string, more: object = {}) => ({
  message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text }], ...more },
})

async function run(server: A2AServer): Promise<RunningServer> {
  const running = await server.run({ signals: false })
  onTestFinished(() => running.shutdown())
  return running
}

function handler(
  handle: MessageHandler['handleMessage'],
  more: Partial<MessageHandler> = {},
): MessageHandler {
  return { handleMessage: handle, agentCard: () => ({ name: 'Handler' }), ...more }
}

describe('a message handler', () => {
  test('hears who calls, and learns nothing of the anonymous', async () => {
    const seen: (AuthContext | undefined)[] = []
    const { url } = await run(
      new A2AServer(
        handler((message, auth) => {
          seen.push(auth)
          return { task: completedTaskWithText(message, 'ok') }
        }),
      )
        .bind('127.0.0.1:0')
        .authExtractor(
          ({ authorization }) =>
            authorization ? { userId: 'u', accessToken: authorization } : undefined,
          {
            required: false,
          },
        ),
    )
    const call = { method: 'message/send', params: rcMessage('hi') }
    await rpc(`${url}/v1/rpc`, call)
    await rpc(`${url}/v1/rpc`, { ...call, headers: { authorization: 'Bearer t' } })
    expect(seen).toEqual([undefined, { userId: 'u', accessToken: 'Bearer t' }])
  })

  test('may answer with a message, which stores nothing', async () => {
    const { url, server } = await run(
      new A2AServer(handler((_message, _auth, turn) => ({ message: turn.reply('hello') }))).bind(
        '127.0.0.1:0',
      ),
    )
    const { result } = await rpc(`${url}/v1/rpc`, {
      method: 'message/send',
      params: rcMessage('hi'),
    })
    expect(result.message).toMatchObject({ role: 'ROLE_AGENT', parts: [{ text: 'hello' }] })
    const scope = { agent: 'handler', tenant: '', owner: '' }
    expect((await server.store.list({ scope, limit: 10 })).total).toBe(0)
  })

  test('streams only where it says so', async () => {
    const reply = handler((message) => ({ task: completedTaskWithText(message, 'ok') }))
    const plain = await run(new A2AServer(reply).bind('127.0.0.1:0'))
    const call = { method: 'message/stream', params: rcMessage('hi') }
    expect(
      (await post(`${plain.url}/v1/rpc`, JSON.stringify({ jsonrpc: '2.0', id: 1, ...call }))).text,
    ).toContain('-32004')
    const agentCard = () => ({ name: 'Handler', capabilities: { streaming: true } })
    for (const says of [{ supportsStreaming: () => true }, { agentCard }]) {
      const { url } = await run(new A2AServer({ ...reply, ...says }).bind('127.0.0.1:0'))
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...call })
      const stream = await post(`${url}/v1/rpc`, body)
      expect(stream.headers.get('content-type')).toContain('text/event-stream')
      expect(stream.text).toContain('TASK_STATE_COMPLETED')
    }
  })

  test('S002-21: is told once of a cancel, while it works and while it waits', async () => {
    const told: string[] = []
    let began: (() => void) | undefined
    const working = new Promise<void>((resolve) => {
      began = resolve
    })
    const running = await run(
      new A2AServer(
        handler(
          async function* (message, _auth, turn) {
            if (textOf(message.parts) === 'ask') yield turn.ask('What?')
            else {
              began?.()
              await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
            }
          },
          { cancelTask: (id) => void told.push(id) },
        ),
      ).bind('127.0.0.1:0'),
    )
    const { url } = running
    const asked = await rpc(`${url}/v1/rpc`, { method: 'message/send', params: rcMessage('ask') })
    const busy = await rpc(`${url}/v1/rpc`, {
      method: 'message/send',
      params: { ...rcMessage('work'), configuration: { returnImmediately: true } },
    })
    await working
    for (const { result } of [asked, busy]) {
      const { id } = result.task
      const cancelled = await rpc(`${url}/v1/rpc`, { method: 'tasks/cancel', params: { id } })
      expect(cancelled.result.status.state).toBe('TASK_STATE_CANCELED')
      await expect.poll(() => told).toContain(id)
    }
    await running.shutdown() // it waits for what it began
    expect(told).toEqual([asked.result.task.id, busy.result.task.id])
  })

  test('may continue a task with a whole task, and nothing of before is lost', async () => {
    const { url } = await run(
      new A2AServer(
        handler((message, _auth, turn) =>
          turn.task
            ? { task: completedTaskWithText(message, 'done') }
            : (async function* () {
                yield turn.ask('Go on?')
              })(),
        ),
      ).bind('127.0.0.1:0'),
    )
    const first = await rpc(`${url}/v1/rpc`, { method: 'message/send', params: rcMessage('one') })
    const taskId = first.result.task.id
    const params = rcMessage('two', { taskId, messageId: 'm2' })
    const { result } = await rpc(`${url}/v1/rpc`, { method: 'message/send', params })
    const said = result.task.history.map(
      (said: { parts: { text: string }[] }) => said.parts[0]?.text,
    )
    expect(said).toEqual(['one', 'Go on?', 'two', 'done'])
    expect(result.task.status.state).toBe('TASK_STATE_COMPLETED')
  })
})

describe('the five handler errors', () => {
  const source = new Error('secret /var/lib')
  const failing = (thrown: HandlerError) =>
    run(new A2AServer(handler(() => Promise.reject(thrown))).bind('127.0.0.1:0'))
  const send = async (thrown: HandlerError) => {
    const { url } = await failing(thrown)
    const ranch = { message: { role: 'user', parts: [{ type: 'text', text: 'hi' }] } }
    const body = (params: object) =>
      JSON.stringify({ jsonrpc: '2.0', method: 'message/send', params, id: 7 })
    return {
      ranch: await post(`${url}/rpc`, body(ranch)),
      rc: await post(`${url}/v1/rpc`, body(rcMessage('hi'))),
    }
  }

  test('ProcessingFailed fails the task; in RANCH it is -32002', async () => {
    const { ranch, rc } = await send(HandlerError.processingFailed('No luck', source))
    expect(ranch.json.error).toMatchObject({ code: -32002, message: 'No luck' })
    expect(rc.json.result.task.status).toMatchObject({ state: 'TASK_STATE_FAILED' })
    expect(ranch.text + rc.text).not.toContain('secret')
  })

  test('BackendUnavailable fails the task; in RANCH it is -32003', async () => {
    const { ranch, rc } = await send(HandlerError.backendUnavailable('Model down', source))
    expect(ranch.json.error).toMatchObject({ code: -32003, message: 'Model down' })
    expect(rc.json.result.task.status.state).toBe('TASK_STATE_FAILED')
  })

  test('AuthRequired is a 401 with a challenge', async () => {
    const { ranch, rc } = await send(HandlerError.authRequired('Log in first'))
    for (const { status, headers, json } of [ranch, rc]) {
      expect(status).toBe(401)
      expect(headers.get('www-authenticate')).toContain('Bearer')
      expect(json).toMatchObject({ id: 7, error: { code: -32600, message: 'Log in first' } })
    }
  })

  test('AuthRequired of a task that is there already asks for credentials', async () => {
    const { url } = await run(
      new A2AServer(
        handler((_message, _auth, turn) => {
          if (turn.task) throw HandlerError.authRequired('Log in first')
          return (async function* () {
            yield turn.ask('Go on?')
          })()
        }),
      ).bind('127.0.0.1:0'),
    )
    const first = await rpc(`${url}/v1/rpc`, { method: 'message/send', params: rcMessage('a') })
    const taskId = first.result.task.id
    const { result } = await rpc(`${url}/v1/rpc`, {
      method: 'message/send',
      params: rcMessage('b', { taskId }),
    })
    expect(result.task.status.state).toBe('TASK_STATE_AUTH_REQUIRED')
    expect(result.task.status.message.parts).toEqual([{ text: 'Log in first' }])
  })

  test('AuthRequired after the caller was given the task asks for credentials too', async () => {
    const { url } = await run(
      new A2AServer(
        handler(async function* (_message, _auth, turn) {
          yield turn.status('TASK_STATE_WORKING')
          throw HandlerError.authRequired('Log in first')
        }),
      ).bind('127.0.0.1:0'),
    )
    const { result } = await rpc(`${url}/v1/rpc`, {
      method: 'message/send',
      params: rcMessage('a'),
    })
    expect(result.task.status.state).toBe('TASK_STATE_AUTH_REQUIRED')
  })

  test('InvalidInput is -32602 and makes no task', async () => {
    const { ranch, rc } = await send(HandlerError.invalidInput('Numbers only'))
    for (const { json } of [ranch, rc])
      expect(json).toMatchObject({ id: 7, error: { code: -32602, message: 'Numbers only' } })
  })

  test('Internal says nothing of its source', async () => {
    const { ranch, rc } = await send(HandlerError.internal(source))
    expect(ranch.json.error).toMatchObject({ code: -32603, message: 'Internal error' })
    expect(rc.json.result.task.status.state).toBe('TASK_STATE_FAILED')
    expect(ranch.text + rc.text).not.toMatch(/secret|var|stack/i)
  })
})

test('A-11: the echo handler has a prefix, a name and a delay', async () => {
  const clock = createFakeClock()
  const echo = new EchoHandler({ prefix: 'echo:', name: 'Parrot', completeAfterMs: 500, clock })
  const { url } = await run(new A2AServer(echo).bind('127.0.0.1:0'))
  expect((await get(`${url}/.well-known/agent-card.json`)).json.name).toBe('Parrot')
  const { result } = await rpc(`${url}/v1/rpc`, {
    method: 'message/send',
    params: { ...rcMessage('hi'), configuration: { returnImmediately: true } },
  })
  expect(result.task.status.state).toBe('TASK_STATE_WORKING')
  await expect.poll(() => clock.pending().length).toBe(1)
  clock.advance(500)
  const read = async () =>
    (await rpc(`${url}/v1/rpc`, { method: 'tasks/get', params: { id: result.task.id } })).result
  await expect.poll(async () => (await read()).status.state).toBe('TASK_STATE_COMPLETED')
  expect((await read()).status.message.parts).toEqual([{ text: 'echo:hi' }])
})
