import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { Cluster } from '../../src/engine/replicas.ts'
import { Suspects } from '../../src/engine/suspects.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import type { Message, Task } from '../../src/protocol/types.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { type Logger, silent } from '../../src/shared/log.ts'
import type { Feed, FeedListener } from '../../src/store/feed.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/store.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import { faulty } from '../fixtures/faulty-store.ts'
import { ask, begin, createEngineFor, eventsOf, message, taskOf, textOf } from './scene.ts'

const artifactOf = (artifactId: string, text = artifactId) => ({ artifactId, parts: [{ text }] })

const words = (text: string): Message => ({
  messageId: `by the way ${text}`,
  role: 'ROLE_AGENT',
  parts: [{ text }],
})

describe('a task that is changed from outside', () => {
  /** A task that asked, with two artifacts and metadata. */
  async function createChanged() {
    const agent = defineAgent({ name: 'Asking' }, async function* (_message, turn) {
      yield turn.artifact(artifactOf('a'))
      yield turn.artifact(artifactOf('b'))
      yield turn.ask('Which one?')
    })
    const scene = createEngineFor(agent)
    const { id } = taskOf(await ask(scene.engine, 'go'))
    const tasks = scene.engine.tasksOf(scene.scope)
    await tasks.update({ ...(await scene.engine.get(id, scene.scope)), metadata: { a: 1 } })
    await expect.poll(() => scene.engine.live()).toBe(0)
    const task = await scene.engine.get(id, scene.scope)
    /** What the records of a change say. */
    const told = async (change: Partial<Task>): Promise<readonly string[]> => {
      const { version = 0 } = (await scene.store.get(id)) ?? {}
      await tasks.update({ ...task, ...change })
      return (await scene.store.records(id, version)).flatMap((record) => {
        if (record.kind !== 'event') return record.kind
        const { event } = record
        if ('artifactUpdate' in event) return event.artifactUpdate.artifact.artifactId
        return 'task' in event ? 'task' : 'status'
      })
    }
    return { ...scene, tasks, task, told }
  }

  const status = { state: 'TASK_STATE_INPUT_REQUIRED' } as const
  const [a, b, c] = [artifactOf('a'), artifactOf('b'), artifactOf('c')]
  test.each<[string, (task: Task) => Partial<Task>, readonly string[]]>([
    ['nothing', () => ({}), []],
    ['a copy', (task) => structuredClone(task), []],
    ['metadata as it was', () => ({ metadata: { a: 1 } }), []],
    ['an artifact more', () => ({ artifacts: [a, b, c] }), ['c', 'rest']],
    ['another artifact', () => ({ artifacts: [a, artifactOf('b', 'x')] }), ['b', 'rest']],
    ['an artifact less', () => ({ artifacts: [a] }), ['task', 'rest']],
    ['artifacts in another order', () => ({ artifacts: [b, a] }), ['task', 'rest']],
    ['other metadata', () => ({ metadata: { a: 2 } }), ['task', 'rest']],
    ['less history', () => ({ history: [] }), ['task', 'rest']],
    ['another state', () => ({ status: { state: 'TASK_STATE_WORKING' } }), ['status', 'rest']],
    ['other words', () => ({ status: { ...status, message: words('x') } }), ['status', 'rest']],
    [
      'both',
      () => ({ artifacts: [a, b, c], status: { state: 'TASK_STATE_FAILED' } }),
      ['c', 'status', 'rest'],
    ],
  ])('tells so much of it: %s', async (_, change, expected) => {
    const { told, task } = await createChanged()
    expect(await told(change(task))).toEqual(expected)
  })

  test('keeps what is not mentioned, also where it is told as a whole', async () => {
    const { tasks, task } = await createChanged()
    const { id, contextId } = task
    const timestamp = '2999-01-01T00:00:00.000Z'
    const given = { id, contextId, status: { ...task.status, timestamp }, metadata: { b: 1 } }
    const updated = await tasks.update(given)
    expect(updated).toEqual({ ...task, ...given })
    expect(await tasks.get(id)).toEqual(updated)
  })

  test('has the time that it is given, or that of its last change', async () => {
    const { tasks, task } = await createChanged()
    const timestamp = '2999-01-01T00:00:00.000Z'
    const working = { state: 'TASK_STATE_WORKING' } as const
    const set = await tasks.update({ ...task, status: { ...working, timestamp } })
    expect(set.status.timestamp).toBe(timestamp)
    const later = await tasks.update({ ...task, status: { state: 'TASK_STATE_INPUT_REQUIRED' } })
    expect(later.status.timestamp).toBe(timestamp)
  })

  test('stays as it is once it has ended, and is given as it is where nothing is to change', async () => {
    const { tasks, task, engine, scope } = await createChanged()
    const ended = await engine.cancel(task.id, scope)
    expect(await tasks.update(ended)).toEqual(ended)
    await expect(tasks.update({ ...ended, artifacts: [] })).rejects.toMatchObject({
      code: 'invalidRequest',
      details: { metadata: { taskId: task.id } },
    })
    expect(engine.live()).toBe(0)
  })

  test('that is not there is made by `save` alone', async () => {
    const { tasks, task } = await createChanged()
    const fresh = { ...task, id: 'fresh', metadata: { fresh: true } }
    expect(await tasks.get('fresh')).toBeUndefined()
    await expect(tasks.update(fresh)).rejects.toMatchObject({ code: 'taskNotFound' })
    expect(await tasks.save(fresh)).toMatchObject({ id: 'fresh' })
    expect(await tasks.get('fresh')).toMatchObject({ metadata: { fresh: true } })
    expect(await tasks.save({ ...fresh, metadata: { fresh: 2 } })).toMatchObject({
      metadata: { fresh: 2 },
    })
  })

  test('that cannot be read is not one that is not there', async () => {
    const unreadable = new A2AError('unavailable', 'The disk is away')
    const get = async (): Promise<never> => {
      throw unreadable
    }
    const { engine, scope } = createEngineFor(createScriptedAgent(), {
      store: { ...createMemoryStore(), get },
    })
    await expect(engine.tasksOf(scope).get('any')).rejects.toBe(unreadable)
  })

  test('is only its owner’s', async () => {
    const agent = createScriptedAgent()
    const { engine } = createEngineFor(agent)
    const call = { auth: { userId: 'ann' } }
    const { id } = await begin(engine, 'hold', { call })
    const scopes = [
      engine.scopeOf(undefined, { userId: 'bob' }),
      engine.scopeOf('t', { userId: 'ann' }),
      engine.scopeOf(undefined),
    ]
    for (const scope of scopes) {
      expect(await engine.tasksOf(scope).get(id)).toBeUndefined()
      await expect(engine.cancel(id, scope)).rejects.toMatchObject({ code: 'taskNotFound' })
    }
    expect((await engine.tasksOf(engine.scopeOf(undefined, call.auth)).get(id))?.id).toBe(id)
  })
})

