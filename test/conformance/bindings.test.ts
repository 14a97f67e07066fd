import { describe, expect, test } from 'vitest'
import type { OperationName } from '../../src/protocol/operations.ts'
import type { Wild } from '../contracts/binding.ts'
import { open, request, wireNames } from './scene.ts'

const raw = (
  body: string,
  headers: Record<string, string> = {},
): { method: string; path: string; query: string; headers: Wild; body: string } => ({
  method: 'POST',
  path: '/',
  query: '',
  headers: { 'content-type': 'application/json', ...headers },
  body,
})

describe('JSON-RPC', () => {
  test('J002: results and errors are application/json, and so must requests be', async () => {
    const { server, send, wire } = await open('JSONRPC 1.0')
    expect((await send('hi')).headers['content-type']).toBe('application/json')
    const failed = await wire.ask('GetTask', { id: 'made-up' })
    expect(failed.headers['content-type']).toBe('application/json')
    const text = await server.handle(raw('{}', { 'content-type': 'text/plain' }))
    expect(JSON.parse(String(text.body)).error.code).toBe(-32005)
    const charset = raw('{"jsonrpc":"2.0","id":1,"method":"ListTasks"}', {
      'content-type': 'application/json; charset=utf-8',
    })
    expect(JSON.parse(String((await server.handle(charset)).body)).result.totalSize).toBe(1)
  })

  test.each([
    ['-32700', '{"jsonrpc":', -32700, null],
    [
      '-32600 for an envelope of another version',
      '{"jsonrpc":"1.0","id":7,"method":"GetTask"}',
      -32600,
      7,
    ],
    ['-32600 without a method', '{"jsonrpc":"2.0","id":"a"}', -32600, 'a'],
    ['-32600 for what is no object', '"GetTask"', -32600, null],
    ['-32601', '{"jsonrpc":"2.0","id":0,"method":"Dance","params":{}}', -32601, 0],
    ['-32602', '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}', -32602, 1],
  ])('I007: %s', async (_name, body, code, id) => {
    const { server } = await open('JSONRPC 1.0')
    const reply = await server.handle(raw(body, { 'a2a-version': '1.0' }))
    expect(JSON.parse(String(reply.body))).toMatchObject({ jsonrpc: '2.0', id, error: { code } })
  })

  test('J001: the id comes back as it was, in streams too', async () => {
    const { server } = await open('JSONRPC 1.0')
    for (const id of [0, 7, -1.5, '', 'a', '0']) {
      const params = request('hi')
      const ask = (method: string): string => JSON.stringify({ jsonrpc: '2.0', id, method, params })
      const reply = await server.handle(raw(ask('SendMessage'), { 'a2a-version': '1.0' }))
      expect(JSON.parse(String(reply.body)).id).toBe(id)
      const stream = await server.handle(raw(ask('SendStreamingMessage'), { 'a2a-version': '1.0' }))
      for await (const chunk of stream.body as AsyncIterable<string>) // a stream was asked for
        for (const [, data] of chunk.matchAll(/^data: (.*)$/gm))
          expect(JSON.parse(data ?? '').id).toBe(id)
    }
  })
})

describe.each(wireNames)('requests over %s', (name) => {
  test('C006: a message without what it must have is refused, and its field is named', async () => {
    const { wire, agent } = await open(name)
    const whole = request('hi').message
    const bad: readonly [string, Wild][] = [
      ['messageId', { ...whole, messageId: undefined }],
      ['messageId', { ...whole, messageId: '' }],
      ['parts', { ...whole, parts: [] }],
      ['role', { ...whole, role: 'ROLE_CLOWN' }],
    ]
    for (const [field, message] of bad) {
      const { error, body } = await wire.ask('SendMessage', { message })
      expect(error, field).toBe('InvalidParams')
      expect(JSON.stringify(body)).toContain(field)
    }
    expect(agent.heard).toEqual([])
  })

  test('I008: nothing is begun by a request that is not valid', async () => {
    const { wire, agent, server } = await open(name)
    await wire.ask('SendMessage', request('hi', { configuration: { historyLength: -1 } }))
    await wire.watch('SendStreamingMessage', request('hi', { message: { parts: [{}] } }))
    expect(agent.heard).toEqual([])
    expect((await server.dispatch()('ListTasks', {}, {})).totalSize).toBe(0)
  })

  test('C007: members that nobody knows are ignored', async () => {
    const { send } = await open(name)
    const more = { message: { mood: 'good' }, weather: { sun: true } }
    expect((await send('hi', more)).result.task.status.state).toBe('TASK_STATE_COMPLETED')
  })
})

describe('all wires', () => {
  test('J008: a task made on one is the same on every other', async () => {
    const { wires } = await open('JSONRPC 1.0')
    for (const maker of wires) {
      const { result } = await maker.ask('SendMessage', request('hi'))
      const { id } = result.task
      const seen = await Promise.all(
        wires.map(async (wire) => {
          const { status, artifacts, contextId } = (await wire.ask('GetTask', { id })).result
          const text = artifacts.map((one: Wild) => one.parts[0].text)
          return { state: status.state, text, contextId }
        }),
      )
      expect(new Set(seen.map((one) => JSON.stringify(one))).size).toBe(1)
    }
  })

  test('J008: the same fault is the same error on every wire', async () => {
    const { wires } = await open('JSONRPC 1.0')
    const { result } = await (wires[0]?.ask('SendMessage', request('hi')) ?? Promise.reject())
    const { id } = result.task
    const faults: readonly [OperationName, Wild][] = [
      ['GetTask', { id: 'made-up' }],
      ['CancelTask', { id }],
      ['SubscribeToTask', { id }],
      ['SendMessage', request('more', { message: { taskId: id } })],
      ['SendMessage', request('more', { message: { taskId: 'made-up' } })],
      ['SendMessage', request('', { message: { parts: [] } })],
      ['CreateTaskPushNotificationConfig', { taskId: id, url: 'https://hooks.example' }],
      ['GetExtendedAgentCard', {}],
    ]
    for (const [operation, asked] of faults) {
      const errors = await Promise.all(
        wires.map(async (wire) => (await wire.ask(operation, asked)).error),
      )
      expect(new Set(errors).size, `${operation}: ${errors.join()}`).toBe(1)
      expect(errors[0]).toBeDefined()
    }
  })
})
