import { createFold, taskStates } from '../../src/protocol/task.ts'
import type { Message, StreamResponse, Task } from '../../src/protocol/types.ts'
import type { StoreKeeper } from '../../src/store/keeper.ts'
import type {
  LogRecord,
  RecordDraft,
  Scope,
  Store,
  TaskWrite,
  Write,
} from '../../src/store/store.ts'
import { at, pushConfig, write } from '../contracts/store/samples.ts'

const anna: Scope = { agent: 'clerk', tenant: '', owner: 'anna' }
const ben: Scope = { agent: 'clerk', tenant: 'north', owner: 'ben' }

/** Fills a store with what servers leave: every state and kind of record, long logs, keys, webhooks, values. */
export async function fillStore(store: Store): Promise<void> {
  const states = taskStates.map((state, i) =>
    write(`in ${state}`, { scope: anna, state, second: i, records: 3, contextId: 'states' }),
  )
  const keyed = write('keyed', { scope: ben, idempotencyKey: 'key of ben', build: 'b1' })
  const waiting = write('answer waits', {
    scope: ben,
    state: 'TASK_STATE_INPUT_REQUIRED',
    busy: true,
    generation: 7,
  })
  const first: readonly Write[] = [...states, keyed, waiting, everyKind(), answered(), ...hooks()]
  for (const writes of [first, ...longLog(), values()])
    for (const result of await store.commit(writes))
      if (!('version' in result)) throw new Error(`Not stored: ${JSON.stringify(result)}`)
}

/** Everything that a store says of what it holds, as JSON. */
export async function contentsOf(keeper: StoreKeeper): Promise<unknown> {
  const store = await keeper.open()
  try {
    const { tasks, total } = await store.listAll({ limit: 1_000 })
    const whole = []
    for (const { head } of tasks) whole.push(await taskOf(store, head.id))
    const contexts = []
    for (const { scope, contextId } of await keeper.contexts()) {
      const values = [...(await store.contextValues(scope, contextId))].sort()
      contexts.push({ scope, contextId, values })
    }
    const byKey = await store.findByKey(ben, 'key of ben')
    const contents = { total, tasks: whole, contexts, byKey, letters: await store.deadLetters() }
    return JSON.parse(JSON.stringify(contents))
  } finally {
    await store.close()
  }
}

async function taskOf(store: Store, id: string): Promise<object> {
  const { head, version, task, taskVersion } = (await store.get(id)) ?? {}
  const records = await store.records(id, 0)
  return { head, version, task, taskVersion, records, webhooks: await store.pushConfigs(id) }
}

/** A log with a record of every kind. */
function everyKind(): TaskWrite {
  const plain = write('every kind', { scope: anna, state: 'TASK_STATE_WORKING', build: 'b1' })
  const drafts: readonly RecordDraft[] = [
    { kind: 'start', turn: 1, attempt: 1 },
    { kind: 'step', turn: 1, name: 'ask', result: { text: 'a \u0000 and a 🎈' } },
    { kind: 'state', key: 'place', value: { step: 2 } },
    { kind: 'trace', at: at(1), entry: { agent: 'writer', tokens: 12 } },
    { kind: 'stop', turn: 1 },
    { kind: 'start', turn: 1, attempt: 2, deaths: { total: 2, silent: 1, alone: 1, apart: 4 } },
    { kind: 'alive', turn: 1 },
    { kind: 'claim', by: 3, at: at(2) },
    { kind: 'dropped', messageId: 'm2', reason: 'too many' },
    { kind: 'cancel', at: at(3) },
    { kind: 'rest', turn: 1 },
  ]
  // A draft with a number is a record.
  const rest = drafts.map((draft, i) => ({ ...draft, seq: i + 2 }) as LogRecord)
  return { ...plain, records: [...plain.records, ...rest] }
}

/** A finished task with a large answer that came in pieces, and ends with a message. */
function answered(): TaskWrite {
  const [id, contextId, scope] = ['answered in pieces', 'talk', anna]
  const said = (role: Message['role'], text: string): Message => {
    return { messageId: `${role} ${text}`, role, parts: [{ text }], taskId: id, contextId }
  }
  const status = { state: 'TASK_STATE_SUBMITTED', timestamp: at(10) } as const
  const task: Task = { id, contextId, status, history: [said('ROLE_USER', 'tell me')] }
  const pieces = Array.from({ length: 40 }, (_, i): StreamResponse => {
    const artifact = { artifactId: 'response', parts: [{ text: `${i} ${'word '.repeat(100)}` }] }
    return {
      artifactUpdate: { taskId: id, contextId, artifact, append: i > 0, lastChunk: i === 39 },
    }
  })
  const message = said('ROLE_AGENT', 'That was it.')
  const end = { state: 'TASK_STATE_COMPLETED', timestamp: at(11), message } as const
  const changes = [...pieces, { statusUpdate: { taskId: id, contextId, status: end } }]
  const fold = createFold(task)
  for (const event of changes) fold.apply(event)
  const events = [{ task }, ...changes]
  const { state, timestamp } = end
  const work = { busy: false, generation: events.length, build: 'b2' }
  return {
    type: 'task',
    head: { id, scope, contextId, state, timestamp, ...work },
    expectedVersion: 0,
    records: events.map((event, i) => ({ seq: i + 1, kind: 'event', event })),
    task: fold.snapshot(),
  }
}

/** Three commits of one task, longer together than what stands in one row. */
function longLog(): readonly (readonly Write[])[] {
  return [0, 100, 200].map((expectedVersion) => [
    write('long', { scope: anna, expectedVersion, records: 100, second: expectedVersion }),
  ])
}

function hooks(): readonly Write[] {
  const taskId = 'every kind'
  const deadLetter = { id: 'letter', taskId, configId: 'slow', seq: 4, attempts: 9, at: at(5) }
  return [
    { type: 'pushConfig', record: pushConfig(taskId, 'slow', 2) },
    { type: 'pushConfig', record: { ...pushConfig(taskId, 'done', 12), dialect: '0.3' } },
    {
      type: 'cursor',
      taskId,
      id: 'slow',
      cursor: 4,
      deadLetter: { ...deadLetter, reason: 'HTTP 500' },
    },
  ]
}

function values(): readonly Write[] {
  const place = { type: 'contextValue', scope: anna, contextId: 'talk' } as const
  return [
    { ...place, key: 'name', value: 'Anna' },
    { ...place, key: 'a \u0000 key', value: { deep: [1, null, 'ü'] } },
    { ...place, key: 'gone', value: 1 },
    { ...place, key: 'gone', value: null },
  ]
}