test('each tenant and user has a scope', () => {
  const { engine } = createEngineFor(createScriptedAgent())
  const scopes = [
    [undefined, undefined],
    ['', { userId: '' }],
    ['t', undefined],
    [undefined, { userId: 'ann' }],
    ['t', { userId: 'ann' }],
  ] as const
  expect(scopes.map(([tenant, auth]) => engine.scopeOf(tenant, auth))).toEqual([
    { agent: 'a', tenant: '', owner: '' },
    { agent: 'a', tenant: '', owner: '' },
    { agent: 'a', tenant: 't', owner: '' },
    { agent: 'a', tenant: '', owner: 'ann' },
    { agent: 'a', tenant: 't', owner: 'ann' },
  ])
})

test('a list has tasks as they are now, whoever runs them', async () => {
  const agent = defineAgent({ name: 'Growing' }, async function* () {
    yield 'one '
    await new Promise((resolve) => setImmediate(resolve))
    yield 'two'
    await new Promise<never>(() => {})
  })
  const owner = createEngineFor(agent)
  const { id } = await begin(owner.engine, 'go')
  await expect.poll(async () => textOf(await owner.engine.get(id, owner.scope))).toBe('one two')
  const { version, taskVersion } = (await owner.store.get(id)) ?? {}
  expect(taskVersion).not.toBe(version)
  const other = createEngineFor(agent, { store: owner.store })
  for (const { engine, scope } of [owner, other]) {
    const { tasks } = await engine.list({ scope, limit: 10 })
    expect(tasks.map(({ task }) => textOf(task))).toEqual(['one two'])
  }
})

