import { join } from 'node:path'
import { startPostgres } from '../../test/support/postgres-server.ts'
import { compareViews, converse, sayings, wires } from './combinations.ts'
import type { Pair } from './ledger.ts'
import { type Setup, Sides } from './sides.ts'
import type { Request } from './wire.ts'

const headers = [
  ['Content-Type', 'application/json'],
  ['A2A-Version', '1.0'],
  ['A2A-Extensions', 'urn:corral:extensions:trace:v1'],
] as const

function call(target: string, method: string, params: unknown): Request {
  return {
    method: 'POST',
    target,
    headers,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  }
}

/** The same conversations on every kind of store, then read again after a restart, and by the other build. */
export async function compareStores(setup: Setup): Promise<void> {
  const files: Pair<string> = [join(setup.folder, 'before.db'), join(setup.folder, 'after.db')]
  await compareStore('stores: memory', setup, ['memory', 'memory'])
  setup.progress('stores', 1, 3)
  await compareStore('stores: SQLite', setup, files)
  setup.progress('stores', 2, 3)
  const [first, second] = await Promise.all([startPostgres(), startPostgres()])
  setup.ledger.withoutTimes = true
  try {
    await compareStore('stores: PostgreSQL', setup, [first.url, second.url])
  } finally {
    setup.ledger.withoutTimes = false
    await Promise.all([first.stop(), second.stop()])
  }
}

async function compareStore(area: string, setup: Setup, stores: Pair<string>): Promise<void> {
  const first = await Sides.start(area, setup, { kind: 'open', stores })
  try {
    await play(area, setup, first)
  } finally {
    await first.stop(stores[0] === 'memory' ? 'kill' : 'close')
  }
  if (stores[0] === 'memory') return
  // Each build opens its own store again, then the one that the other build has written.
  for (const generation of [1, 2]) {
    if (generation === 2) setup.ledger.swap()
    const own = generation === 1 ? stores : ([stores[1], stores[0]] as const)
    const sides = await Sides.start(area, setup, { kind: 'open', stores: own, generation })
    setup.ledger.of(area).cases++
    try {
      await compareViews(area, sides, { webhooks: false })
      await continueTasks(area, sides)
    } finally {
      await sides.stop('close')
    }
  }
  const swapped = [stores[1], stores[0]] as const
  const sides = await Sides.start(area, setup, { kind: 'keyed', stores: swapped, generation: 3 })
  try {
    await compareOperator(area, sides)
  } finally {
    await sides.stop('close')
  }
}

/** What an operator sees: the tasks of all callers, which stores list in a way of its own. */
async function compareOperator(area: string, sides: Sides): Promise<void> {
  const filters = [
    '',
    'agent=player',
    'state=TASK_STATE_FAILED',
    'context=c-durable',
    'text=chunks',
  ]
  filters.push('agent=flow&state=TASK_STATE_INPUT_REQUIRED', 'state=TASK_STATE_COMPLETED')
  const ask = (path: string): Promise<string> => {
    const target = `/console/api/${path}`
    return sides.ask(area, { method: 'GET', target, headers: [['X-API-Key', 'key-boss']] })
  }
  for (const filter of filters) {
    let cursor = ''
    for (let page = 0; page < 6; page++) {
      const body = await ask(`tasks?limit=7&${filter}${cursor}`)
      const next = /"next":"([^"]+)"/.exec(body)?.[1]
      if (next === undefined) break
      cursor = `&cursor=${next}`
    }
  }
  for (const path of ['roster', 'edges/player', 'edges/flow']) await ask(path)
}

async function play(area: string, setup: Setup, sides: Sides): Promise<void> {
  // Dialects are no matter of the store, and PostgreSQL takes its time.
  const names = setup.ledger.withoutTimes ? [] : ['RANCH', 'OpenAI completions']
  for (const [agent, texts] of Object.entries(sayings))
    for (const text of texts.slice(0, agent === 'player' ? undefined : 2))
      for (const name of ['JSON-RPC 1.0', ...names])
        for (const mode of ['blocking', 'later'] as const) {
          setup.ledger.of(area).cases++
          const wire = wires[name]
          if (wire) await converse(area, sides, wire, { agent, text, mode, durable: true })
        }
  await pushAndRepeat(area, sides)
  await compareViews(area, sides)
}

/** Webhooks, idempotency keys, a conversation across tasks, and tasks that wait at the end of the process. */
async function pushAndRepeat(area: string, sides: Sides): Promise<void> {
  for (const text of ['chunks a b', 'ask it', 'memory one', 'memory two']) {
    const hook = {
      url: `http://127.0.0.1:⟦port⟧/_still/hooks/${text.replaceAll(' ', '-')}`,
      token: 't',
      authentication: { scheme: 'Bearer', credentials: 'c' },
    }
    const message = {
      messageId: `m-${text}`,
      role: 'ROLE_USER',
      parts: [{ text }],
      contextId: 'c-durable',
    }
    const send = call('/', 'SendMessage', {
      message,
      configuration: { taskPushNotificationConfig: hook },
    })
    const keyed = { ...send, headers: [...headers, ['Idempotency-Key', `key ${text}`] as const] }
    await sides.ask(area, keyed)
    await sides.ask(area, keyed)
  }
  await sides.compareDeliveries(area)
}

