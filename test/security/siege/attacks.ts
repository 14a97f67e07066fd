import type { Tally } from './tally.ts'
import { type Answer, call, fate, get, head, open, post, say, type Target } from './wire.ts'

/** One way to hurt a server. */
export interface Attack {
  readonly name: string
  /** What may happen to it, and what must happen at least once. */
  readonly right: RegExp
  readonly must?: RegExp
  /** Goes on until it is through or the siege has ended. */
  run(siege: Siege): Promise<void>
}

/** What an attack is given. */
export interface Siege {
  readonly tally: Tally
  /** Someone without a name, from an address of its own. */
  readonly stranger: Target
  /** A caller with credentials. */
  readonly mallory: Target
  /** How many of everything: 1 for the whole run, less for a short one. */
  readonly scale: number
  /** Where nothing is ever answered, one host per number. */
  tarpit(number: number): string
  readonly ended: AbortSignal
}

const mib = 1024 * 1024

/** A body far beyond the limit, announced or not. */
const oversized: Attack = {
  name: 'oversized bodies',
  right: /^(413|503|closed|held)$/,
  must: /^413$/,
  async run({ stranger, tally, ended, scale }) {
    const announced = head('/agents/echo', {
      'content-type': 'application/json',
      'content-length': 64 * mib,
    })
    const chunked = head('/agents/echo', {
      'content-type': 'application/json',
      'transfer-encoding': 'chunked',
    })
    const piece = `${(256 * 1024).toString(16)}\r\n${' '.repeat(256 * 1024)}\r\n`
    for (let i = 0; i < 40 * scale && !ended.aborted; i++) {
      const first = await open(stranger, announced)
      tally.count(await fate(first, ended))
      const second = await open(stranger, chunked)
      const pump = (): void => {
        while (second.writable && second.write(piece));
      }
      second.on('drain', pump)
      pump()
      tally.count(await fate(second, ended))
    }
  },
}

/** Brackets without end. */
const deep: Attack = {
  name: 'deep bodies',
  right: /^(200 -32602|200 -32700|400.*|413|429.*|503.*|closed)$/,
  must: /^(200 -32602|200 -32700|400.*)$/,
  async run({ stranger, tally, ended, scale }) {
    const body = '['.repeat(9 * mib)
    for (let i = 0; i < 20 * scale && !ended.aborted; i++)
      await counted(tally, post(stranger, '/agents/echo', body))
  },
}

/** One byte a second. */
const dripping: Attack = {
  name: 'dripping bodies',
  right: /^(408|413|429|503|closed|held)$/,
  async run({ stranger, tally, ended, scale }) {
    const text = head('/agents/echo', { 'content-type': 'application/json', 'content-length': mib })
    await many(200 * scale, async () => {
      const socket = await open(stranger, text)
      const drip = setInterval(() => socket.writable && socket.write(' '), 1_000)
      tally.count(await fate(socket, ended))
      clearInterval(drip)
    })
  },
}

/** Connections that say nothing. */
const idle: Attack = {
  name: 'idle sockets',
  right: /^(408|closed|held)$/,
  async run({ stranger, tally, ended, scale }) {
    await many(2_000 * scale, async () => tally.count(await fate(await open(stranger), ended)))
  },
}

/** Headers beyond measure: large ones, and many. */
const headers: Attack = {
  name: 'header bombs',
  right: /^(431|400|closed|held)$/,
  must: /^431$/,
  async run({ stranger, tally, ended, scale }) {
    const large = head('/agents/echo', { 'x-large': 'x'.repeat(128 * 1024) })
    const lines = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`x-${i}`, i]))
    for (let i = 0; i < 50 * scale && !ended.aborted; i++)
      for (const text of [large, head('/agents/echo', lines)])
        tally.count(await fate(await open(stranger, text), ended))
  },
}

/** Streams of megabytes that nobody reads. */
const unread: Attack = {
  name: 'unread streams',
  right: /^(closed|held)$/,
  async run({ mallory, tally, ended, scale }) {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendStreamingMessage',
      params: say('go'),
    })
    const text = head('/agents/flood', {
      'content-type': 'application/json',
      'content-length': body.length,
      'a2a-version': '1.0',
      authorization: `Bearer ${mallory.token}`,
    })
    await many(60 * scale, async () => {
      const socket = await open(mallory, text + body)
      socket.pause()
      const outcome = await new Promise<string>((resolve) => {
        socket.on('error', () => {})
        socket.on('close', () => resolve('closed'))
        ended.addEventListener('abort', () => resolve('held'))
      })
      tally.count(outcome)
      socket.destroy()
    })
  },
}

/** More work than one caller has slots and places for, and none of it ends: refused by its limit, or as overload. */
const flooding: Attack = {
  name: 'queue flooding',
  right: /^(200|429.*|503.*|closed)$/,
  must: /^(429|503)/,
  async run({ mallory, tally, ended }) {
    const params = () => say('work', { configuration: { returnImmediately: true } })
    for (let i = 0; i < 75 && !ended.aborted; i++)
      await many(20, () =>
        counted(tally, call(mallory, 'slow', { method: 'SendMessage', params: params() })),
      )
  },
}

