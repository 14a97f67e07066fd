import { describe, expect, test } from 'vitest'
import { A2AError } from '../../src/protocol/errors.ts'
import { errorExtension } from '../../src/protocol/extensions.ts'
import type { FailureNote } from '../../src/protocol/failure.ts'
import type { Json, Message, Task, TaskState } from '../../src/protocol/types.ts'
import {
  conversationOf,
  currentTask,
  explainStored,
  fromSnapshot,
  listedDocumentColumns,
  parseScopeKey,
  recordsPerRow,
  scopeKey,
  taskIdOf,
  textsOf,
  toReadError,
  toRecords,
  toRecordTexts,
  toSnapshot,
  toStateCounts,
  toTaskPage,
  toText,
  withoutError,
} from '../../src/store/documents.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { weighTask } from '../../src/store/size-limits.ts'
import type { LogRecord, Scope, Store, StoredTask, TaskListFilter } from '../../src/store/store.ts'
import { at, pushConfig, scope, write } from '../contracts/store/samples.ts'
import { otherScopes } from '../contracts/store/writes.ts'

describe('what the rows of a database hold', () => {
  const message: Message = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'm' }] }
  const status = { state: 'TASK_STATE_COMPLETED', timestamp: at(0) } as const
  const ended = { id: 't', contextId: 'c', status: { ...status, message } }

  test.each<[string, Task, unknown]>([
    ['that the history ends with', { ...ended, history: [message] }, 0],
    ['that looks like the last of the history', { ...ended, history: [{ ...message }] }, message],
    ['that the history begins with', { ...ended, history: [message, { ...message }] }, message],
    ['without a history', ended, message],
    ['that is not there', { id: 't', contextId: 'c', status, history: [message] }, undefined],
  ])('a status message %s', (_where, task, stored) => {
    const text = toSnapshot({ ...task, artifacts: [{ artifactId: 'a', parts: [] }] })
    expect(JSON.parse(text)).not.toHaveProperty('artifacts')
    expect(JSON.parse(text).status.message).toEqual(stored)
    expect(fromSnapshot(text)).toEqual(task)
  })

  test.each([
    [0, []],
    [1, [1]],
    [recordsPerRow, [recordsPerRow]],
    [recordsPerRow + 1, [recordsPerRow, 1]],
    [2 * recordsPerRow, [recordsPerRow, recordsPerRow]],
    [2 * recordsPerRow + 5, [recordsPerRow, recordsPerRow, 5]],
  ])('%i records', (count, sizes) => {
    const { records } = write('t', { records: count })
    const texts = textsOf(toRecordTexts(records))
    expect(texts.map((text) => toRecords(text).length)).toEqual(sizes)
    expect(texts.flatMap(toRecords)).toEqual(records)
    expect(toRecords(null)).toEqual([])
    expect(typeof toRecordTexts(records) === 'string').toBe(sizes.length === 1)
  })

  test('only what JSON can express', () => {
    for (const value of [undefined, () => 1, Symbol('s')])
      expect(() => toText(value)).toThrow(TypeError)
    expect(toText(null)).toBe('null')
  })

  test('of the counts of states those that are not zero', () => {
    const rows = [
      { state: 'TASK_STATE_WORKING', tasks: '2' },
      { state: 'TASK_STATE_FAILED', tasks: 0 },
    ]
    expect(toStateCounts(rows)).toEqual({ TASK_STATE_WORKING: 2 })
  })

  test('as much of a document as is asked for', () => {
    const columns = (parts: object) => listedDocumentColumns('task', parts)
    expect(columns({})).toContain('task.artifacts END AS artifacts')
    expect(columns({ artifacts: false })).not.toContain('AS artifacts')
    expect(columns({ light: true })).toContain('> 16384')
    expect(columns({ light: true })).not.toContain('artifacts')
    expect(columns({})).toContain('octet_length(task.artifacts), 0) > 65536')
  })
})

