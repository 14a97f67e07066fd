import { expect, it, onTestFinished } from 'vitest'
import { createDeferred } from '../../../src/shared/async.ts'
import { systemClock } from '../../../src/shared/clock.ts'
import { DatabaseFeed } from '../../../src/store/postgres/cluster.ts'
import {
  type ConnectionEvents,
  connectDatabase,
  type DatabaseConnection,
  missingSettings,
  namesIn,
} from '../../../src/store/postgres/connection.ts'
import type { Readers } from '../../../src/store/postgres/links.ts'
import { migrateDatabase } from '../../../src/store/postgres/schema.ts'
import { createListener } from '../../contracts/feed/world.ts'
import { describePostgres, usePostgres } from '../../support/postgres.ts'

describePostgres('a registration behind a pooler that mixes connections', () => {
  const database = usePostgres()

  function connect(events: ConnectionEvents = {}): Promise<DatabaseConnection> {
    const options = { url: database.url, tls: undefined, statementTimeoutMs: 5_000, name: 'test' }
    return connectDatabase(options, events)
  }

  /** Registers a process on a connection, and resolves with the first warning that it gives. */
  async function firstWarning(
    connection: (first: DatabaseConnection, second: DatabaseConnection) => DatabaseConnection,
    parts: Partial<ConstructorParameters<typeof DatabaseFeed>[0]> = {},
  ): Promise<string> {
    const names = namesIn(database.newSchema())
    const first = await connect()
    await migrateDatabase(first, names)
    const [second, third] = [await connect(), await connect()]
    const readers: Readers = { read: third.query, run: third.query, close: third.close }
    return new Promise((resolve, reject) => {
      const warn = (fields: object, message: string) =>
        resolve(`${message} ${JSON.stringify(fields)}`)
      const feed = new DatabaseFeed({
        names,
        clock: systemClock,
        name: 'test',
        leaseMs: 60_000,
        beatMs: 50,
        lookMs: 50,
        connect: async () => connection(first, second),
        logger: { debug() {}, info() {}, warn, error: warn },
        readers,
        forwarding: readers,
        commitTimeoutMs: 30_000,
        obstacle: () => undefined,
        ...parts,
      })
      onTestFinished(async () => {
        await feed.leave()
        for (const one of [first, second, third]) one.destroy()
      })
      feed.join([], createListener().listener).catch(reject)
    })
  }

  it('keeps the planner as the database has it, compiles nothing and bounds what it holds', async () => {
    const connection = await connect()
    const [changed] = await connection.query({
      text: `SELECT json_object_agg(name, setting) AS settings FROM pg_settings WHERE source = 'session'`,
    })
    connection.destroy()
    expect(changed?.settings).toMatchObject({
      jit: 'off',
      plan_cache_mode: 'force_generic_plan',
      statement_timeout: '5000',
      idle_in_transaction_session_timeout: '5000',
      client_connection_check_interval: '1000',
    })
    const switches = Object.keys(Object(changed?.settings))
    expect(switches.filter((name) => name.startsWith('enable_'))).toEqual([])
  })

  it('names the statements that replace the settings which a pooler drops', async () => {
    const options = { url: database.url, tls: undefined, statementTimeoutMs: 5_000, name: 'test' }
    const connection = await connect()
    expect(await missingSettings(connection, options)).toEqual([])
    await connection.query({ text: 'RESET ALL' })
    expect(await missingSettings(connection, options)).toEqual(
      expect.arrayContaining([
        "ALTER ROLE corral SET jit = 'off';",
        "ALTER ROLE corral SET idle_in_transaction_session_timeout = '5000';",
      ]),
    )
    connection.destroy()
  })

  it('says that it must be led past the pooler', async () => {
    const warning = await firstWarning((first, second) => {
      let asked = 0
      return {
        // The registration and LISTEN on one, and then in turn, while both live.
        query: (statement) => (++asked > 2 && asked % 2 ? second : first).query(statement),
        backend: 0,
        queryAll: async () => [],
        close: async () => {},
        destroy() {},
      }
    })
    expect(warning).toContain('is no session of its own')
    expect(warning).toContain('session_url')
  })

  it('is made anew where its lock went with the connection that had it', async () => {
    // The beat would notice the other connection as well.
    const pool = (first: DatabaseConnection, second: DatabaseConnection): DatabaseConnection => {
      let asked = 0
      return {
        async query(statement) {
          if (++asked > 2) return second.query(statement)
          const rows = await first.query(statement)
          if (asked === 2) await first.close()
          return rows
        },
        backend: 0,
        queryAll: async () => [],
        close: async () => {},
        destroy() {},
      }
    }
    const warning = await firstWarning(pool, { beatMs: 20_000 })
    expect(warning).toContain('The registration of this replica is lost')
    expect(warning).toContain('its lock is gone')
  })

  it('confirms its lease while everything else waits', async () => {
    const never = new Promise<never>(() => {})
    const stuck: Readers = { read: () => never, run: () => never, close: async () => {} }
    const beats: string[] = []
    const five = createDeferred<void>()
    const counted = (first: DatabaseConnection): DatabaseConnection => ({
      ...first,
      query(statement) {
        if (statement.name === 'beat' && beats.push(statement.name) === 5) five.resolve()
        return first.query(statement)
      },
    })
    const warned = firstWarning(counted, { readers: stuck, lookMs: 10 })
    expect(await Promise.race([five.promise, warned])).toBeUndefined()
  })

  it('gives its lease up, and says why, while it cannot work', async () => {
    let obstacle: string | undefined
    let registrations = 0
    const counted = (first: DatabaseConnection): DatabaseConnection => {
      registrations += 1
      return { ...first, destroy() {} }
    }
    const obstacles = { obstacle: () => obstacle }
    const warned = firstWarning(counted, obstacles)
    await expect.poll(() => registrations).toBe(1)
    obstacle = 'nothing could be written for a whole lease'
    expect(await warned).toContain('nothing could be written for a whole lease')
    expect(registrations).toBe(1)
    obstacle = undefined
    await expect.poll(() => registrations).toBe(2)
  })
})
