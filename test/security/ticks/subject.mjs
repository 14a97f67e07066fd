/**
 * A server of the built package, in a process of its own, that measures the ticks of its event loop. Its argument is JSON: `hostile`, the URL
 * of a service that replies what the search wants, and `file` for the SQLite store (in memory without one). Prints
 * nothing; says by IPC on which port it listens, and answers the orders below.
 */
import { Session } from 'node:inspector'
import { textOf } from 'corral'
import { A2AAgent, createEchoAgent, defineAgent, OpenAIAgent } from 'corral/agents'
import { createConsole } from 'corral/console'
import { createServer, listen } from 'corral/server'
import { openSqliteStore } from 'corral/store'
import { defineTeam } from 'corral/team'

const { hostile, file } = JSON.parse(process.argv[2] ?? '{}')

const shape = {
  type: 'object',
  properties: {
    a: { type: 'string', pattern: '^(a|b)+$' },
    b: {
      type: 'array',
      items: { anyOf: [{ type: 'number' }, { type: 'string' }] },
      uniqueItems: true,
    },
  },
  additionalProperties: { type: ['string', 'number', 'array', 'object', 'null', 'boolean'] },
}

/** Says what it was asked, without what its own rules add to that. */
const said = ({ parts }) => textOf(parts.slice(0, 1))
const parrot = defineAgent({ name: 'Parrot' }, said)
const formed = defineAgent({ name: 'Formed', outputSchema: shape }, (message) =>
  JSON.parse(said(message)),
)
const pattern = '(?i)(forbidden|secret) +(word|plan)s?$'
const guards = [
  'secrets',
  'email',
  { use: 'pattern', deny: pattern, action: 'replace' },
  { use: 'length', max: 20_000_000 },
]
const guarded = defineAgent(
  { name: 'Guarded', guards: { input: guards, output: guards } },
  ({ parts }, turn) => turn.reply(parts),
)
const echo = defineAgent({ name: 'Writer' }, ({ parts }) => textOf(parts).slice(0, 100))

/** What a search must find. */
const square = defineAgent({ name: 'Square' }, ({ parts }) => {
  const { length } = textOf(parts)
  let sum = 0
  for (let i = 0; i < length; i += 16) for (let j = 0; j < length; j += 16) sum += i ^ j
  return `${sum}`
})

const desk = defineTeam({
  id: 'desk',
  name: 'Desk',
  agents: { echo },
  scheduler: {
    type: 'workflow',
    steps: [{ agentId: 'echo' }, { approval: { question: 'Good?' } }],
  },
})

const flow = defineTeam({
  id: 'flow',
  name: 'Flow',
  agents: { echo },
  scheduler: {
    type: 'workflow',
    steps: [
      {
        name: 'first',
        agentId: 'echo',
        when: "question.text.contains('e') || question.text.endsWith('zz') || size(question.data) > 1",
        input:
          '{{ question.text }} {{ question.data.items.filter(i, i.n > 0).map(i, i.name) }} {{ question.data.text }}',
      },
      {
        name: 'second',
        agentId: 'echo',
        when: "question.data.items.exists(i, i.name == 'z' || i == question.data.items[0])",
      },
      { name: 'third', map: { over: 'question.data.items', agentId: 'echo', input: '{{ item }}' } },
    ],
  },
})

const look = {
  name: 'look',
  description: 'Looks',
  parameters: { type: 'object' },
  execute: () => 'seen',
}
const service = { endpoint: `${hostile}/v1`, model: 'm', maxRetries: 0, tools: [look] }
const model = new OpenAIAgent({ ...service, id: 'model', name: 'Model' })
const shaped = new OpenAIAgent({ ...service, id: 'shaped', name: 'Shaped', outputSchema: shape })

const far = new A2AAgent({
  endpoint: hostile,
  id: 'far',
  name: 'Far',
  timeoutSeconds: 20,
  maxRetries: 0,
  taskHandling: 'PollUntilComplete',
})

