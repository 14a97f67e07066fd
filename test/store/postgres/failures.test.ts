import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import type { LogRecord } from '../../../src/store/store.ts'
import {
  createListener,
  hasHeard,
  hasHeardOf,
  type Member,
  type SharedStore,
} from '../../contracts/feed/world.ts'
import { type SampleOptions, write } from '../../contracts/store/samples.ts'
import { isSession, type MessageTap } from '../../support/cutting-proxy.ts'
import { describePostgres, usePostgres } from '../../support/postgres.ts'
import { startPostgres } from '../../support/postgres-server.ts'
import { openPostgresWorld, type PostgresWorld } from './world.ts'

describePostgres('replicas on PostgreSQL', () => {
  const database = usePostgres()
  let world: PostgresWorld
  beforeEach(() => {
    world = openPostgresWorld(database, 'often')
  })
  afterEach(() => world.close())
  const join = () => joinWorld(world)

  it('write on a new connection when theirs answers nothing, and keep their lease', async () => {
    const a = await join()
    await a.store.commit([running('t')])
    const { replica } = a.feed
    world.proxyOf(a.store).blackhole((statement) => /INSERT INTO \S+\.task/.test(statement))
    expect(await a.store.commit([write('t', { expectedVersion: 1 })])).toEqual([{ version: 2 }])
    expect((await a.store.records('t', 0)).map(seqOf)).toEqual([1, 2])
    expect(a.feed.replica).toBe(replica)
  })

  it('read and forward on a new connection when theirs answers nothing', async () => {
    const [a, b] = [await join(), await join()]
    await a.store.commit([running('t')])
    expect(await b.feed.forward('t', { kind: 'cancel', key: 'one' }, 10)).toBe('stored')
    world.proxyOf(b.store).blackhole((statement) => !isSession(statement))
    expect(await b.feed.forward('t', { kind: 'cancel', key: 'two' }, 10)).toBe('stored')
    expect((await b.store.get('t'))?.replica).toBe(a.feed.replica)
    expect(await b.feed.inbox('t')).toHaveLength(2)
  })

  it('end what they sent in part on a connection that answers nothing, and write it again', async () => {
    let isLost = false
    const a = await joinWorld(world, ({ exchange, type, direction }) => {
      if (isLost || direction !== 'requests' || type !== 'S') return undefined
      isLost = exchange.name.startsWith('commit_')
      return isLost ? 'blackhole' : undefined
    })
    expect(await a.store.commit([running('t')])).toEqual([{ version: 1 }])
    expect(isLost).toBe(true)
    expect((await a.store.records('t', 0)).map(seqOf)).toEqual([1])
  })

  it('register anew when the network cut their beat in half', async () => {
    let isLost = false
    const a = await joinWorld(world, ({ exchange, type, direction }) => {
      if (isLost || direction !== 'requests' || type !== 'S') return undefined
      isLost = exchange.name === 'beat'
      return isLost ? 'blackhole' : undefined
    })
    await world.until(() => timesJoined(a) === 1)
  })

  it('connect again when the answer to their settings does not come', async () => {
    let [isOpen, isLost] = [false, false]
    const store = await world.open({}, ({ exchange, type }) => {
      if (isLost || type !== 'S' || !/set_config/.test(exchange.name) || !isOpen) return undefined
      isLost = true
      return 'blackhole'
    })
    isOpen = true
    expect(await store.get('t')).toBeUndefined()
    expect(isLost).toBe(true)
  })

  it('say how long their oldest commit has waited', async () => {
    const a = await join()
    await a.store.commit([running('t')])
    expect(a.store.health()).toEqual({ writable: true })
    await world.cut(a.store)
    const committed = a.store.commit([write('t', { expectedVersion: 1 })])
    await world.until(async () => (a.store.health().oldestCommitMs ?? 0) > 0)
    await world.heal(a.store)
    expect(await committed).toEqual([{ version: 2 }])
    expect(a.store.health().oldestCommitMs).toBeUndefined()
  })

  describe('whose answer is lost', () => {
    it('stores a new task once', async () => {
      const a = await join()
      const lost = loseAnswer(a.store, /INSERT INTO \S+\.task/)
      const committed = a.store.commit([running('t', { records: 2 })])
      await lost
      world.proxyOf(a.store).heal()
      expect(await committed).toEqual([{ version: 2 }])
      expect((await a.store.records('t', 0)).map(seqOf)).toEqual([1, 2])
      expect(await a.feed.held('agent')).toEqual([{ id: 't', mail: 0 }])
    })

    it('stores a change once, and takes what it answers once', async () => {
      const [a, b] = [await join(), await join()]
      await a.store.commit([running('t')])
      for (const key of ['one', 'two']) await b.feed.forward('t', { kind: 'cancel', key }, 10)
      const [item] = await a.feed.inbox('t')
      const lost = loseAnswer(a.store, /UPDATE \S+\.task/)
      const rest = { ...write('t', { expectedVersion: 1 }), takes: [item?.number ?? 0] }
      const committed = a.store.commit([rest])
      await lost
      world.proxyOf(a.store).heal()
      expect(await committed).toEqual([{ version: 2 }])
      expect(await a.feed.inbox('t')).toHaveLength(1)
      expect((await b.store.get('t'))?.replica).toBe(a.feed.replica)
      expect((await a.store.records('t', 0)).map(seqOf)).toEqual([1, 2])
    })

    it('stores a task that came to rest once', async () => {
      const a = await join()
      await a.store.commit([running('t')])
      const lost = loseAnswer(a.store, /UPDATE \S+\.task/)
      const committed = a.store.commit([write('t', { expectedVersion: 1 })])
      await lost
      world.proxyOf(a.store).heal()
      expect(await committed).toEqual([{ version: 2 }])
    })

    it('stores several writes of one task once', async () => {
      const a = await join()
      const lost = loseAnswer(a.store, /^COMMIT/)
      const committed = a.store.commit([running('t'), write('t', { expectedVersion: 1 })])
      await lost
      world.proxyOf(a.store).heal()
      expect(await committed).toEqual([{ version: 1 }, { version: 2 }])
      expect((await a.store.records('t', 0)).map(seqOf)).toEqual([1, 2])
    })

    it('finds the tasks of a claim among those that it holds', async () => {
      const [a, b] = [await join(), await join()]
      await a.store.commit([running('t')])
      await world.kill(a.store)
      await world.until(() => hasHeard(b, 'orphans'))
      const lost = loseAnswer(b.store, /'claim'/)
      const claimed = b.store.claim().catch(() => [])
      await lost
      world.proxyOf(b.store).heal()
      await claimed
      expect(await b.feed.held('agent')).toEqual([{ id: 't', mail: 0 }])
      expect(await b.store.get('t')).toMatchObject({ version: 2, replica: b.feed.replica })
    })
  })

  describe('a connection', () => {
    it('that carries the registration takes it along when it alone breaks, and writes go on', async () => {
      const a = await join()
      const before = a.feed.replica
      await a.store.commit([running('t')])
      world.proxyOf(a.store).reset(isSession)
      expect(await a.store.commit([running('t', { expectedVersion: 1 })])).toEqual([{ version: 2 }])
      await world.until(() => hasHeardOf(a, 'joined'))
      expect(a.feed.replica).toBeGreaterThan(before)
      await world.until(async () => (await a.store.claim()).length === 1)
    })

    it('on which answers alone are lost ends with its lease', async () => {
      const [a, b] = [await join(), await join()]
      await a.store.commit([running('t')])
      world.proxyOf(a.store).cut('answers')
      await world.until(() => hasHeard(b, 'orphans'))
      expect(a.feed.mayBegin()).toBe(false)
      expect(await b.store.claim()).toHaveLength(1)
      world.proxyOf(a.store).heal()
      await world.until(() => hasHeardOf(a, 'joined'))
      expect(await a.feed.held('agent')).toEqual([])
    })

    it('that is slow keeps its registration and loses nothing', async () => {
      const [a, b] = [await join(), await join()]
      for (const { store } of [a, b]) world.proxyOf(store).slow(20)
      await a.store.commit([running('t')])
      b.feed.watch('t')
      expect(await b.feed.forward('t', { kind: 'cancel', key: 'k' }, 10)).toBe('stored')
      await world.until(() => hasHeard(a, 'mail', 't', 'agent'))
      await a.store.commit([running('t', { expectedVersion: 1 })])
      await world.until(() => hasHeard(b, 'grown', 't', 2))
      expect([a, b].some((member) => hasHeardOf(member, 'lost'))).toBe(false)
    })
  })

  describe('from time to time', () => {
    it('growth is found that nobody told of', async () => {
      const [a, b] = [await join(), await join()]
      await a.store.commit([running('t')])
      b.feed.watch('t')
      await world.until(() => hasHeard(b, 'grown', 't', 1))
      await database.query(`UPDATE ${world.schema}.task SET version = 7, watchers = '{}'`)
      await world.until(() => hasHeard(b, 'grown', 't', 7))
      await world.until(async () => {
        const [row] = await database.query(`SELECT watchers FROM ${world.schema}.task`)
        return Array.isArray(row?.watchers) && row.watchers.includes(b.feed.replica)
      })
    })

    it('registrations that are long over are forgotten, but for those that somebody has to take over from', async () => {
      const [a, b, c] = [await join(), await join(), await join()]
      await b.store.commit([running('t')])
      const [first, second, third] = [a, b, c].map(({ feed }) => feed.replica)
      await Promise.all([world.kill(a.store), world.kill(b.store)])
      await world.until(() => c.feed.replicas === 1)
      await database.query(
        `UPDATE ${world.schema}.replica SET alive_until = clock_timestamp() - interval '2 minutes'
         WHERE number <> $1`,
        [c.feed.replica],
      )
      const numbers = async () => (await c.feed.facts()).members.map(({ number }) => number)
      await world.until(async () => !(await numbers()).some((one) => one === first))
      expect(await numbers()).toEqual([second, third])
    })
  })

  it('tasks of a registration of which nothing is left are taken on', async () => {
    const [a, b] = [await join(), await join()]
    const gone = a.feed.replica
    await world.kill(a.store)
    await world.until(() => b.feed.replicas === 1)
    await database.query(`DELETE FROM ${world.schema}.replica WHERE number = $1`, [gone])
    await b.store.commit([running('t')])
    await database.query(`UPDATE ${world.schema}.task SET replica = $1`, [gone])
    const before = b.heard.length
    await world.until(() => b.heard.length > before)
    expect((await b.store.claim()).map(({ id }) => id)).toEqual(['t'])
  })

  function loseAnswer(store: SharedStore, statement: RegExp): Promise<void> {
    return world.proxyOf(store).loseAnswer((text) => statement.test(text))
  }
})