test('only tasks are counted as live, not turns that have none', async () => {
  const go = createDeferred<void>()
  const { engine } = createEngineFor(
    defineAgent({ name: 'a' }, async (_message, turn) => {
      await go.promise
      return turn.reply('hi')
    }),
  )
  const sent = await engine.send(message('go'), {})
  expect(engine.live()).toBe(0)
  // Of a turn that nothing is stored of no other process can have anything.
  engine.releaseAll()
  go.resolve()
  expect(await sent.answer.wait()).toHaveProperty('message')
})

test('times are those of the clock that replicas share', async () => {
  const clock = createFakeClock(Date.parse('2026-01-01T00:00:00Z'))
  const feed = { replica: 1, offsetMs: 60_000, mayBegin: () => true } as Partial<Feed> as Feed
  const { engine } = createEngineFor(createScriptedAgent(), {
    store: { ...createMemoryStore(), feed },
    clock,
  })
  expect(engine.timestamp()).toBe('2026-01-01T00:01:00.000Z')
})

/** Suspects that note the progress of which they hear. */
function notingSuspects(heard: (readonly [string, boolean])[]): Suspects {
  class Noting extends Suspects {
    override watching = true
    override progressed(...news: [string, boolean]): void {
      heard.push(news)
    }
  }
  return new Noting(createFakeClock())
}

test('suspects hear of each step, and of each end of a turn', async () => {
  const heard: (readonly [string, boolean])[] = []
  const agent = defineAgent({ name: 'a' }, async function* (_message, turn) {
    turn.trace({ kind: 'begun' })
    await turn.save('key', 1)
    await turn.step('one', () => 1)
    yield turn.ask('Which one?')
  })
  const { engine } = createEngineFor(agent, { suspects: notingSuspects(heard) })
  const { id } = taskOf(await ask(engine, 'go'))
  expect(heard).toEqual([
    [id, false],
    [id, true],
  ])
})

test('suspects hear of the end of a turn that no event ends', async () => {
  const heard: (readonly [string, boolean])[] = []
  const agent = defineAgent({ name: 'a' }, async function* (_message, turn) {
    yield turn.status('TASK_STATE_AUTH_REQUIRED', 'Log in')
  })
  const { engine } = createEngineFor(agent, { suspects: notingSuspects(heard) })
  const { id } = taskOf(await ask(engine, 'go'))
  await expect.poll(() => heard).toEqual([[id, true]])
})

test('a stop leaves no timer behind, and begins nothing more', async () => {
  const clock = createFakeClock()
  let full = false
  const store = faulty(createMemoryStore(), { fault: () => (full ? 'refuse' : undefined) })
  const { engine, scope } = createEngineFor(createScriptedAgent(), { store, clock })
  const { id } = await begin(engine, 'hold')
  full = true
  await expect(engine.cancel(id, scope)).rejects.toMatchObject({ code: 'unavailable' })
  expect(clock.pending()).toContain(250)
  full = false
  await engine.close(0)
  expect(clock.pending()).not.toContain(250)
  expect(await engine.recover()).toEqual({ resumed: 0, failed: 0 })
  expect((await store.get(id))?.head.busy).toBe(true)
  await expect(async () => engine.send(message('go'), {})).rejects.toMatchObject({
    code: 'unavailable',
    details: { retryAfterSeconds: 5 },
  })
})