test('the key of a scope is read back; what is no key is told', () => {
  const keys = [scope, ...otherScopes].map(scopeKey)
  expect(new Set(keys).size).toBe(keys.length)
  expect(keys.map(parseScopeKey)).toEqual([scope, ...otherScopes])
  const odd = { agent: '1:2', tenant: ':', owner: '' }
  expect(parseScopeKey(scopeKey(odd))).toEqual(odd)
  for (const key of ['', 'abc', '1:1:1:ab', '1:1:1:abcd', '1:1:abc', 'x1:0:0:a', '-1:0:0:'])
    expect([key, parseScopeKey(key)]).toEqual([key, undefined])
})

test('a write tells the task that it is about, if it is about one', () => {
  const place = { taskId: 't', id: 'a' }
  expect(taskIdOf(write('t'))).toBe('t')
  expect(taskIdOf({ type: 'deleteTask', id: 't' })).toBe('t')
  expect(taskIdOf({ type: 'pushConfig', record: pushConfig('t', 'a') })).toBe('t')
  expect(taskIdOf({ type: 'deletePushConfig', ...place })).toBe('t')
  expect(taskIdOf({ type: 'cursor', ...place, cursor: 1 })).toBe('t')
  expect(taskIdOf({ type: 'deleteDeadLetter', id: 't' })).toBeUndefined()
  const value = { type: 'contextValue', scope, contextId: 'c', key: 'k', value: 1 } as const
  expect(taskIdOf(value)).toBeUndefined()
})

test('an error of ours stays as it is; any other becomes that of a store that is down', () => {
  const ours = new A2AError('taskNotFound', 'gone')
  expect(toReadError(ours)).toBe(ours)
  const cause = new Error('no disk')
  expect(toReadError(cause)).toMatchObject({ code: 'unavailable', why: 'storeDown', cause })
})

describe('a task with what its log has beyond the snapshot', () => {
  const state = 'TASK_STATE_WORKING'

  async function grown(records: readonly LogRecord[]): Promise<Task> {
    const store = createMemoryStore()
    await store.commit([write('t', { state })])
    const { head } = write('t', { state })
    await store.commit([{ type: 'task', head, expectedVersion: 1, records }])
    const stored = await store.get('t')
    if (!stored) throw new Error('Not stored')
    return currentTask(store, stored)
  }

  const said = (seq: number, turn: number): LogRecord => {
    const message: Message = { messageId: `m${seq}`, role: 'ROLE_USER', parts: [{ text: 'more' }] }
    return { seq, kind: 'message', turn, message, request: { userId: 'owner' } }
  }

  test('has its later messages, and not the first one twice', async () => {
    const { history } = await grown([said(2, 1), said(3, 2)])
    expect(history?.map(({ messageId }) => messageId)).toEqual(['message of t', 'm3'])
  })

  test('has its events, and nothing of what is not public', async () => {
    const status = { state: 'TASK_STATE_INPUT_REQUIRED', timestamp: at(9) } as const
    const task = await grown([
      { seq: 2, kind: 'step', turn: 1, name: 'read', result: 1 },
      { seq: 3, kind: 'event', event: { statusUpdate: { taskId: 't', contextId: 'c', status } } },
    ])
    expect(task).toEqual({ ...write('t').task, status })
  })

  test('reaches to the version that was read, and not to what is stored meanwhile', async () => {
    const store = createMemoryStore()
    await store.commit([write('t', { state })])
    const later = (expectedVersion: number, second: number) =>
      store.commit([write('t', { state, expectedVersion, records: 2, second, snapshot: false })])
    await later(1, 5)
    const stored = await store.get('t')
    await later(3, 9)
    if (!stored) throw new Error('Not stored')
    expect((await currentTask(store, stored)).status.timestamp).toBe(at(5))
    expect(await currentTask(store, { ...stored, taskVersion: 3 })).toBe(stored.task)
  })
})