describePostgres('a PostgreSQL that is killed under load and started again', () => {
  it('has lost nothing that was acknowledged, and replicas go on', async () => {
    const server = await startPostgres({ durable: true })
    const world = openPostgresWorld({ url: server.url, newSchema: () => 'corral' }, 'never')
    try {
      const [a, b] = [await joinWorld(world), await joinWorld(world)]
      const load = [a, b].map((member, i) => keepWriting(member, `task ${i}`))
      b.feed.watch('task 0')
      for (let kills = 0; kills < 2; kills++) {
        const joined = [a, b].map(timesJoined)
        const acknowledged = load.map(({ version }) => version())
        await server.restart()
        await world.until(() => [a, b].every((one, i) => timesJoined(one) > (joined[i] ?? 0)))
        await world.until(() => load.every(({ version }, i) => version() > (acknowledged[i] ?? 0)))
      }
      for (const { stop } of load) await stop()
      for (const [i, { version, refused }] of load.entries()) {
        const seqs = (await a.store.records(`task ${i}`, 0)).map(seqOf)
        expect(seqs).toEqual(seqs.map((_, place) => place + 1))
        expect(seqs).toHaveLength(version())
        expect(refused()).toBe(0)
      }
      await world.until(() => hasHeard(b, 'grown', 'task 0', load[0]?.version() ?? 0))
    } finally {
      await world.close()
      await server.stop()
    }
  })
})

