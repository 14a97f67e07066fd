import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { A2AServer, type RunningServer } from '../../src/compat/a2a-server.ts'
import { EchoHandler } from '../../src/compat/message-handler.ts'
import { silent } from '../../src/shared/log.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { InMemoryTaskStore } from '../../src/store/task-store.ts'
import { get, jsonReply, rpc } from '../acceptance/serve.ts'

const rcMessage = (text: string, more: object = {}) => ({
  message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text }], ...more },
})

async function run(server: A2AServer): Promise<RunningServer> {
  const running = await server.run({ signals: false })
  onTestFinished(() => running.shutdown())
  return running
}

describe('the builder', () => {
  test('serves an echo in one chain', async () => {
    const { url } = await run(A2AServer.echo().bind('127.0.0.1:0'))
    const answer = await rpc(`${url}/v1/rpc`, { method: 'message/send', params: rcMessage('hi') })
    expect(answer.result.task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(answer.result.task.status.message.parts).toEqual([{ text: 'Echo: hi' }])
  })

  test('serves functions, agents and objects with run', async () => {
    const backends = [
      (message: { parts: readonly object[] }) => `${message.parts.length} part`,
      { run: async (text: string) => `${text.length - 1} part` },
    ]
    for (const backend of backends) {
      const { url } = await run(new A2AServer(backend as never).bind('127.0.0.1:0'))
      const { result } = await rpc(`${url}/rpc`, {
        method: 'message/send',
        params: { message: { role: 'user', parts: [{ type: 'text', text: 'hi' }] } },
      })
      expect(result.message.parts).toEqual([{ type: 'text', text: '1 part' }])
    }
  })

  test('refuses what answers nothing, no address and a taken one', async () => {
    await expect(new A2AServer({} as never).bind(':0').run()).rejects.toThrow(/handleMessage/)
    await expect(A2AServer.echo().run()).rejects.toThrow(/\.bind\("0\.0\.0\.0:8080"\)/)
    for (const wrong of ['', '8080', 'host', 'host:', 'host:99999', 'a:b:1'])
      expect(() => A2AServer.echo().bind(wrong)).toThrow(/is no address/)
    const { port } = await run(A2AServer.echo().bind('127.0.0.1:0'))
    await expect(A2AServer.echo().bind(`127.0.0.1:${port}`).run()).rejects.toThrow(/already in use/)
  })

  test('A-13: the card says localhost where the server listens on all interfaces', async () => {
    const { url, port } = await run(A2AServer.echo().bind('0.0.0.0:0'))
    expect(url).toBe(`http://localhost:${port}`)
    const { json } = await get(`${url}/.well-known/agent-card.json`)
    expect(json.supportedInterfaces[0].url).toBe(`http://localhost:${port}/v1/rpc`)
  })

  test('points the card to the public URL', async () => {
    const server = A2AServer.echo().bind('127.0.0.1:0').publicUrl('https://agent.example.com/')
    const { port } = await run(server)
    const { json } = await get(`http://127.0.0.1:${port}/.well-known/agent-card.json`)
    expect(json.url).toBe('https://agent.example.com/')
  })

  test("A-13: answers at paths of one's own", async () => {
    const server = A2AServer.echo().bind('127.0.0.1:0').rpcPath('/a2a/rpc').restPrefix('/api/')
    const { url } = await run(server)
    const { result } = await rpc(`${url}/a2a/rpc`, {
      method: 'message/send',
      params: rcMessage('a'),
    })
    expect(result.task.status.message.parts[0].text).toBe('Echo: a')
    const { json } = await get(`${url}/api/tasks/${result.task.id}`)
    expect(json.id).toBe(result.task.id)
  })

  test.each(['/', '/rpc', '/v1/rpc', '/v1/rpc/', '/mcp'])(
    'A-13: rpcPath(%s), a path of the server itself, answers once',
    async (path) => {
      let asked = 0
      const server = A2AServer.echo()
        .bind('127.0.0.1:0')
        .rpcPath(path)
        .additionalRoutes(() => {
          asked++
          return undefined
        })
      const { url } = await run(server)
      const { result } = await rpc(`${url}${path}`, {
        method: 'message/send',
        params: rcMessage('a'),
      })
      expect(result.task.status.message.parts[0].text).toBe('Echo: a')
      expect(asked).toBe(1)
    },
  )

  test("gives routes of one's own the state of the server", async () => {
    const server = new A2AServer(new EchoHandler())
      .bind('127.0.0.1:0')
      .authExtractor((headers) => (headers['x-user'] ? { userId: headers['x-user'] } : undefined))
      .additionalRoutes((request, state) =>
        request.path === '/mine' ? mine(request.headers['x-user'] ?? '', state) : undefined,
      )
    const mine = async (
      userId: string,
      state: Parameters<Parameters<A2AServer['additionalRoutes']>[0]>[1],
    ) =>
      jsonReply({
        tasks: (await state.taskStore({ userId }).list()).map(({ id }) => id),
        base: state.baseUrl,
        echo: state.handler instanceof EchoHandler,
      })
    const { url } = await run(server)
    const { result } = await rpc(`${url}/v1/rpc`, {
      method: 'message/send',
      params: rcMessage('hi'),
      headers: { 'x-user': 'ann' },
    })
    const own = await get(`${url}/mine`, { 'x-user': 'ann' })
    expect(own.json).toEqual({ tasks: [result.task.id], base: url, echo: true })
    expect((await get(`${url}/mine`, { 'x-user': 'bob' })).json.tasks).toEqual([])
  })

  test("keeps tasks in a store of one's own", async () => {
    const tasks = new InMemoryTaskStore()
    const { url } = await run(A2AServer.echo().bind('127.0.0.1:0').taskStore(tasks))
    const { result } = await rpc(`${url}/v1/rpc`, {
      method: 'message/send',
      params: rcMessage('hi'),
    })
    expect((await tasks.get(result.task.id))?.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('keeps tasks in a store of ours, and leaves it open', async () => {
    const store = createMemoryStore()
    const running = await run(A2AServer.echo().bind('127.0.0.1:0').taskStore(store))
    const params = rcMessage('hi')
    const { result } = await rpc(`${running.url}/v1/rpc`, { method: 'message/send', params })
    await running.shutdown()
    expect((await store.get(result.task.id))?.task.id).toBe(result.task.id)
  })

  test('C-33: warns where anyone may call from anywhere', async () => {
    const warnings = async (server: A2AServer): Promise<string[]> => {
      const lines: string[] = []
      const warn = (_fields: object, text: string): void => void lines.push(text)
      const logger = { ...silent, warn }
      await run(server.configure({ logger }))
      return lines
    }
    expect(await warnings(A2AServer.echo().bind('0.0.0.0:0'))).toEqual([
      'Anyone who reaches this server may use it',
    ])
    expect(await warnings(A2AServer.echo().bind('127.0.0.1:0'))).toEqual([])
    const known = A2AServer.echo().authExtractor(() => ({ userId: 'ann' }))
    expect(await warnings(known.bind('0.0.0.0:0'))).toEqual([])
  })

  test('says when it has stopped, however often it is told to', async () => {
    const running = await A2AServer.echo().bind('127.0.0.1:0').run({ signals: false })
    await Promise.all([running.shutdown(), running.shutdown(), running.stopped])
    await expect(get(`${running.url}/health`)).rejects.toThrow()
  })

  test('A-13: shuts down gracefully on SIGTERM', async () => {
    const script = fileURLToPath(new URL('../server/echo-process.ts', import.meta.url))
    const child = spawn(process.execPath, ['--import', 'tsx', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = once(child, 'exit')
    const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
    expect((await get(`${String(line).trim()}/health`)).status).toBe(200)
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  })
})