const server = await createServer({
  agents: [createEchoAgent(), square, parrot, formed, guarded, desk, flow, far, model, shaped],
  logger: false,
  pushNotifications: true,
  console: createConsole(),
  ...(file && { store: await openSqliteStore(file) }),
})
const { port } = await listen(server, { port: 0, host: '127.0.0.1', logger: false })

/**
 * A stretch of work. Its wall time holds what else the machine does, its CPU time the work of other threads of this
 * process: the lesser is nearer to what it took.
 */
class Stretch {
  #wall = performance.now()
  #cpu = process.cpuUsage()

  ms() {
    const wall = performance.now() - this.#wall
    const { user, system } = process.cpuUsage(this.#cpu)
    return Math.min(wall, (user + system) / 1_000)
  }
}

/** The loop is quiet where no tick has taken a millisecond for so long; it is waited for so long at most. */
const [quietMs, maxWaitMs] = [25, 10_000]

let isOn = false
let longest = 0
let busyAt = 0
let stretch = new Stretch()

/** One tick: all that the loop does between two immediates. */
function tick() {
  const ms = stretch.ms()
  longest = Math.max(longest, ms)
  if (ms > 1) busyAt = performance.now()
  stretch = new Stretch()
  if (isOn) setImmediate(tick)
}

const session = new Session()
session.connect()

process.on('message', (order) => {
  if (order.order === 'floor') process.send?.(floorOf(order.text))
  else if (order.order === 'begin') begin(order.profile ?? false)
  else end()
})
process.on('disconnect', () => process.exit(0))

let isProfiled = false

function begin(profile) {
  isProfiled = profile
  if (profile) {
    session.post('Profiler.enable')
    session.post('Profiler.setSamplingInterval', { interval: 500 })
    session.post('Profiler.start')
  }
  isOn = true
  setImmediate(() => {
    longest = 0
    stretch = new Stretch()
    setImmediate(tick)
    process.send?.('begun')
  })
}

/** What a request leaves behind it, such as a turn that still runs, belongs to it: the loop must be quiet first. */
function end() {
  const since = performance.now()
  const look = () => {
    const now = performance.now()
    if (now - busyAt < quietMs && now - since < maxWaitMs) return void setTimeout(look, 5)
    isOn = false
    const ticked = { tickMs: longest }
    if (!isProfiled) return void process.send?.(ticked)
    session.post('Profiler.stop', (_error, { profile }) => {
      process.send?.({ ...ticked, hot: hottest(profile) })
    })
  }
  setTimeout(look, 5)
}

function hottest({ nodes, samples = [], timeDeltas = [] }) {
  const names = new Map(
    nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => [
      id,
      `${functionName || 'anonymous'} ${url.replace(/^.*\/(dist|node_modules)\//, '$1/')}:${lineNumber + 1}`,
    ]),
  )
  const times = new Map()
  samples.forEach((id, i) => {
    const name = names.get(id) ?? ''
    if (!/^\((idle|program)\)|^(tick|dispatch|cpuUsage|ms) /.test(name))
      times.set(name, (times.get(name) ?? 0) + (timeDeltas[i] ?? 0))
  })
  return [...times]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 12)
    .map(([name, us]) => `${(us / 1_000).toFixed(1)} ms ${name}`)
}

/** The best of five: a collection of garbage may fall into one of them. */
function floorOf(text) {
  const pieces = piecesOf(text)
  let best = Number.POSITIVE_INFINITY
  for (let i = 0; i < 5; i++) {
    const since = new Stretch()
    for (const piece of pieces) JSON.stringify(piece.read())
    best = Math.min(best, since.ms())
  }
  return best
}

/** The JSON in a text: all of it, that of each event, or none, in which case it counts as a string. */
function piecesOf(text) {
  const reader = (json) => {
    JSON.parse(json)
    return { read: () => JSON.parse(json) }
  }
  try {
    return [reader(text)]
  } catch {
    try {
      const lines = text
        .split('\n')
        .filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
      if (lines.length > 0) return lines.map((line) => reader(line.slice(6)))
    } catch {}
    const quoted = JSON.stringify(text)
    return [{ read: () => JSON.parse(quoted) }]
  }
}

process.send?.({ port })
