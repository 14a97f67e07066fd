import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { serve } from '../acceptance/serve.ts'
import { type Act, act, wires } from '../acceptance/wires.ts'
import { doors } from './doors.ts'

const worker = defineAgent({ name: 'Worker' }, () => 'done')

const acts: readonly Act[] = [
  'send',
  'stream',
  'get',
  'cancel',
  'subscribe',
  'setPush',
  'getPush',
  'listPush',
  'deletePush',
]
/** The console's views only look for what is there; they take no id in. */
const taking = doors.filter(({ name }) => !name.startsWith("the console's"))
const ways = [...wires, ...taking].map((wire) => [wire.name, wire] as const)

describe('the ids of a request', () => {
  test.each(ways)('are short on every operation of %s', async (_name, wire) => {
    const { url } = await serve({ agents: [worker], pushNotifications: true })
    let asked = 0
    for (const name of acts)
      for (const id of ['x'.repeat(300), `a${String.fromCharCode(0x1b)}b`]) {
        const request = wire.request(name, { id, text: 'hello' })
        if (!request) continue
        const answer = await (await act(url, request)).text()
        expect(answer, name).toMatch(/256 characters|control characters/)
        asked += 1
      }
    expect(asked).toBeGreaterThan(0)
  })
})

interface Sent {
  readonly path: string
  readonly headers?: Record<string, string>
  body(message: object): object
}

const rpc = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params })
const sends: [string, Sent, number | undefined][] = [
  [
    '1.0',
    {
      path: '/v1/rpc',
      headers: { 'a2a-version': '1.0' },
      body: (message) => rpc('SendMessage', { message }),
    },
    -32602,
  ],
  [
    '0.3',
    {
      path: '/',
      body: (message) => rpc('message/send', { message: { ...message, role: 'user' } }),
    },
    -32602,
  ],
  [
    'ranch',
    {
      path: '/rpc',
      body: (message) => rpc('message/send', { message: { ...message, role: 'user' } }),
    },
    -32001,
  ],
  [
    'rest',
    {
      path: '/message:send',
      headers: { 'a2a-version': '1.0' },
      body: (message) => ({ message }),
    },
    undefined,
  ],
]

const parts = [{ text: 'hello' }]
const shapes: [string, object, RegExp][] = [
  [
    'too many parts',
    { parts: Array.from({ length: 1_001 }, () => ({ text: 'x' })) },
    /parts.{0,20}at most 1000 elements/,
  ],
  [
    'too many keys',
    { parts, metadata: Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`k${i}`, 0])) },
    /metadata.{0,60}1000 keys/,
  ],
  ['a long id', { parts, messageId: 'x'.repeat(300) }, /messageId.{0,20}256 characters/],
]

describe.each(sends)('a message over %s', (_wire, { path, headers, body }, code) => {
  test.each(shapes)('with %s is refused with its field', async (_shape, message, said) => {
    const { url } = await serve({ agents: [worker] })
    const given = { messageId: 'm', role: 'ROLE_USER', ...message }
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body(given)),
    })
    const answer = (await response.json()) as { error: { code: number; message: string } }
    expect(answer.error.message).toMatch(said)
    if (code === undefined) expect(response.status).toBe(400)
    else expect(answer.error.code).toBe(code)
  })
})

test('a server has its own limits', async () => {
  const limits = { maxParts: 1, maxMetadataKeys: 1, maxDepth: 2 }
  const { url } = await serve({ agents: [worker], limits })
  for (const message of [
    { parts: [...parts, ...parts] },
    { parts, metadata: { a: 1, b: 2 } },
    { parts: [{ data: { a: { b: {} } } }] },
  ]) {
    const response = await fetch(`${url}/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({ message: { messageId: 'm', role: 'ROLE_USER', ...message } }),
    })
    expect(response.status).toBe(400)
  }
})
