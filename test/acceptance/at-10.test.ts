import { describe, expect, test } from 'vitest'
import { toA2AAgentConfig } from '../../src/agents/config.ts'
import { A2AAgent } from '../../src/agents/remote/agent.ts'
import { post, rpc } from './serve.ts'
import { serveTeam } from './team.ts'

const text = (value: string) => ({ role: 'user', parts: [{ type: 'text', text: value }] })
const request = (method: string, params: unknown) =>
  JSON.stringify({ jsonrpc: '2.0', method, params, id: 42 })
const send = (message: unknown) => request('message/send', { message })
/** Paths and stacks of this program. */
const internal = /\/(work|home|root|usr|src|node_modules)\/|\.ts\b|\\n +at /

describe('AT-10: errors', () => {
  const cases: [name: string, body: string, code: number, id: number | null][] = [
    ['what is not JSON', 'not json', -32700, null],
    [
      'another JSON-RPC',
      '{"jsonrpc":"1.0","method":"message/send","params":{},"id":42}',
      -32600,
      42,
    ],
    ['an unknown method', request('foo/bar', {}), -32601, 42],
    ['params without a message', request('message/send', {}), -32602, 42],
    ['a message without parts', send({ role: 'user' }), -32001, 42],
    ['a message with empty parts', send({ role: 'user', parts: [] }), -32001, 42],
    ['a role that is none', send({ ...text('x'), role: 'robot' }), -32001, 42],
    ['a part that is none', send({ role: 'user', parts: [{ type: 'hologram' }] }), -32001, 42],
    ['an unknown task', request('task/get', { task_id: 'task-nobody' }), -32004, 42],
  ]
  test.each(cases)('%s', async (_name, body, code, id) => {
    const url = await serveTeam(() => 'hello')
    const answer = await post(url, body)
    expect(answer.json).toMatchObject({ jsonrpc: '2.0', error: { code }, id })
    expect(answer.text).not.toMatch(internal)
  })

  test('a member that throws is -32002 and shows nothing of itself', async () => {
    const url = await serveTeam(() => {
      throw new Error(`secret of ${import.meta.filename}`)
    })
    const answer = await post(url, send(text('x')))
    expect(answer.json).toMatchObject({ error: { code: -32002 }, id: 42 })
    expect(answer.text).not.toMatch(internal)
    expect(answer.text).not.toContain('secret')
  })

  test('a member whose endpoint is closed is -32003', async () => {
    const endpoint = 'http://127.0.0.1:1/rpc'
    const config = { id: 'gone', name: 'Gone', endpoint, protocol: 'a2a', maxRetries: 0 } as const
    const url = await serveTeam(new A2AAgent({ ...toA2AAgentConfig(config), id: 'gone' }))
    const answer = await post(url, send(text('x')))
    expect(answer.json).toMatchObject({ error: { code: -32003 }, id: 42 })
    expect(answer.text).not.toMatch(/127\.0\.0\.1|ECONNREFUSED/)
  })

  test('a version that nobody speaks is -32007', async () => {
    const url = await serveTeam(() => 'hello')
    const answer = await post(url, send(text('x')), { 'a2a-version': '9.9' })
    expect(answer.json).toMatchObject({ error: { code: -32007 }, id: 42 })
  })

  test('a message to a failed task is -32005, to a cancelled one -32006', async () => {
    const url = await serveTeam((words, turn) => {
      if (words === 'fail') throw new Error('no')
      return new Promise((_, reject) => turn.signal.addEventListener('abort', reject))
    })
    const begin = async (words: string): Promise<string> => {
      const params = { message: text(words), immediate: false }
      return (await rpc(url, { method: 'message/send', params })).result.task.id
    }
    const status = async (task_id: string) =>
      (await rpc(url, { method: 'task/status', params: { task_id } })).result.state
    const failed = await begin('fail')
    await expect.poll(() => status(failed)).toBe('failed')
    const cancelled = await begin('wait')
    await rpc(url, { method: 'task/cancel', params: { task_id: cancelled } })
    const again = (task_id: string) => ({
      method: 'message/send',
      params: { message: text('again'), task_id },
    })
    expect((await rpc(url, again(failed))).error.code).toBe(-32005)
    expect((await rpc(url, again(cancelled))).error.code).toBe(-32006)
  })
})

describe('AT-10: CORS', () => {
  test('OPTIONS /rpc allows everyone to POST JSON', async () => {
    const url = await serveTeam(() => 'hello')
    const { status, headers } = await fetch(url, { method: 'OPTIONS' })
    expect(status).toBe(204)
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('access-control-allow-methods')).toBe('POST, OPTIONS')
    expect(headers.get('access-control-allow-headers')).toMatch(/^Content-Type\b/)
    expect(headers.get('access-control-allow-credentials')).toBeNull()
  })

  test('answers carry the origin too', async () => {
    const url = await serveTeam(() => 'hello')
    const { headers } = await post(url, send(text('x')), { origin: 'https://page.example' })
    expect(headers.get('access-control-allow-origin')).toBe('*')
  })
})