/** Webhooks to hosts that take a connection and never answer. */
const tarpits: Attack = {
  name: 'webhook tarpits',
  right: /^(200|200 -32602|429.*|503.*|closed)$/,
  must: /^200 -32602$/,
  async run({ mallory, tally, tarpit, ended, scale }) {
    let host = 0
    for (let i = 0; i < 24 * scale && !ended.aborted; i++) {
      const begun = await call(mallory, 'twenty', { method: 'SendMessage', params: say('go') })
      const taskId = /"task":\{"id":"([^"]+)"/.exec(begun.text)?.[1]
      for (let hook = 0; hook < 12; hook++) {
        const params = { taskId, id: `hook-${hook}`, url: tarpit(host++) }
        const method = 'CreateTaskPushNotificationConfig'
        await counted(tally, call(mallory, 'twenty', { method, params }))
      }
    }
  },
}

/** Teams whose remote member never stops talking. */
const endless: Attack = {
  name: 'endless members',
  right: /^(200 TASK_STATE_FAILED|429.*|503.*|held)$/,
  must: /^200 TASK_STATE_FAILED$/,
  async run({ mallory, tally, ended, scale }) {
    for (let i = 0; i < Math.max(1, 4 * scale) && !ended.aborted; i++) {
      const answer = call(mallory, 'relay', { method: 'SendMessage', params: say('go') })
      const { status, text } = await answer.catch(() => ({ status: 0, text: '' }))
      const state = /"state":"(TASK_STATE_[A-Z_]+)"/.exec(text)?.[1]
      tally.count(ended.aborted ? 'held' : `${status} ${state ?? ''}`.trim())
    }
  },
}

/** Messages near the limit, many at once, to an agent that holds on to them. */
const large: Attack = {
  name: '9 MB messages',
  right: /^(200|413|429.*|503.*|closed)$/,
  must: /^(429|503)/,
  async run({ stranger, mallory, tally, ended, scale }) {
    const params = say('x'.repeat(9 * mib), { configuration: { returnImmediately: true } })
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })
    for (let i = 0; i < 10 * scale && !ended.aborted; i++)
      for (const target of [stranger, mallory])
        await many(8, () => counted(tally, post(target, '/agents/slow', body)))
  },
}

/** Tasks near the limit, asked for again and again: one by one, and as many as a page has. */
const answers: Attack = {
  name: 'large answers',
  right: /^(200.*|413|429.*|503.*|closed)$/,
  must: /^200$/,
  async run({ stranger, tally, ended, scale }) {
    const large = { method: 'SendMessage', params: say('x'.repeat(9 * mib)) }
    let taskId: string | undefined
    for (let i = 0; i < 6 * scale && !ended.aborted; i++) {
      const sent = await call(stranger, 'twenty', large).catch(() => ({ text: '' }))
      taskId = /"task":\{"id":"([^"]+)"/.exec(sent.text)?.[1] ?? taskId
    }
    const page = { method: 'ListTasks', params: { pageSize: 100, includeArtifacts: true } }
    const one = { method: 'GetTask', params: { id: taskId ?? 'none' } }
    for (let i = 0; i < 20 * scale && !ended.aborted; i++)
      await many(6, () => counted(tally, call(stranger, 'twenty', i % 2 ? one : page)))
  },
}

/** Everything that the console can be asked for, as often as it goes, and streams that nobody reads. */
const consoleFlood: Attack = {
  name: 'the console',
  right: /^(200|204|400|404|413|429|503|closed|held)$/,
  must: /^200$/,
  async run({ stranger, mallory, tally, ended, scale, tarpit }) {
    const views = ['roster', 'tasks?limit=200', 'tasks?text=nothing', 'edges/relay', 'webhooks']
    const events = head('/console/api/events', { accept: 'text/event-stream' }, 'GET')
    const streams = many(150 * scale, async () => {
      const socket = await open(stranger, events)
      socket.on('error', () => {})
      if (!ended.aborted) await new Promise((resolve) => ended.addEventListener('abort', resolve))
      socket.destroy()
    })
    let caller = 0
    const big = JSON.stringify('x'.repeat(900 * 1024))
    await many(40 * scale, async () => {
      const number = caller++
      for (let i = 0; !ended.aborted; i++) {
        const view = views[(number + i) % views.length] ?? ''
        await counted(tally, get(mallory, `/console/api/${view}`))
        const body = JSON.stringify({ kind: 'card', url: tarpit(number) })
        if (i % 20 === 0) await counted(tally, post(stranger, '/console/api/relay', body))
        await counted(tally, post(stranger, '/console/api/receiver/guess', big))
      }
    })
    await streams
  },
}

