import { type Setup, Sides } from './sides.ts'
import type { Request } from './wire.ts'

/** How a message is sent: the answer is awaited, streamed, or asked for later. */
type Mode = 'blocking' | 'streaming' | 'later'

/** A message for an agent, as every wire can say it. */
export interface Saying {
  readonly agent: string
  readonly text: string
  readonly mode: Mode
  /** The task that the message continues. */
  readonly taskId?: string | undefined
  /** Whether commits take time, so that an answer that comes at once may say more or less. */
  readonly durable?: boolean
}

/** A way to reach an agent. */
interface Wire {
  send(saying: Saying): Request
  /** Reads a task; absent where the wire has no tasks. */
  get?(agent: string, taskId: string): Request
}

const area = 'agents'
const json = ['Content-Type', 'application/json'] as const
const version = (value: string): readonly [string, string] => ['A2A-Version', value]
const traced = ['A2A-Extensions', 'urn:corral:extensions:trace:v1'] as const
const modern = [json, version('1.0'), traced]
const old = [json, version('0.3')]

function post(target: string, headers: Request['headers'], body: unknown): Request {
  return { method: 'POST', target, headers, body: JSON.stringify(body) }
}

function call(method: string, params: unknown): unknown {
  return { jsonrpc: '2.0', id: 'x', method, params }
}

function message({ text, taskId }: Saying, role: string, part: object): object {
  return { messageId: `m-${text}`, role, parts: [{ ...part, text }], ...(taskId && { taskId }) }
}

export const wires: Readonly<Record<string, Wire>> = {
  'JSON-RPC 1.0': {
    send: (saying) =>
      post(
        `/agents/${saying.agent}/`,
        modern,
        call(saying.mode === 'streaming' ? 'SendStreamingMessage' : 'SendMessage', {
          message: message(saying, 'ROLE_USER', {}),
          configuration: { returnImmediately: saying.mode === 'later' },
        }),
      ),
    get: (agent, id) => post(`/agents/${agent}/`, modern, call('GetTask', { id })),
  },
  'JSON-RPC 1.0-rc': {
    send: (saying) =>
      post(
        `/agents/${saying.agent}/v1/rpc`,
        [json],
        call(saying.mode === 'streaming' ? 'message/sendStreaming' : 'message/send', {
          message: message(saying, 'ROLE_USER', {}),
          configuration: { returnImmediately: saying.mode === 'later' },
        }),
      ),
    get: (agent, id) => post(`/agents/${agent}/v1/rpc`, [json], call('tasks/get', { id })),
  },
  'JSON-RPC 0.3': {
    send: (saying) =>
      post(
        `/agents/${saying.agent}/`,
        old,
        call(saying.mode === 'streaming' ? 'message/stream' : 'message/send', {
          message: { kind: 'message', ...message(saying, 'user', { kind: 'text' }) },
          configuration: { blocking: saying.mode !== 'later' },
        }),
      ),
    get: (agent, id) => post(`/agents/${agent}/`, old, call('tasks/get', { id })),
  },
  RANCH: {
    send: ({ agent, text, mode, taskId }) =>
      post(
        `/agents/${agent}/rpc`,
        [json],
        call(mode === 'streaming' ? 'message/stream' : 'message/send', {
          message: {
            role: 'user',
            parts: [{ type: 'text', text }],
            ...(taskId && { task_id: taskId }),
          },
          ...(mode === 'later' && { immediate: false }),
        }),
      ),
    get: (agent, id) => post(`/agents/${agent}/rpc`, [json], call('task/get', { task_id: id })),
  },
  'RANCH /stream': {
    send: ({ agent, text, taskId }) =>
      post(
        `/agents/${agent}/stream`,
        [json],
        call('message/stream', {
          message: {
            role: 'user',
            parts: [{ type: 'text', text }],
            ...(taskId && { task_id: taskId }),
          },
        }),
      ),
  },
  'HTTP+JSON 1.0': {
    send: (saying) =>
      post(
        `/agents/${saying.agent}/message:${saying.mode === 'streaming' ? 'stream' : 'send'}`,
        modern,
        {
          message: message(saying, 'ROLE_USER', {}),
          configuration: { returnImmediately: saying.mode === 'later' },
        },
      ),
    get: (agent, id) => ({
      method: 'GET',
      target: `/agents/${agent}/tasks/${id}`,
      headers: modern,
    }),
  },
  'HTTP+JSON 0.3': {
    send: (saying) => {
      const { text, taskId, mode } = saying
      const content = {
        messageId: `m-${text}`,
        role: 'ROLE_USER',
        content: [{ text }],
        ...(taskId && { taskId }),
      }
      return post(
        `/agents/${saying.agent}/v1/message:${mode === 'streaming' ? 'stream' : 'send'}`,
        [json],
        { message: content, configuration: { blocking: mode !== 'later' } },
      )
    },
    get: (agent, id) => ({ method: 'GET', target: `/agents/${agent}/v1/tasks/${id}`, headers: [] }),
  },
  'OpenAI completions': {
    send: ({ agent, text, mode, taskId }) =>
      post('/v1/chat/completions', [json], {
        model: agent,
        messages: [{ role: 'user', content: text }],
        stream: mode === 'streaming',
        stream_options: { include_usage: true },
        ...(taskId && { metadata: { task_id: taskId } }),
      }),
  },
  'OpenAI chat': {
    send: ({ agent, text, taskId }) =>
      post('/v1/chat', [json], {
        messages: [{ role: 'user', content: text }],
        context: { team_id: agent, ...(taskId && { task_id: taskId }) },
      }),
  },
  MCP: {
    send: ({ agent, text, taskId }) =>
      post(
        '/mcp',
        [json, ['Accept', 'application/json, text/event-stream']],
        call('tools/call', {
          name: agent,
          arguments: { message: text, ...(taskId && { task_id: taskId }) },
        }),
      ),
  },
}