describe('a process that is one of several', () => {
  /** A feed that a test speaks for, and what it is asked. */
  function createFeed(more: Partial<Feed> = {}) {
    const asked: string[] = []
    const listeners: FeedListener[] = []
    const feed: Partial<Feed> = {
      replica: 1,
      offsetMs: 0,
      mayBegin: () => true,
      join: async (serving, listener) => {
        asked.push(`join ${serving.map(({ agent }) => agent)}`)
        listeners.push(listener)
      },
      serve: (serving) => void asked.push(`serve ${serving.map(({ agent }) => agent)}`),
      held: async (agent) => {
        asked.push(`held ${agent}`)
        return []
      },
      inbox: async (taskId) => {
        asked.push(`inbox ${taskId}`)
        return []
      },
      release: async (agent) => void asked.push(`release ${agent}`),
      leave: async () => void asked.push('leave'),
      watch() {},
      unwatch() {},
      ...more,
    }
    // Nothing else of it is asked for here.
    return { feed: feed as Feed, asked, listeners }
  }

  /** Two engines among replicas, of which only the first serves its agent. */
  function createCluster() {
    const { feed, asked, listeners } = createFeed()
    const clock = createFakeClock()
    const claims: (string | undefined)[] = []
    const kept = createMemoryStore()
    let meanwhile = (): unknown => undefined
    const store: Store = {
      ...kept,
      feed,
      async get(...args) {
        const stored = await kept.get(...args)
        return stored && { ...stored, replica: 1 }
      },
      async claim(options) {
        claims.push(options?.agent)
        await meanwhile()
        return kept.claim(options)
      },
    }
    const [served, other] = ['served', 'other'].map((agentId) =>
      createEngineFor(createScriptedAgent(), { store, agentId }),
    )
    if (!served || !other) throw new Error('There is no engine')
    const warnings: unknown[] = []
    const logger: Logger = { ...silent, warn: (...args) => void warnings.push(args) }
    let starts = 0
    const heard: string[] = []
    const cluster = new Cluster({
      ...{ feed, hub: served.hub, clock, logger },
      suspects: new Suspects(clock),
      webhooks: {
        start: async () => void starts++,
        heard: (taskId) => void heard.push(taskId),
      },
      engines: () => [
        { engine: served.engine, agent: 'served', build: '', served: true },
        { engine: other.engine, agent: 'other', build: '', served: false },
      ],
    })
    return {
      ...{ cluster, clock, asked, claims, served, other, heard, warnings, kept },
      starts: () => starts,
      during: (work: () => unknown) => (meanwhile = work),
      listener: () => listeners[0],
    }
  }

  test('joins with the agents that it serves, and claims for them alone', async () => {
    const { cluster, asked, claims, starts } = createCluster()
    await cluster.join()
    cluster.serve()
    await cluster.claim()
    expect(asked).toEqual(['join served', 'serve served'])
    expect(claims).toEqual(['served'])
    expect(starts()).toBe(1)
  })

  test('claims once more for what is announced meanwhile, however often, and not once it leaves', async () => {
    const { cluster, claims, during, listener } = createCluster()
    await cluster.join()
    let isFirst = true
    during(async () => {
      await undefined
      if (isFirst) for (let i = 0; i < 3; i++) listener()?.orphans()
      isFirst = false
    })
    await cluster.claim()
    expect(claims).toHaveLength(2)
    during(async () => {
      await undefined
      listener()?.orphans()
      void cluster.leave()
    })
    await cluster.claim()
    expect(claims).toHaveLength(3)
    listener()?.orphans()
    await new Promise((resolve) => setImmediate(resolve))
    expect(claims).toHaveLength(3)
  })

  test('counts what it has claimed, resumed and failed', async () => {
    const { cluster, kept } = createCluster()
    const never = defineAgent({ name: 'Never' }, () => new Promise<never>(() => {}))
    const before = createEngineFor(never, { store: kept, agentId: 'served' })
    for (let i = 0; i < 2; i++) await begin(before.engine, 'go')
    expect(await cluster.claim()).toEqual({ resumed: 0, failed: 2 })
    expect(cluster.claimed()).toBe(2)
  })

  test('looks every five seconds for what it was not told, until it leaves', async () => {
    const { cluster, clock, asked, starts } = createCluster()
    await cluster.join()
    asked.length = 0
    clock.advance(4_999)
    expect(asked).toEqual([])
    for (let round = 1; round <= 2; round++) {
      await clock.elapse(5_000)
      await expect.poll(() => asked).toHaveLength(2 * round)
      await expect.poll(starts).toBe(round)
      await expect.poll(() => clock.pending()).toEqual([5_000])
    }
    expect(asked.slice(0, 2)).toEqual(['held served', 'held other'])
    await Promise.all([cluster.leave(), cluster.leave()])
    expect(clock.pending()).toEqual([])
    expect(asked.filter((one) => one === 'leave')).toHaveLength(1)
  })

  test('passes on what it is told to whom it concerns', async () => {
    const { cluster, asked, served, other, listener, heard } = createCluster()
    await cluster.join()
    asked.length = 0
    listener()?.mail('t', 'other')
    listener()?.mail('t', 'unknown')
    expect(asked).toEqual(['inbox t'])
    listener()?.deliveries('d')
    expect(heard).toEqual(['d'])
    for (const { engine } of [served, other]) await begin(engine, 'hold')
    listener()?.lost('late')
    await expect.poll(() => served.engine.live() + other.engine.live()).toBe(0)
  })

  test('claims when it has registered anew', async () => {
    const { cluster, claims, listener } = createCluster()
    await cluster.join()
    listener()?.joined()
    await expect.poll(() => claims).toEqual(['served'])
  })

  test('reads the inbox of a task that it runs only where something waits', async () => {
    const held: { id: string; mail: number }[] = []
    const { feed, asked } = createFeed({ held: async () => held })
    const { engine } = createEngineFor(createScriptedAgent(), {
      store: { ...createMemoryStore(), feed },
    })
    const { id } = await begin(engine, 'hold')
    held.push({ id, mail: 0 })
    await engine.reconcile()
    expect(asked).toEqual([])
    held[0] = { id, mail: 1 }
    await engine.reconcile()
    expect(asked).toEqual([`inbox ${id}`])
    await engine.close(0)
    await engine.reconcile()
    expect(asked).toEqual([`inbox ${id}`])
  })

  test.each([
    ['that can go on elsewhere, and works', true, true, ['release a']],
    ['that can go on elsewhere, without work', true, false, []],
    ['that must end here', false, true, []],
  ] as const)('hands over the tasks of an agent %s', async (_, resumable, works, expected) => {
    const { feed, asked } = createFeed()
    const { engine } = createEngineFor(createScriptedAgent({ resumable }), {
      store: { ...createMemoryStore(), feed },
    })
    if (works) await begin(engine, 'hold')
    await engine.close(0)
    expect(asked).toEqual(expected)
  })
})

test('what is stored is told when it is, and never before', async () => {
  const { engine, scope, store } = createEngineFor(createScriptedAgent())
  const { id } = await begin(engine, 'hold')
  const stream = eventsOf(await engine.subscribe(id, scope, {}))
  const cancelled = await engine.cancel(id, scope)
  expect((await store.get(id))?.task.status).toEqual(cancelled.status)
  expect((await stream).at(-1)).toMatchObject({ statusUpdate: { status: cancelled.status } })
})
