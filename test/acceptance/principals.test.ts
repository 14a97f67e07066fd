import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { textOf } from '../../src/protocol/task.ts'
import { bearer } from '../../src/server/index.ts'
import { rpc, serve } from './serve.ts'
import { type Act, type ActingWire, act, ranchStatus, rc, told, v10, wires } from './wires.ts'

/** Works until it is cancelled, unless it is told to end, fail or ask; or says how much of the conversation it sees. */
const worker = defineAgent({ name: 'Worker' }, async function* (message, turn) {
  const text = textOf(message.parts)
  if (text === 'what do you know?') {
    yield `${(await turn.conversation(100)).length} messages`
    return
  }
  if (text.startsWith('end')) return yield 'secret'
  if (text.startsWith('fail')) throw new Error('secret')
  if (text.startsWith('ask')) return yield turn.ask('secret')
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

/** What Ann's task is told, and the state that it is then in. */
const states = [
  ['work on a secret', 'working'],
  ['end a secret', 'completed'],
  ['fail a secret', 'failed'],
  ['ask for a secret', 'input-required'],
] as const

/** A task of Ann's in a state, with a webhook. */
async function begin(
  url: string,
  wire: ActingWire,
  [text, state]: (typeof states)[number] = states[0],
): Promise<string> {
  const sent = await act(url, wire.request('send', { text, atOnce: true }), ann)
  const { id } = told(await sent.json())
  if (id === undefined) throw new Error('A send that returns at once gives a task')
  await expect.poll(() => stateOf(url, id)).toBe(state)
  await act(url, v10.request('setPush', { id }), ann)
  return id
}

async function stateOf(url: string, id: string): Promise<string | undefined> {
  return told(await (await act(url, v10.request('get', { id }), ann)).json()).state
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
  test.each(cases)('%s in %s, whatever the state of the task', async (name, _wire, wire) => {
    const url = await serveTwo()
    for (const state of states) {
      const id = await begin(url, rc, state)
      const [, before] = state
      for (const more of [{}, { 'last-event-id': '1' }]) {
        const ask = (task: string) =>
          act(url, wire.request(name, { id: task, text: 'go on' }), { ...bob, ...more })
        const seen = await answerTo(await ask(id), id)
        expect(seen).toEqual(await answerTo(await ask(nowhere), nowhere))
        expect(JSON.stringify(seen)).not.toContain('secret')
      }
      expect(await stateOf(url, id)).toBe(before)
      const hooks = await (await act(url, v10.request('listPush', { id }), ann)).json()
      expect(hooks.result.configs).toHaveLength(1)
    }
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
