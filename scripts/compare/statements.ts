import { get, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { type Cell, ofServer } from './cell.ts'
import type { Running } from './side.ts'
import { at, begin, call, message, post, rpc, stream, version } from './wire.ts'

/** Statements of the specification, by the ids of docs/conformance.md, and how one sees on the wire whether they hold. */
const statements: Readonly<Record<string, (server: Running) => Promise<boolean>>> = {
  A007: async ({ url }) => /max-age/.test((await card(url)).headers['cache-control'] ?? ''),
  A008: async ({ url }) => {
    const { etag } = (await card(url)).headers
    return etag !== undefined && (await card(url, { 'if-none-match': etag })).statusCode === 304
  },
  B003: async ({ url }) =>
    codeOf(await post(`${url}/`, rpc('GetTask', { id: 'x' }), { 'a2a-version': '7.0' })) === -32009,
  D001: async ({ url }) => at(await result(url, 'hello'), 'task') !== undefined,
  D002: async ({ url }) => codeOf(await sendTo(url, { taskId: await finished(url) })) === -32004,
  D004: async ({ url }) => codeOf(await sendTo(url, { taskId: 'nobody' })) === -32001,
  D009: async ({ url }) => {
    const taskId = await begin(url, 'stream 40')
    return codeOf(await sendTo(url, { taskId, contextId: 'another' })) !== undefined
  },
  D012: async ({ url }) =>
    at(await result(url, 'stream 3'), 'task', 'status', 'state') === 'TASK_STATE_COMPLETED',
  D017: async ({ url }) => {
    const id = await finished(url)
    const { text } = await call(url, 'GetTask', { id, historyLength: 0 })
    return isEmpty(at(JSON.parse(text), 'result', 'history'))
  },
  E002: async ({ url }) => codeOf(await call(url, 'GetTask', { id: 'nobody' })) === -32001,
  E004: async ({ url }) => {
    await finished(url)
    await finished(url)
    const first = await listed(url, { pageSize: 1 })
    const second = await listed(url, { pageSize: 1, pageToken: at(first, 'nextPageToken') })
    const [one, two] = [first, second].map((page) => idsOf(page)[0])
    return one !== undefined && two !== undefined && one !== two
  },
  E006: async ({ url }) => at(await listed(url, {}), 'nextPageToken') === '',
  E007: async ({ url }) => {
    await finished(url)
    const [task] = Object.values(at(await listed(url, {}), 'tasks') ?? [])
    return task !== undefined && isEmpty(at(task, 'artifacts'))
  },
  E010: async ({ url }) => codeOf(await call(url, 'ListTasks', { pageSize: 1000 })) === -32602,
  E012: async ({ url }) =>
    codeOf(await call(url, 'CancelTask', { id: await finished(url) })) === -32002,
  E013: async ({ url }) => codeOf(await call(url, 'CancelTask', { id: 'nobody' })) === -32001,
  F003: async ({ url }) =>
    (await firstEvent(url, 'SendStreamingMessage', message('stream 3'))) === 'task',
  F007: async ({ url }) =>
    (await firstEvent(url, 'SubscribeToTask', { id: await begin(url, 'stream 40') })) === 'task',
  F009: async ({ url }) =>
    codeOf(await call(url, 'SubscribeToTask', { id: await finished(url) })) === -32004,
  F010: async ({ url }) => codeOf(await call(url, 'SubscribeToTask', { id: 'nobody' })) === -32001,
  I003: async ({ url }) =>
    /"reason":"TASK_NOT_FOUND"/.test((await call(url, 'GetTask', { id: 'nobody' })).text),
  I007: async ({ url }) => {
    const answers = [
      await post(`${url}/`, '{', version),
      await post(`${url}/`, { id: 1, method: 'GetTask' }, version),
      await call(url, 'Nonsense', {}),
      await call(url, 'SendMessage', { message: 5 }),
    ]
    return answers.map(codeOf).join() === '-32700,-32600,-32601,-32602'
  },
  I009: async ({ url }) =>
    /fieldViolations/.test((await call(url, 'SendMessage', { message: 5 })).text),
  J001: async ({ url }) => {
    const { text } = await post(`${url}/`, { ...rpc('GetTask', { id: 'x' }), id: 'ü7' }, version)
    return at(JSON.parse(text), 'id') === 'ü7'
  },
}

/** Asks both what the specification says. */
export const statementsCell: Cell = ofServer(
  {
    name: 'statements',
    question: `Of ${Object.keys(statements).length} statements of the specification that any server can be asked, how many hold?`,
    how: `1.0 over JSON-RPC; the ids are those of docs/conformance.md: ${Object.keys(statements).join(', ')}`,
  },
  async (server) => {
    const failed: string[] = []
    for (const [id, holds] of Object.entries(statements))
      if (!(await holds(server).catch(() => false))) failed.push(id)
    const held = Object.keys(statements).length - failed.length
    return `${held}${failed.length > 0 ? `; not ${failed.join(', ')}` : ''}`
  },
)

type Answered = Awaited<ReturnType<typeof call>>

/** The answer for the card. Not by `fetch`, which adds `Cache-Control: no-cache` to a question for changes. */
function card(url: string, headers: OutgoingHttpHeaders = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(`${url}/.well-known/agent-card.json`, { headers }, (reply) => resolve(reply.resume())).on(
      'error',
      reject,
    )
  })
}

/** The number of a JSON-RPC error, also where it comes as the first event of a stream. */
function codeOf({ text }: Answered): unknown {
  const [, data = text] = /^data: ?(.*)$/m.exec(text) ?? []
  return at(JSON.parse(data), 'error', 'code')
}

async function result(url: string, words: string): Promise<unknown> {
  const { text } = await call(url, 'SendMessage', message(words))
  return at(JSON.parse(text), 'result')
}

/** The id of a task that has ended. */
async function finished(url: string): Promise<string> {
  return String(at(await result(url, 'hello'), 'task', 'id'))
}

function sendTo(url: string, where: object): Promise<Answered> {
  const given = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'more' }] }
  return call(url, 'SendMessage', { message: { ...given, ...where } })
}

async function listed(url: string, params: object): Promise<unknown> {
  const { text } = await call(url, 'ListTasks', params)
  return at(JSON.parse(text), 'result')
}

function idsOf(page: unknown): readonly unknown[] {
  return Object.values(at(page, 'tasks') ?? []).map((task) => at(task, 'id'))
}

function isEmpty(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0)
}

async function firstEvent(url: string, method: string, params: unknown): Promise<string> {
  for await (const { data } of stream(url, method, params))
    return Object.keys(at(data, 'result') ?? {})[0] ?? ''
  return ''
}