describe('a conversation', () => {
  async function talk(tasks: number, text = 'hello'): Promise<Store> {
    const store = createMemoryStore()
    for (let i = 0; i < tasks; i += 1)
      await store.commit([write(`t${i}`, { second: i, contextId: 'c', text })])
    return store
  }
  const idsOf = (messages: readonly Message[]) => messages.map(({ messageId }) => messageId)

  test('is what was said last, oldest first; answers are messages of the agent', async () => {
    const store = await talk(3)
    const asked = { scope, contextId: 'c' }
    const ids = idsOf(await conversationOf(store, { ...asked, limit: 5 }))
    expect(ids).toEqual(['t0-answer', 'message of t1', 't1-answer', 'message of t2', 't2-answer'])
    const [answer] = await conversationOf(store, { ...asked, limit: 1 })
    expect(answer).toMatchObject({ role: 'ROLE_AGENT', taskId: 't2', contextId: 'c' })
    expect(answer?.parts[0]).toEqual({ text: 'hello' })
    const other = { ...scope, owner: 'other' }
    expect(await conversationOf(store, { scope: other, contextId: 'c', limit: 5 })).toEqual([])
  })

  test('has no answer of a task without artifacts', async () => {
    const store = createMemoryStore()
    const { task, ...sample } = write('t', { contextId: 'c' })
    if (!task) throw new Error('A sample has a snapshot')
    await store.commit([{ ...sample, task: { ...task, artifacts: [] } }])
    const messages = await conversationOf(store, { scope, contextId: 'c', limit: 5 })
    expect(idsOf(messages)).toEqual(['message of t'])
  })

  test('is read no further back than 50 tasks and 8 MiB', async () => {
    const store = await talk(51)
    const filters: TaskListFilter[] = []
    const watched: Store = {
      ...store,
      list(filter) {
        filters.push(filter)
        return store.list(filter)
      },
    }
    const asked = { scope, contextId: 'c' }
    expect(await conversationOf(watched, { ...asked, limit: 1_000 })).toHaveLength(100)
    await conversationOf(watched, { ...asked, limit: 3 })
    const maxBytes = 8 * 1024 * 1024
    expect(filters).toMatchObject([
      { limit: 50, maxBytes, counted: false },
      { limit: 3, maxBytes, counted: false },
    ])
  })
})

test.each([
  ['the task that reaches the bound', 2, 0, ['a', 'b']],
  ['the first task beyond it', 2, -1, ['a', 'b']],
  ['the next one where there is room', 2, 1, ['a', 'b', 'c']],
  ['the only one, however small the bound', 0, 1, ['a']],
] as const)('a page has %s', async (_last, tasks, bytes, expected) => {
  const found = ['a', 'b', 'c'].map((id): StoredTask => {
    const { head, task } = write(id)
    if (!task) throw new Error('A sample has a snapshot')
    return { head, task, version: 1, taskVersion: 1 }
  })
  const [one] = found
  const maxBytes = tasks * (one ? weighTask(one.task) : 0) + bytes
  const page = await toTaskPage(found, { limit: 3, maxBytes, total: 3 }, (stored) => stored)
  expect(page.tasks.map(({ head }) => head.id)).toEqual(expected)
  expect(page.next).toEqual(
    expected.length < 3 ? { timestamp: at(0), id: expected.at(-1) } : undefined,
  )
  expect(page.total).toBe(3)
})

describe('an entry of the trace without the scope operator', () => {
  const failure = { cause: 'toolThrew', words: ['secret'], attempt: 1 }
  const entry = { tool: 'read', result: 'Error: secret' }
  const record = { seq: 1, kind: 'trace', at: at(0), entry } as const

  test('says that a tool failed, and not what it threw', () => {
    expect(withoutError({ ...record, failure }).entry).toEqual({
      tool: 'read',
      result: 'Error: The tool failed',
    })
  })

  test('is as it was where nothing failed, or where it has no result', () => {
    expect(withoutError(record)).toBe(record)
    const other = { ...record, entry: { tool: 'read' }, failure }
    expect(withoutError(other)).toBe(other)
  })
})

