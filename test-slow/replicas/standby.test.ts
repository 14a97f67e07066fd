import { describe, expect, onTestFinished, test } from 'vitest'
import { keepSending, working } from '../../test/replicas/load.ts'
import { begin, openReplicas, type Replica, stateAt, stepsOf } from '../../test/replicas/scene.ts'
import { createStepper } from '../../test/replicas/stepper.ts'
import { openCuttingProxy } from '../../test/support/cutting-proxy.ts'
import { newSchemaName, type TestDatabase } from '../../test/support/postgres.ts'
import {
  debianFolder,
  type PostgresServer,
  startPostgres,
} from '../../test/support/postgres-server.ts'
import { queryAt } from './engines.ts'

const completed = 'TASK_STATE_COMPLETED'

if (debianFolder === undefined)
  console.warn('Debian’s postgresql is not installed: tests of standbys are skipped.')

describe.skipIf(debianFolder === undefined)(
  'a standby of Debian’s PostgreSQL that is promoted',
  () => {
    test('if synchronous, has everything that was acknowledged', async () => {
      const { primary, standby, database } = await openPair()
      await primary.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
      await primary.query('SELECT pg_reload_conf()')
      const replicas = openReplicas(database, working)
      await replicas.until(async () => {
        const [row] = await primary.query('SELECT sync_state FROM pg_stat_replication')
        return row?.sync_state === 'sync'
      })
      const [a, b] = [await replicas.open(), await replicas.open()]
      const loads = [keepSending(a), keepSending(b)]
      const more = async (): Promise<void> => {
        const before = loads.map(({ ids }) => ids.length)
        await replicas.until(() => loads.every(({ ids }, i) => ids.length > (before[i] ?? 0) + 5))
      }
      await more()
      await failOver({ primary, standby }, [a, b])
      await more()
      for (const { stop } of loads) await stop()
      for (const id of loads.flatMap(({ ids }) => ids))
        await replicas.until(async () => (await stateAt(b, id)) === completed)
    })

    test('if asynchronous, loses the last moments, and what is left goes on', async () => {
      const { primary, standby, database, streaming } = await openPair()
      const agent = createStepper(3)
      const replicas = openReplicas(database, agent)
      const [a, b] = [await replicas.open(), await replicas.open()]
      const id = await begin(a, 'go')
      agent.pass(1)
      await replicas.until(() => agent.begun.length === 2)
      await replicas.until(async () => {
        const [row] = await primary.query(
          'SELECT pg_current_wal_lsn() = replay_lsn AS even FROM pg_stat_replication',
        )
        return row?.even === true
      })
      streaming.cut()
      const lost = await begin(b, 'go')
      agent.pass(1)
      await replicas.until(() => agent.begun.filter((key) => key.startsWith(id)).length === 3)
      await failOver({ primary, standby }, [a, b])
      // The second step was acknowledged, and is lost; so it runs again, and then the third.
      agent.pass(10)
      await replicas.until(async () => (await stateAt(b, id)) === completed)
      expect(await stepsOf(b, id)).toEqual(['step-1', 'step-2', 'step-3'])
      const begun = agent.begun.filter((key) => key.startsWith(id)).map((key) => key.slice(-1))
      expect(begun.filter((step) => step === '1')).toHaveLength(1)
      expect(begun.filter((step) => step === '2')).toHaveLength(2)
      expect((await b.store.records(id, 0)).map(({ seq }, i) => seq - i)).toEqual(
        (await b.store.records(id, 0)).map(() => 1),
      )
      expect(await stateAt(b, lost)).toBeUndefined()
    })
  },
)

interface Node {
  readonly server: PostgresServer
  query(sql: string): Promise<readonly Record<string, unknown>[]>
}

/** A primary and its standby, which streams by way of a proxy. */
async function openPair() {
  const primary = await open(await startPostgres({ from: 'debian' }))
  const streaming = await openCuttingProxy(primary.server.url)
  onTestFinished(() => streaming.close())
  const standbyOf = { url: streaming.url, name: 'standby' }
  const standby = await open(await startPostgres({ from: 'debian', standbyOf }))
  const schema = newSchemaName()
  let { url } = primary.server
  const database: TestDatabase & { lead(to: string): void } = {
    get url() {
      return url
    },
    lead(to) {
      url = to
    },
    newSchema: () => schema,
    query: (sql, values) => queryAt(url, sql, values),
  }
  return { primary, standby, database, streaming }
}

async function open(server: PostgresServer): Promise<Node> {
  onTestFinished(() => server.stop())
  return { server, query: (sql) => queryAt(server.url, sql) }
}

/** The primary dies, the standby takes its place, and the proxies of replicas lead to it. */
async function failOver(
  { primary, standby }: { readonly primary: Node; readonly standby: Node },
  replicas: readonly Replica[],
): Promise<void> {
  await primary.server.kill()
  for (const { proxy } of replicas) proxy.lead(standby.server.url)
  await standby.query('SELECT pg_promote()')
}