/** Hundreds of requests on one connection before the first is answered, without credentials. */
const pipelining: Attack = {
  name: 'pipelined requests',
  right: /^(answered|closed|held)$/,
  must: /^closed$/,
  async run({ stranger, tally, ended, scale }) {
    const pages = ['/agents', '/.well-known/agent-card.json', '/health', '/agents/echo']
    const text = pages.map((path) => head(path, { accept: 'application/json' }, 'GET')).join('')
    await many(24 * scale, async () => {
      while (!ended.aborted) {
        const socket = await open(stranger, text.repeat(100))
        let answers = 0
        socket.on('data', (chunk) => {
          answers += chunk.toString('latin1').split('HTTP/1.1 ').length - 1
          if (answers === 400) socket.destroy()
        })
        socket.on('error', () => {})
        await new Promise((resolve) => {
          socket.on('close', resolve)
          ended.addEventListener('abort', () => socket.destroy())
        })
        tally.count(ended.aborted ? 'held' : answers === 400 ? 'answered' : 'closed')
      }
    })
  },
}

/** What an answer must fit: as large as it may be and larger, and each as costly to read as its size allows. */
const schemas: Attack = {
  name: 'schemas of callers',
  right: /^(200|400|413|429|502|503|closed)( .*)?$/,
  must: /^400$/,
  async run({ stranger, mallory, tally, ended, scale }) {
    const bodies = hardSchemas().map(({ schema, answer }) =>
      JSON.stringify({
        model: 'parrot',
        messages: [{ role: 'user', content: answer }],
        response_format: { type: 'json_schema', json_schema: { name: 'hard', schema } },
      }),
    )
    let next = 0
    await many(8 * scale, async () => {
      while (!ended.aborted) {
        const target = next % 2 ? stranger : mallory
        const body = bodies[next++ % bodies.length] ?? ''
        await counted(tally, post(target, '/v1/chat/completions', body))
      }
    })
  },
}

function hardSchemas(): readonly { readonly schema: object; readonly answer: string }[] {
  const times = <T>(count: number, one: (i: number) => T): readonly T[] =>
    Array.from({ length: count }, (_, i) => one(i))
  const named = <T>(count: number, one: (i: number) => T): Readonly<Record<string, T>> =>
    Object.fromEntries(times(count, (i) => [`n${i}`, one(i)]))
  const long = 'n'.repeat(2_000)
  const list = JSON.stringify(times(20_000, (i) => `item ${i}`))
  const object = JSON.stringify(named(5_000, () => 1))
  return [
    {
      schema: { $ref: '#/$defs/n0', $defs: named(1_500, (i) => ({ $ref: `#/$defs/n${i + 1}` })) },
      answer: '1',
    },
    {
      schema: { $defs: { [long]: {} }, anyOf: times(25, () => ({ $ref: `#/$defs/${long}` })) },
      answer: '1',
    },
    { schema: { required: times(6_000, (i) => `n${i}`) }, answer: object },
    { schema: { items: { enum: times(5_000, (i) => `word ${i}`) } }, answer: list },
    {
      schema: { items: { anyOf: times(60, (i) => ({ const: `${i}${'x'.repeat(900)}` })) } },
      answer: list,
    },
    { schema: { uniqueItems: true, items: { pattern: '^(item|i|t)*( [0-9]+)+$' } }, answer: list },
    { schema: { properties: named(3_000, () => ({ type: 'string' })) }, answer: object },
    { schema: { required: times(60_000, (i) => `n${i}`) }, answer: '{}' },
    { schema: { const: 'x'.repeat(500_000) }, answer: '1' },
  ]
}

/** Messages that take an agent's guards long to read. */
const guards: Attack = {
  name: 'messages for guards',
  right: /^(200.*|413|429.*|503.*|closed)$/,
  must: /^200$/,
  async run({ mallory, tally, ended, scale }) {
    const words = 'password = hunter2, joe@example.com, sk-abcdefghijklmnopqrstuvwx, eyJhbGciOi. '
    const text = words.repeat(Math.ceil(mib / words.length))
    const data = Object.fromEntries(
      Array.from({ length: 60_000 }, (_, i) => [`key ${i}`, `word ${i}`]),
    )
    const message = (part: object): object => ({
      message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [part] },
    })
    await many(10 * scale, async () => {
      for (let i = 0; !ended.aborted; i++) {
        const params = message(i % 2 ? { data } : { text })
        await counted(tally, call(mallory, 'guarded', { method: 'SendMessage', params }))
      }
    })
  },
}

/** All of them. */
export const attacks: readonly Attack[] = [
  oversized,
  deep,
  dripping,
  idle,
  headers,
  unread,
  flooding,
  tarpits,
  endless,
  large,
  answers,
  consoleFlood,
  pipelining,
  schemas,
  guards,
]

/** Does something many times at once; what fails below HTTP is a connection that was closed. */
async function many(count: number, one: () => Promise<void>): Promise<void> {
  await Promise.all(
    Array.from({ length: Math.max(1, Math.round(count)) }, () => one().catch(() => {})),
  )
}

async function counted(tally: Tally, answer: Promise<Answer>): Promise<void> {
  try {
    const { status, text } = await answer
    const code = /"error":\{"code":(-?\d+)/.exec(text)?.[1]
    tally.count(code === undefined ? String(status) : `${status} ${code}`)
  } catch {
    tally.count('closed')
  }
}