/** Writes one task again and again, each time when the last write was acknowledged. */
function keepWriting({ store }: Member, id: string) {
  let version = 0
  let refused = 0
  let isOver = false
  const done = (async () => {
    while (!isOver) {
      const [result] = await store.commit([running(id, { expectedVersion: version })])
      if (result && 'version' in result) version = result.version
      else refused++
      if (refused > 0) return
    }
  })()
  return {
    version: () => version,
    refused: () => refused,
    stop() {
      isOver = true
      return done
    },
  }
}

async function joinWorld(world: PostgresWorld, tap?: MessageTap): Promise<Member> {
  const store = await world.open({}, tap)
  const { heard, listener } = createListener()
  await store.feed.join([{ agent: 'agent', build: '' }], listener)
  return { store, feed: store.feed, heard }
}

function running(id: string, options: SampleOptions = {}) {
  return write(id, { state: 'TASK_STATE_WORKING', ...options })
}

function timesJoined({ heard }: Member): number {
  return heard.filter(([kind]) => kind === 'joined').length
}

function seqOf({ seq }: LogRecord): number {
  return seq
}

it('is opened by the URL of its database alone', async () => {
  const opening = openPostgresStore('postgres://corral@127.0.0.1:1/tasks')
  await expect(opening).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('127.0.0.1:1/tasks'),
  })
})
