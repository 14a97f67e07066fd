import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { createConsole } from '../../src/console/index.ts'
import { textOf } from '../../src/protocol/task.ts'
import { bearer } from '../../src/server/index.ts'
import { rpc, serve } from '../acceptance/serve.ts'
import {
  type Act,
  type ActingWire,
  act,
  ranchStatus,
  rc,
  told,
  v10,
  wires,
} from '../acceptance/wires.ts'
import { doors } from './doors.ts'
import { stores } from './stores.ts'

/** Works until it is cancelled, unless it is told to end, fail or ask; or says how much of the conversation it sees. */
const worker = defineAgent({ name: 'Worker' }, async function* (message, turn) {
  const text = textOf(message.parts)
  if (text.includes('what do you know?')) {
    yield `${(await turn.conversation(100)).length} messages`
    return
  }
  if (text.startsWith('end')) return yield 'secret'
  if (text.startsWith('fail')) throw new Error('secret')
  if (text.startsWith('ask')) return yield turn.ask('secret')
  yield turn.status('TASK_STATE_WORKING')
  await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
})

const headersOf = {
  ann: { authorization: 'Bearer ann-token' },
  bob: { authorization: 'Bearer bob-token' },
}
const nowhere = '00000000-0000-4000-8000-000000000000'

/** Who asks, and in which tenant. The tasks are Ann's, in tenant one. */
interface Asker {
  readonly who: keyof typeof headersOf
  readonly tenant?: string
}

/** Everybody that the tasks are not for, where the wire can name a tenant and where it cannot. */
const strangers: readonly Asker[] = [
  { who: 'bob', tenant: 'one' },
  { who: 'bob', tenant: 'two' },
  { who: 'ann', tenant: 'two' },
]
const untenanted: readonly Asker[] = [{ who: 'bob' }]

async function serveTwo(store: Awaited<ReturnType<(typeof stores)[number][1]>>): Promise<string> {
  const tokens = { 'ann-token': 'ann', 'bob-token': 'bob' }
  const { url } = await serve({
    agents: [worker],
    store,
    auth: { authenticators: [bearer({ tokens })] },
    pushNotifications: true,
    console: createConsole(),
    timeouts: { shutdownMs: 0 },
    logger: false,
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
  { tenant }: Pick<Asker, 'tenant'>,
  [text, state]: (typeof states)[number] = states[0],
): Promise<string> {
  const named = tenant === undefined ? {} : { tenant }
  const sent = await act(url, rc.request('send', { text, atOnce: true, ...named }), headersOf.ann)
  const { id } = told(await sent.json())
  if (id === undefined) throw new Error('A send that returns at once gives a task')
  await expect.poll(() => stateOf(url, id, named)).toBe(state)
  await act(url, v10.request('setPush', { id, ...named }), headersOf.ann)
  return id
}

async function stateOf(url: string, id: string, named: object): Promise<string | undefined> {
  const answer = await act(url, v10.request('get', { id, ...named }), headersOf.ann)
  return told(await answer.json()).state
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

function namesTenants(wire: ActingWire): boolean {
  const ask = (tenant: string): string =>
    JSON.stringify(wire.request('get', { id: nowhere, tenant })) ?? ''
  return ask('one') !== ask('two')
}

const ways = [...wires, ranchStatus, ...doors].map((wire) => [wire.name, wire] as const)

describe.each(stores)('on the %s store', (_store, open) => {
  test.each(ways)('not yours answers exactly like not there in %s', async (_name, wire) => {
    const url = await serveTwo(await open())
    const tenanted = namesTenants(wire)
    const home = tenanted ? { tenant: 'one' } : {}
    let compared = 0
    for (const state of states) {
      const id = await begin(url, home, state)
      for (const { who, ...place } of tenanted ? strangers : untenanted)
        for (const name of acts)
          for (const more of [{}, { 'last-event-id': '1' }]) {
            const ask = (task: string) => wire.request(name, { id: task, text: 'go on', ...place })
            if (!ask(id)) continue
            const headers = { ...headersOf[who], ...more }
            const seen = await answerTo(await act(url, ask(id), headers), id)
            const absent = await answerTo(await act(url, ask(nowhere), headers), nowhere)
            expect(seen, `${name} by ${who} in ${place.tenant}`).toEqual(absent)
            expect(JSON.stringify(seen)).not.toContain('secret')
            compared += 1
          }
      expect(await stateOf(url, id, home)).toBe(state[1])
      const hooks = await act(url, v10.request('listPush', { id, ...home }), headersOf.ann)
      expect((await hooks.json()).result.configs).toHaveLength(1)
    }
    expect(compared).toBeGreaterThan(0)
  })

  const listing = ways.filter(([, wire]) => wire.request('list', {}))
  test.each(listing)("lists in %s show only one's own", async (_name, wire) => {
    const url = await serveTwo(await open())
    const tenanted = namesTenants(wire)
    const home = tenanted ? { tenant: 'one' } : {}
    const id = await begin(url, home)
    const list = async ({ who, ...place }: Asker) =>
      (await act(url, wire.request('list', place), headersOf[who])).text()
    expect(await list({ who: 'ann', ...home })).toContain(id)
    for (const stranger of tenanted ? strangers : untenanted) {
      const others = await list(stranger)
      expect(others).not.toContain(id)
      expect(others).not.toContain('secret')
      expect(others).toMatch(/"totalSize":0|"tasks":\[\]|"rows":\[\],"total":0/)
    }
  })

  test('a context of the same name is another conversation, by every way in', async () => {
    const url = await serveTwo(await open())
    const send = async (text: string, { who, tenant }: Asker) => {
      const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text }], contextId: 'shared' }
      const params = { message, tenant, configuration: { returnImmediately: text === 'work' } }
      const headers = { ...headersOf[who], 'a2a-version': '1.0' }
      return told((await rpc(url, { method: 'SendMessage', params, headers })).result).text
    }
    await send('ask for a secret', { who: 'ann', tenant: 'one' })
    await send('ask for a secret', { who: 'ann' })
    expect(await send('what do you know?', { who: 'ann', tenant: 'one' })).not.toBe('0 messages')
    for (const stranger of [...strangers, ...untenanted])
      expect(await send('what do you know?', stranger)).toBe('0 messages')

    const metadata = { context_id: 'shared' }
    const messages = [{ role: 'user', content: 'what do you know?' }]
    const completion = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...headersOf.bob, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'worker', messages, metadata }),
    })
    // The task that waits in Ann's context is not what Bob's message continues.
    expect(JSON.stringify(await completion.json())).toMatch(/[0-9] messages/)
  })

  test('the same idempotency key of two callers, or in two tenants, is two tasks', async () => {
    const url = await serveTwo(await open())
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'work' }] }
    const send = async ({ who, tenant }: Asker) => {
      const params = { tenant, message, configuration: { returnImmediately: true } }
      const headers = { ...headersOf[who], 'a2a-version': '1.0', 'idempotency-key': 'k' }
      return told((await rpc(url, { method: 'SendMessage', params, headers })).result).id
    }
    const first = await send({ who: 'ann', tenant: 'one' })
    expect(await send({ who: 'ann', tenant: 'one' })).toBe(first)
    for (const stranger of strangers) expect(await send(stranger)).not.toBe(first)
  })
})
