import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { textOf } from '../../src/protocol/task.ts'
import { bearer } from '../../src/server/authenticators.ts'
import { rpc, serve } from './serve.ts'
import { type Act, act, ranchStatus, rc, told, v10, type Wire, wires } from './wires.ts'

/** Works until it is cancelled; or says how much of the conversation it sees. */
const worker = defineAgent({ name: 'Worker' }, async function* (message, turn) {
  if (textOf(message.parts) === 'what do you know?') {
    yield `${(await turn.conversation(100)).length} messages`
    return
  }
  yield turn.status('TASK_STATE_WORKING')
  await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
})

const ann = { authorization: 'Bearer ann-token' }
const bob = { authorization: 'Bearer bob-token' }
const nowhere = '00000000-0000-4000-8000-000000000000'

async function serveTwo(): Promise<string> {
  const tokens = { 'ann-token': 'ann', 'bob-token': 'bob' }
  const { url } = await serve({
    agents: [worker],
    auth: { authenticators: [bearer({ tokens })] },
    pushNotifications: true,
    timeouts: { shutdownMs: 0 },
  })
  return url
}

/** A task of Ann's that works, with a webhook. */
async function begin(url: string, wire: Wire): Promise<string> {
  const sent = await act(url, wire.request('send', { text: "Ann's secret", atOnce: true }), ann)
  const { id } = told(await sent.json())
  if (id === undefined) throw new Error('A send that returns at once gives a task')
  await act(url, v10.request('setPush', { id }), ann)
  return id
}

/** All that can be told apart of an answer, with the id made the same. */
async function answerTo(response: Response, id: string): Promise<unknown> {
  const { date: _, ...headers } = Object.fromEntries(response.headers)
  const body = (await response.text()).replaceAll(id, nowhere)
  return { status: response.status, headers: { ...headers, 'content-length': '' }, body }
}

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
const askers = [...wires, ranchStatus]
const cases = askers.flatMap((wire) =>
  acts
    .filter((name) => wire.request(name, { id: nowhere }) !== undefined)
    .map((name) => [name, wire.name, wire] as const),
)

describe('not yours answers exactly like not there', () => {
  test.each(cases)('%s in %s', async (name, _wire, wire) => {
    const url = await serveTwo()
    const id = await begin(url, rc)
    const text = 'go on'
    const foreign = await act(url, wire.request(name, { id, text }), bob)
    const absent = await act(url, wire.request(name, { id: nowhere, text }), bob)
    const seen = await answerTo(foreign, id)
    expect(seen).toEqual(await answerTo(absent, nowhere))
    expect(JSON.stringify(seen)).not.toContain('secret')
    const mine = told(await (await act(url, v10.request('get', { id }), ann)).json())
    expect(mine.state).toBe('working')
    const hooks = await (await act(url, v10.request('listPush', { id }), ann)).json()
    expect(hooks.result.configs).toHaveLength(1)
  })

  test.each(
    wires.filter((wire) => wire.request('list', {})).map((wire) => [wire.name, wire] as const),
  )("lists in %s show only one's own", async (_name, wire) => {
    const url = await serveTwo()
    const id = await begin(url, wire)
    const list = async (headers: Record<string, string>) =>
      (await act(url, wire.request('list', {}), headers)).text()
    expect(await list(ann)).toContain(id)
    const others = await list(bob)
    expect(others).not.toContain(id)
    expect(others).not.toContain('secret')
    expect(others).toMatch(/"totalSize":0|"tasks":\[\]/)
  })
})

describe('nothing crosses between two callers', () => {
  test('a context of the same name is another conversation', async () => {
    const url = await serveTwo()
    const ask = async (text: string, headers: Record<string, string>) => {
      const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text }], contextId: 'shared' }
      const params = { message, configuration: { returnImmediately: text === 'work' } }
      return rpc(`${url}/v1/rpc`, { method: 'message/send', params, headers })
    }
    await ask('work', ann)
    const { result } = await ask('what do you know?', bob)
    expect(told(result).text).toBe('0 messages')
  })

  test('a task of another tenant is not there', async () => {
    const url = await serveTwo()
    const call = (method: string, params: object) =>
      rpc(url, { method, params, headers: { ...ann, 'a2a-version': '1.0' } })
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'work' }] }
    const configuration = { returnImmediately: true }
    const { result } = await call('SendMessage', { tenant: 'one', message, configuration })
    const { id } = result.task
    expect((await call('GetTask', { tenant: 'one', id })).result.id).toBe(id)
    const foreign = await call('GetTask', { tenant: 'two', id })
    const absent = await call('GetTask', { tenant: 'two', id: nowhere })
    expect(JSON.stringify(foreign).replaceAll(id, nowhere)).toBe(JSON.stringify(absent))
    expect((await call('CancelTask', { tenant: 'two', id })).error.code).toBe(-32001)
    expect((await call('ListTasks', { tenant: 'two' })).result.totalSize).toBe(0)
  })

  test('the same idempotency key of two callers is two tasks', async () => {
    const url = await serveTwo()
    const send = async (headers: Record<string, string>) => {
      const request = v10.request('send', { text: 'work', atOnce: true })
      const answer = await act(url, request, { ...headers, 'idempotency-key': 'k' })
      return told(await answer.json()).id
    }
    const first = await send(ann)
    expect(await send(ann)).toBe(first)
    expect(await send(bob)).not.toBe(first)
  })
})