/** What each agent is told: the first text, then the answers to what it asks. */
const plays = [
  'string',
  'say',
  'later',
  'nothing',
  'task',
  'ask',
  'auth',
  'reject',
  'fail',
  'break',
  'chunks a b c',
  'parts',
  'states',
  'modes',
  'memory',
  'steps',
  'bad',
  'hold',
  'mute',
]
const short = ['string x', 'ask x', 'fail', 'chunks a b', 'parts', 'steps x', 'memory x']
export const sayings: Readonly<Record<string, readonly string[]>> = {
  player: plays,
  brittle: ['chunks a b', 'fail', 'parts'],
  'echo-agent': ['hello', ''],
  flow: ['a short one', 'a long one'],
  line: short,
  led: ['do it'],
  routed: short,
  auctioned: short,
  model: ['hello', 'tool please', 'fail', 'break', 'json'],
  former: ['json', 'hello'],
  remote: short,
}

/** Sends every text to every agent over every wire in every way, and goes on where the agent asks. */
export async function compareCombinations(setup: Setup): Promise<void> {
  const sides = await Sides.start(area, setup, { kind: 'open' })
  const all = Object.entries(sayings).flatMap(([agent, texts]) =>
    texts.map((text) => ({ agent, text })),
  )
  try {
    for (const [i, { agent, text }] of all.entries()) {
      for (const wire of Object.values(wires))
        for (const mode of ['blocking', 'streaming', 'later'] as const) {
          setup.ledger.of(area).cases++
          await converse(area, sides, wire, { agent, text, mode })
        }
      setup.progress(area, i, all.length)
    }
    await sides.compareDeliveries(area)
    await compareViews(area, sides)
  } finally {
    await sides.stop()
  }
  await compareWaits(setup)
}

/** One conversation: the message, what became of it, and two answers where it asks. */
export async function converse(
  area: string,
  sides: Sides,
  wire: Wire,
  saying: Saying,
): Promise<void> {
  let taskId: string | undefined
  for (const text of [saying.text, 'more please', 'yes']) {
    const request = wire.send({ ...saying, text, taskId })
    const isLoose = saying.durable && saying.mode === 'later' && wire.get
    const body = await (isLoose ? sides.begin(area, request) : sides.ask(area, request))
    taskId =
      /"(?:taskId|task_id)":"((?:task-)?⟦\d+⟧)"/.exec(body)?.[1] ??
      /"id":"((?:task-)?⟦\d+⟧)"/.exec(body)?.[1]
    if (taskId === undefined) return
    let state = body
    if (wire.get) state = await sides.ask(area, wire.get(saying.agent, taskId))
    if (!/INPUT_REQUIRED|AUTH_REQUIRED|input-required|auth-required/.test(state)) return
  }
}

/**
 * Lists over all pages, and what the console shows of every agent. Webhooks of an earlier process lead to its port: when their
 * deliveries are given up is a matter of time.
 */
export async function compareViews(
  area: string,
  sides: Sides,
  { webhooks = true } = {},
): Promise<void> {
  let token = ''
  for (let page = 0; page < 40; page++) {
    const query = token === '' ? '' : `&pageToken=${token}`
    const body = await sides.ask(area, {
      method: 'GET',
      target: `/tasks?pageSize=20&includeArtifacts=true${query}`,
      headers: modern,
    })
    token = /"nextPageToken":"(⟦\d+⟧)"/.exec(body)?.[1] ?? ''
    for (const [, id] of [...body.matchAll(/"id":"(⟦\d+⟧)"/g)].slice(0, 3))
      for (const path of [`tasks/${id}`, `tasks/${id}/records`, `tasks/${id}/wire`])
        await sides.ask(area, { method: 'GET', target: `/console/api/${path}`, headers: [] })
    if (token === '') break
  }
  for (const path of [
    'roster',
    'tasks',
    ...(webhooks ? ['webhooks'] : []),
    ...Object.keys(sayings).flatMap((id) => [`graph/${id}`, `edges/${id}`]),
  ])
    await sides.ask(area, { method: 'GET', target: `/console/api/${path}`, headers: [] })
}

/** RANCH's waits, which end with a task that still works. */
async function compareWaits(setup: Setup): Promise<void> {
  const sides = await Sides.start(area, setup, { kind: 'open' })
  try {
    for (const immediate of [undefined, true]) {
      const parts = [{ type: 'text', text: 'hold' }]
      const params = { message: { role: 'user', parts }, immediate }
      const send = post('/rpc', [json], call('message/send', params))
      await sides.ask(area, send, { stallMs: 60_000 })
    }
  } finally {
    await sides.stop()
  }
}