describe('why a stored task failed', () => {
  const note = (words: string, more: Partial<FailureNote> = {}): FailureNote => ({
    cause: 'agentThrew',
    words: [words],
    attempt: 1,
    ...more,
  })
  const traced = (
    failure: FailureNote | undefined,
    entry: Record<string, Json> = {},
  ): LogRecord => ({
    seq: 1,
    kind: 'trace',
    at: at(0),
    entry,
    ...(failure && { failure }),
  })
  const ending = (failure?: FailureNote): LogRecord => {
    const status = { state: 'TASK_STATE_FAILED', timestamp: at(0) } as const
    const event = { statusUpdate: { taskId: 't', contextId: 'c', status } }
    return { seq: 1, kind: 'event', event, ...(failure && { failure }) }
  }
  const coded = (code: Json): Message => ({
    messageId: 'm',
    role: 'ROLE_AGENT',
    parts: [],
    metadata: { [errorExtension]: { code } },
  })

  async function explained(
    records: readonly LogRecord[],
    { state = 'TASK_STATE_FAILED', message }: { state?: TaskState; message?: Message } = {},
    store?: Store,
  ) {
    const kept = store ?? createMemoryStore()
    if (!store) await kept.commit([write('t')])
    const status = { state, timestamp: at(0), ...(message && { message }) }
    const found = await explainStored(kept, { id: 't', status }, records)
    return found.map(({ cause, words, member, attempt, continued }) =>
      [cause, words.join(), member, attempt, continued ? 'continued' : 'ended'].join(' '),
    )
  }

  test('is told with the end first, then what failed on the way, the latest first', async () => {
    const records = [
      traced(note('first'), { member: 'writer' }),
      traced(undefined, { member: 'nobody' }),
      traced(note('second'), { at: 'team:inner:editor' }),
      traced(note('third', { attempt: 2 }), { agent: 'helper' }),
      { seq: 5, kind: 'step', turn: 1, name: 'read', result: 1 } as const,
      ending(),
      ending(note('last', { cause: 'timeout' })),
    ]
    expect(await explained(records)).toEqual([
      'timeout last agent 1 ended',
      'agentThrew third helper 2 continued',
      'agentThrew second editor 1 continued',
      'agentThrew first writer 1 continued',
    ])
  })

  test('ends with the latest of several ends', async () => {
    expect(await explained([ending(note('early')), ending(note('late'))])).toEqual([
      'agentThrew late agent 1 ended',
      'agentThrew early agent 1 continued',
    ])
  })

  test.each<[string, Record<string, Json>, string]>([
    ['the member that it names', { member: 'm', at: 'a:b', agent: 'c' }, 'm'],
    ['the last of its path', { at: 'a:b', agent: 'c' }, 'b'],
    ['a path of one', { at: 'a' }, 'a'],
    ['its agent', { agent: 'c', member: 1 }, 'c'],
    ['the agent of the task', {}, 'agent'],
  ])('is about %s', async (_what, entry, member) => {
    const records = [traced(note('no'), entry)]
    expect(await explained(records, { state: 'TASK_STATE_COMPLETED' })).toEqual([
      `agentThrew no ${member} 1 continued`,
    ])
  })

  test('names the member of the failure itself before that of the entry', async () => {
    const records = [traced(note('no', { member: 'own' }), { member: 'other' })]
    expect(await explained(records)).toEqual(['agentThrew no own 1 ended'])
  })

  test('is told once where the end repeats the failure of its member', async () => {
    const of = (attempt: number) => note('no', { member: 'w', attempt })
    const records = [traced(of(1)), traced(of(2)), ending(of(2))]
    expect(await explained(records)).toEqual([
      'agentThrew no w 2 ended',
      'agentThrew no w 1 continued',
    ])
  })

  test.each<[TaskState, readonly string[]]>([
    ['TASK_STATE_FAILED', ['timeout  agent 1 ended']],
    ['TASK_STATE_REJECTED', ['timeout  agent 1 ended']],
    ['TASK_STATE_AUTH_REQUIRED', ['timeout  agent 1 ended']],
    ['TASK_STATE_COMPLETED', []],
    ['TASK_STATE_CANCELED', []],
  ])('is the code of the status message in a log without words: %s', async (state, expected) => {
    expect(await explained([ending()], { state, message: coded('timeout') })).toEqual(expected)
    for (const code of [7, null])
      expect(await explained([ending()], { state, message: coded(code) })).toEqual([])
  })

  test('is the words where there are some, not the code', async () => {
    const message = coded('timeout')
    expect(await explained([ending(note('no'))], { message })).toEqual([
      'agentThrew no agent 1 ended',
    ])
  })

  test('may be any failure where the agent ended the task itself, and none where it went on', async () => {
    const records = [traced(note('a')), traced(note('b'))]
    const [b, a] = ['agentThrew b agent 1', 'agentThrew a agent 1']
    expect(await explained(records)).toEqual([`${b} ended`, `${a} ended`])
    for (const state of ['TASK_STATE_COMPLETED', 'TASK_STATE_REJECTED'] as const)
      expect(await explained(records, { state })).toEqual([`${b} continued`, `${a} continued`])
  })

  test('is told of so many failures, the latest', async () => {
    const records = Array.from({ length: 25 }, (_, i) => traced(note(`n${i}`)))
    const found = await explained(records)
    expect(found).toHaveLength(20)
    expect([found[0], found[19]]).toEqual([
      'agentThrew n24 agent 1 ended',
      'agentThrew n5 agent 1 ended',
    ])
  })

  test('comes last with the webhooks of the task that were given up, and of no other', async () => {
    const store = createMemoryStore()
    const theirs: Scope = { ...scope, owner: 'other' }
    await store.commit([write('t'), write('u'), write('v', { scope: theirs })])
    for (const taskId of ['t', 'u', 'v']) {
      const letter = { id: taskId, taskId, configId: 'a', seq: 1, attempts: 7, at: at(0) }
      const deadLetter = { ...letter, reason: `HTTP 500 of ${taskId}` }
      await store.commit([
        { type: 'pushConfig', record: pushConfig(taskId, 'a') },
        { type: 'cursor', taskId, id: 'a', cursor: 1, deadLetter },
      ])
    }
    expect(await explained([ending(note('no'))], {}, store)).toEqual([
      'agentThrew no agent 1 ended',
      'webhook HTTP 500 of t webhook a 7 continued',
    ])
  })

  test('is told with the webhooks of the task, however many of other callers were given up since', async () => {
    const store = createMemoryStore()
    const theirs: Scope = { ...scope, owner: 'other' }
    await store.commit([write('t'), write('v', { scope: theirs })])
    for (const [taskId, count] of [
      ['t', 1],
      ['v', 500],
    ] as const) {
      await store.commit([{ type: 'pushConfig', record: pushConfig(taskId, 'a') }])
      const letter = { taskId, configId: 'a', seq: 1, attempts: 1, reason: 'no', at: at(0) }
      await store.commit(
        Array.from({ length: count }, (_, i) => {
          const deadLetter = { ...letter, id: `${taskId} ${i}` }
          return { type: 'cursor', taskId, id: 'a', cursor: 1, deadLetter }
        }),
      )
    }
    expect(await explained([], { state: 'TASK_STATE_COMPLETED' }, store)).toHaveLength(1)
  })

  test('is not told of a task that is not there', async () => {
    expect(await explained([ending(note('no'))], {}, createMemoryStore())).toEqual([])
  })
})