/** Answers a task that asked in an earlier process, reads its stream, cancels another, and sends with a used key. */
async function continueTasks(area: string, sides: Sides): Promise<void> {
  const listed = await sides.ask(
    area,
    call('/', 'ListTasks', { status: 'TASK_STATE_INPUT_REQUIRED', pageSize: 5 }),
  )
  const [answered, canceled] = [...listed.matchAll(/"id":"(⟦\d+⟧)"/g)].map(([, id]) => id)
  const message = { messageId: 'm-again', role: 'ROLE_USER', parts: [{ text: 'the answer' }] }
  await sides.ask(area, call('/', 'SendMessage', { message: { ...message, taskId: answered } }))
  await sides.ask(area, call('/', 'CancelTask', { id: canceled }))
  for (const id of [answered, canceled]) await sides.ask(area, call('/', 'GetTask', { id }))
  const repeated = call('/', 'SendMessage', {
    message: {
      ...message,
      messageId: 'm-chunks a b',
      parts: [{ text: 'chunks a b' }],
      contextId: 'c-durable',
    },
  })
  await sides.ask(area, {
    ...repeated,
    headers: [...headers, ['Idempotency-Key', 'key chunks a b']],
  })
  await sides.ask(
    area,
    call('/', 'SendMessage', {
      message: { ...message, parts: [{ text: 'memory three' }], contextId: 'c-durable' },
    }),
  )
  await sides.compareDeliveries(area)
}

/** Where processes are killed: which agent is asked what, and the point that its turn has reached. */
const kills: readonly {
  readonly agent: string
  readonly text: string
  readonly points: readonly string[]
}[] = [
  { agent: 'player', text: 'steps x', points: ['before'] },
  { agent: 'player', text: 'steps x', points: ['in-one', 'in-one'] },
  { agent: 'player', text: 'steps x', points: ['after-one', 'in-three'] },
  { agent: 'player', text: 'steps x', points: ['end'] },
  { agent: 'brittle', text: 'steps x', points: ['in-two'] },
  { agent: 'line', text: 'steps x', points: ['in-two', 'after-three'] },
  { agent: 'routed', text: 'steps x', points: ['after-two'] },
  { agent: 'auctioned', text: 'steps x', points: ['offers', 'in-one'] },
]

/** Kills both servers in the middle of a turn, once or twice, and compares what the next ones make of it. */
export async function compareRecovery(setup: Setup): Promise<void> {
  for (const [i, { agent, text, points }] of kills.entries()) {
    const area = 'recovery'
    const stores: Pair<string> = [
      join(setup.folder, `kill-${i}-before.db`),
      join(setup.folder, `kill-${i}-after.db`),
    ]
    setup.ledger.of(area).cases++
    let taskId = ''
    for (const [generation, killAt] of points.entries()) {
      const sides = await Sides.start(area, setup, { kind: 'open', stores, generation, killAt })
      try {
        if (generation === 0) taskId = await begin(area, sides, { agent, text })
        await sides.reached()
      } finally {
        await sides.stop('kill')
      }
    }
    const sides = await Sides.start(area, setup, {
      kind: 'open',
      stores,
      generation: points.length,
    })
    try {
      await readAll(area, sides, { agent, taskId })
    } finally {
      await sides.stop('close')
    }
    setup.progress(area, i + 1, kills.length)
  }
}

/** Sends without waiting for the end; the turn stops at its point, so nothing is settled. */
async function begin(
  area: string,
  sides: Sides,
  { agent, text }: { readonly agent: string; readonly text: string },
): Promise<string> {
  const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text }] }
  const params = { message, configuration: { returnImmediately: true } }
  const body = await sides.begin(
    area,
    call(`/agents/${agent}/`, 'SendMessage', params),
    'unsettled',
  )
  return /"id":"(⟦\d+⟧)"/.exec(body)?.[1] ?? ''
}

async function readAll(
  area: string,
  sides: Sides,
  { agent, taskId }: { readonly agent: string; readonly taskId: string },
): Promise<void> {
  await sides.ended(agent, taskId)
  await sides.settle()
  await sides.ask(area, call(`/agents/${agent}/`, 'GetTask', { id: taskId }))
  for (const path of [
    `tasks/${taskId}`,
    `tasks/${taskId}/records`,
    `tasks/${taskId}/wire`,
    'tasks',
    `edges/${agent}`,
  ])
    await sides.ask(area, { method: 'GET', target: `/console/api/${path}`, headers: [] })
  const message = { messageId: 'm-2', role: 'ROLE_USER', parts: [{ text: 'string after all' }] }
  await sides.ask(area, call(`/agents/${agent}/`, 'SendMessage', { message }))
}
