import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/shared/clock.ts'
import {
  type ConnectionEvents,
  connectDatabase,
  type DatabaseConnection,
  namesIn,
} from '../../../src/store/postgres/connection.ts'
import { Membership } from '../../../src/store/postgres/membership.ts'
import { migrateDatabase } from '../../../src/store/postgres/schema.ts'
import { createListener } from '../../contracts/feed/world.ts'
import { describePostgres, usePostgres } from '../../support/postgres.ts'

describePostgres('a registration behind a pooler that mixes connections', () => {
  const database = usePostgres()

  function connect(events: ConnectionEvents = {}): Promise<DatabaseConnection> {
    const options = { url: database.url, tls: undefined, statementTimeoutMs: 5_000, name: 'test' }
    return connectDatabase(options, events)
  }

  /** Registers a process, and resolves with the first warning that it gives. */
  async function firstWarning(
    beatMs: number,
    pool: (first: DatabaseConnection, second: DatabaseConnection) => DatabaseConnection,
  ): Promise<string> {
    const names = namesIn(database.newSchema())
    const first = await connect()
    await migrateDatabase(first, names)
    const second = await connect()
    return new Promise((resolve, reject) => {
      const warn = (fields: object, message: string) =>
        resolve(`${message} ${JSON.stringify(fields)}`)
      const membership = new Membership({
        names,
        clock: systemClock,
        name: 'test',
        leaseMs: 60_000,
        beatMs,
        lookMs: 50,
        connect: async () => pool(first, second),
        logger: { debug() {}, info() {}, warn, error: warn },
        told() {},
        registered() {},
      })
      onTestFinished(async () => {
        await membership.leave()
        first.destroy()
        second.destroy()
      })
      membership.join([], createListener().listener).catch(reject)
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

  it('says that it must be led past the pooler', async () => {
    const warning = await firstWarning(50, (first, second) => {
      let asked = 0
      return {
        // The registration and LISTEN on one, and then in turn, while both live.
        query: (statement) => (++asked > 2 && asked % 2 ? second : first).query(statement),
        close: async () => {},
        destroy() {},
      }
    })
    expect(warning).toContain('is no session of its own')
    expect(warning).toContain('session_url')
  })

  it('is made anew where its lock went with the connection that had it', async () => {
    // The beat would notice the other connection as well.
    const warning = await firstWarning(20_000, (first, second) => {
      let asked = 0
      return {
        async query(statement) {
          if (++asked <= 2) return first.query(statement)
          if (asked === 3) await first.close()
          return second.query(statement)
        },
        close: async () => {},
        destroy() {},
      }
    })
    expect(warning).toContain('The registration of this replica is lost')
    expect(warning).toContain('its lock is gone')
  })
})
